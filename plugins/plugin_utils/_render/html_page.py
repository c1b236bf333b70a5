# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of the HTML pages: one file that loads nothing, with a Content-Security-Policy that allows its own
style and script by their hashes. PRIVATE to the collection."""

import base64
import functools
import hashlib
import html
import string
from collections.abc import Iterable, Sequence

from .._role_data import ROLES
from .text import escaped

_STYLE = "report.css"


def page(name: str, **parts: str) -> str:
    """The template `name` with its script of the same name, the style of all pages, and `parts`, which are HTML."""
    style, script = _file(_STYLE), _file(name + ".js")
    # Placeholders are filled in one pass, so that a text with one in it stays as it is.
    return string.Template(_file(name + ".html")).substitute(
        parts, style=style, script=script,
        policy="default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'" % (
            _hash(style), _hash(script)))


@functools.lru_cache(maxsize=None)
def _file(name):
    return (ROLES / "node_report" / "files" / name).read_text(encoding="utf-8")


def _hash(text):
    """The hash by which a Content-Security-Policy names an inlined text (CSP 3, 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def safe(text: str) -> str:
    """Any text, from a node or not, as HTML."""
    return html.escape(escaped(text))


def table(title: str, names: Sequence[str], rows: Iterable[tuple], kind: str = "findings") -> str:
    """A table of texts with the heads `names`."""
    return framed(title, names, ["<tr>%s</tr>" % cells(names, map(safe, row)) for row in rows], kind)


def cells(names: Sequence[str], texts: Iterable[str]) -> str:
    """The cells of a row, which are HTML already; a narrow screen shows their heads beside them."""
    return "".join('<td data-name="%s">%s</td>' % (safe(name), text) for name, text in zip(names, texts))


def framed(title: str, names: Sequence[str], rows: list[str], kind: str = "findings") -> str:
    """A table whose rows are HTML already; on a narrow screen it scrolls by itself."""
    head = "".join('<th scope="col">%s</th>' % safe(name) for name in names)
    return ('<div class="wide" tabindex="0" role="region" aria-label="%s">\n<table class="rows %s">\n<thead><tr>%s</tr>'
            "</thead>\n<tbody>\n%s\n</tbody>\n</table>\n</div>\n" % (safe(title), kind, head, "\n".join(rows)))
