# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scalars of YAML in quotes and in folded blocks. PRIVATE to the collection.

Grammar: YAML 1.2.2, 5.7 (escapes), 6.5 (line folding), 7.3 (quoted), 8.1.3 (folded).
"""

import re

# What stands before the quote that ends a scalar; nothing in it can be read in two ways.
_INSIDE = {'"': re.compile(r'(?:[^"\\]|\\.)*\\?'), "'": re.compile(r"(?:[^']|'')*")}
QUOTES = tuple(_INSIDE)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5}|\n|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v", "N": "\x85", "_": "\xa0"}


def end_of_quote(line, quote, start=0):
    """Where in C(line) the quote ends that is open at C(start), as the place of the closing mark; -1 if it goes on in the next line."""
    end = _INSIDE[quote].match(line, start).end()
    return end if end < len(line) else -1


def unquoted(inner, quote):
    """The value of what stands between two quotes."""
    if quote == "'":
        return "".join(_folded_lines(inner.split("\n"), False)).replace("''", "'")
    return _ESCAPE.sub(_escaped, "".join(_folded_lines(inner.split("\n"), True)))


def folded(lines):
    """The text of a folded block: lines of the same indentation are joined by blanks."""
    parts, blanks, before = [], 0, None
    for line in lines:
        if not line:
            blanks += 1
            continue
        deeper = line[0] in " \t"
        if before is None:
            parts.append("\n" * blanks)
        elif deeper or before:
            parts.append("\n" * (blanks + 1))
        else:
            parts.append("\n" * blanks or " ")
        parts.append(line)
        before, blanks = deeper, 0
    return "".join(parts)


def _folded_lines(lines, escapes):
    """Pieces of a quoted scalar: its lines are joined by blanks, an empty one is a line break; where there are C(escapes), a backslash at the
    end joins without.
    """
    yield lines[0] if len(lines) == 1 else lines[0].rstrip(" \t")
    before, blanks = lines[0], 0
    for line in lines[1:]:
        stripped = line.strip(" \t") if line is not lines[-1] else line.lstrip(" \t")
        if not stripped and line is not lines[-1]:
            blanks += 1
            continue
        joined = escapes and (len(before) - len(before.rstrip("\\"))) % 2
        yield "\n" if joined and not blanks else "\n" * blanks or " "
        yield stripped
        before, blanks = stripped, 0


def _escaped(match):
    what = match.group(1)
    if what[0] in "xuU" and len(what) > 1:
        number = int(what[1:], 16)
        return chr(number) if number < 0x110000 else ""
    return "" if what == "\n" else _ESCAPES.get(what, what)
