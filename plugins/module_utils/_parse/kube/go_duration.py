# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Durations as Go writes them. PRIVATE to the collection.

Sample: `24h0m0s`, `90s`, `1.5h`, `250ms`, `0`. Grammar: Go time.ParseDuration().
"""

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, u"\u00b5s": 1e-6, u"\u03bcs": 1e-6, "ns": 1e-9}
_PIECE = re.compile(u"([0-9]{1,12}(?:\\.[0-9]{0,9})?|\\.[0-9]{1,9})(ms|us|\u00b5s|\u03bcs|ns|h|m|s)")


def parse_go_duration(text):
    """Whole seconds, truncated like a conversion to an integer; None if the text is not a duration."""
    if re.match(r"[+-]?0\Z", text):
        return 0
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.lstrip("+"))
    pieces = _PIECE.findall(rest)
    if not pieces or "".join(number + unit for number, unit in pieces) != rest:
        return None
    return sign * int(sum(float(number) * _UNITS[unit] for number, unit in pieces) + 1e-9)
