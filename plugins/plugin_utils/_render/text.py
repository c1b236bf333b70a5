# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from nodes, made safe for a terminal, and cells of a width. PRIVATE to the collection."""

import unicodedata
from collections.abc import Iterable, Sequence

_ID_WIDTH = 10
# At most this many hosts are shown one by one; more hosts are folded and summed up.
READ_ONE_BY_ONE = 5


def escaped(text: str) -> str:
    """`text` in one line, with every character escaped that moves the cursor, changes the direction of writing or
    cannot be printed."""
    return text if text.isprintable() else "".join(char if char.isprintable() else _written(char) for char in text)


def sentence(error: Exception) -> str:
    """The message of `error` in one line, escaped: it quotes names out of bundles, files and inventories."""
    return escaped(str(error).replace("\n", " "))


def escaped_lines(text: str) -> str:
    """`text` with its lines and tabs; all other characters are escaped as escaped() does it."""
    return text if text.isprintable() else "".join(char if char in "\n\t" or char.isprintable() else _written(char)
                                                   for char in text)


def _written(char):
    code = ord(char)
    return "\\x%02x" % code if code < 0x100 else "\\u%04x" % code if code < 0x10000 else "\\U%08x" % code


def some(names: Sequence[str], limit: int = 5) -> str:
    """The first of `names`, and how many more there are."""
    return ", ".join(names[:limit]) + (" and %d more" % (len(names) - limit) if len(names) > limit else "")


def width_of(text: str) -> int:
    """Columns a terminal needs for `text`."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
               for char in text)


def padded(text: str, width: int) -> str:
    """`text` with blanks up to `width` columns."""
    return text + " " * max(0, width - width_of(text))


def widest(checks: Iterable[str]) -> int:
    """The columns for the ids of checks: those of the user may be longer than the collection's."""
    return max([_ID_WIDTH, *map(len, checks)])


def wrapped(text: str, width: int) -> list[str]:
    """`text` as lines of at most `width` columns, broken at blanks; a word is broken only where it is wider than a
    line."""
    lines, line = [], ""
    for word in text.split():
        pieces = _pieces(word, width)
        if line and (len(pieces) > 1 or width_of(line) + 1 + width_of(word) > width):
            lines.append(line)
            line = ""
        lines += pieces[:-1]
        line = "%s %s" % (line, pieces[-1]) if line else pieces[-1]
    return lines + [line] if line or not lines else lines


def _pieces(word, width):
    """A word cut into pieces of at most `width` columns, in one pass, because a node decides how long the word is."""
    if width_of(word) <= width:
        return [word]
    pieces, start, used = [], 0, 0
    for index, char in enumerate(word):
        columns = width_of(char)
        if used + columns > width and index > start:
            pieces.append(word[start:index])
            start, used = index, 0
        used += columns
    return pieces + [word[start:]]
