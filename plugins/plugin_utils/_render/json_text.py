# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as JSON. PRIVATE to the collection."""

import functools
import json

# Python's C encoder, five times as fast as the encoder that indents.
_line = functools.partial(json.dumps, sort_keys=True, ensure_ascii=True)


def render_json(report: dict) -> str:
    """The report as text, a line for each key and for each row of a list, stable from run to run; ASCII only, so that
    the file cannot send control sequences to a terminal."""
    rows = ("%s: %s" % (_line(key), _value(report[key])) for key in sorted(report))
    return "{\n  %s\n}\n" % ",\n  ".join(rows)


def _value(value):
    if not isinstance(value, list) or not value:
        return _line(value)
    return "[\n    %s\n  ]" % ",\n    ".join(map(_line, value))
