# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values as Go programs parse them. PRIVATE to the collection."""

import re

# Booleans as Go writes them.
# Sample: `true`, `T`, `0`. Grammar: Go strconv.ParseBool(), which reads every bool flag.
_WORDS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True)
_WORDS.update(dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False))


def parse_go_bool(text):
    """True or False; None for any other text, with which a Go program does not start."""
    return _WORDS.get(text)


# Durations as Go writes them.
# Sample: `24h0m0s`, `90s`, `1.5h`, `250ms`, `0`. Grammar: Go time.ParseDuration().

# Nanoseconds.
_UNITS = {"h": 3600 * 10 ** 9, "m": 60 * 10 ** 9, "s": 10 ** 9, "ms": 10 ** 6, "us": 1000, u"\u00b5s": 1000,
          u"\u03bcs": 1000, "ns": 1}
_UNIT = u"(ms|us|\u00b5s|\u03bcs|ns|h|m|s)"
_TEXT = re.compile(u"(?:(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)%s)+\\Z" % _UNIT)
_PIECE = re.compile(u"([0-9]*)\\.?([0-9]*)%s" % _UNIT)
# A time.Duration has 64 bits.
_MOST, _DIGITS = 1 << 63, 19


def parse_go_duration(text):
    """Whole seconds, truncated like a conversion to an integer; None if the text is not a duration."""
    sign = text[:1] if text[:1] in ("+", "-") else ""
    rest, nanoseconds = text[len(sign):], 0
    if rest == "0":
        return 0
    if not _TEXT.match(rest):
        return None
    for whole, fraction, unit in _PIECE.findall(rest):
        whole, fraction = whole.lstrip("0")[:_DIGITS + 1], fraction[:_DIGITS]
        nanoseconds += int(whole or "0") * _UNITS[unit] + int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction)
    if nanoseconds >= _MOST + (sign == "-"):
        return None
    return nanoseconds // 10 ** 9 * (-1 if sign == "-" else 1)
