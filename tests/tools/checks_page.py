# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/checks.md, made from the catalogue: an entry of the catalogue is a check and its documentation."""

import pathlib
import re
import textwrap

import yaml

TOP = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = TOP / "roles" / "node_policy" / "files" / "checks"
PAGE = TOP / "docs" / "checks.md"

INTRODUCTION = """\
# The checks

Written by `make docs` from `roles/node_policy/files/checks/`; change the entries there.

A check ends as `pass`, `fail`, `skip` (it does not apply to this node), `unknown` (the evidence is missing; never a pass)
or `waived`. The class of a fix is its risk: `safe` loads, persists or raises a limit; `guarded` edits a file
of another owner or removes a block; `disruptive` switches a backend, restarts or reboots.
"""


def subjects():
    """Return [(subject, its checks)], in the order of their file names."""
    return [(path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted(CATALOGUE.glob("*.yml"))]


def filled(text, hang=""):
    """One paragraph in lines of at most 120 columns; all lines after the first begin with `hang`."""
    return textwrap.fill(text, 120, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def one_line(text):
    return " ".join(str(text).split())


def cell(text):
    return one_line(text).replace("|", "\\|")


def render_table(checks):
    yield "| id | requirement | severity | fix |"
    yield "| --- | --- | --- | --- |"
    for check in checks:
        fix = ", ".join(filter(None, [check["fix"].get("class"), None if check["fix"]["role"] else "by hand"]))
        yield "| [%s](#%s) | %s | %s | %s |" % (check["id"], check["id"].lower(), cell(check["title"]),
                                                check["severity"], fix)


def with_blanks(text):
    """Return a text with `<name>` in place of each value that a finding fills in."""
    return re.sub(r"\{(\w+)(?:!q)?\}", r"`<\1>`", one_line(text))


def render_fix(fix):
    kind = " (%s)" % fix["class"] if fix.get("class") else ""
    if fix["role"]:
        role = "role `kubenode.netfilter.%s`" % fix["role"]
        if fix["class"] == "disruptive":
            image = "" if fix["role"] == "repair" else "; in an image, " + role
            role = "playbook `kubenode.netfilter.repair`" + image
        yield filled("- **Fix**%s: %s" % (kind, role), "  ")
    if fix["manual"]:
        yield filled("- **By hand**%s: %s" % ("" if fix["role"] else kind, with_blanks(fix["manual"])), "  ")
    if fix["safety"]:
        yield filled("- **Safety**: %s" % with_blanks(fix["safety"]), "  ")


def render_check(check):
    yield "### %s" % check["id"]
    yield ""
    yield filled("**%s.** Severity: %s." % (one_line(check["title"]).rstrip("."), check["severity"]))
    yield ""
    yield filled(one_line(check["why"]))
    yield ""
    yield from render_fix(check["fix"])
    for source in check["sources"]:
        yield "- Source: %s" % one_line(source)
    yield ""


def render_page():
    lines = [INTRODUCTION]
    for subject, checks in subjects():
        lines += ["## %s" % subject.replace("_", " ").capitalize(), ""]
        lines += render_table(checks)
        lines.append("")
        for check in checks:
            lines += render_check(check)
    return "\n".join(lines).rstrip() + "\n"
