# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from nodes, made safe for a terminal, and cells of a width. PRIVATE to the collection."""

import unicodedata


def escaped(text):
    """C(text) in one line, written out whatever moves the cursor, changes the direction of writing or is no character at all."""
    return text if text.isprintable() else "".join(char if char.isprintable() else _written(char) for char in text)


def escaped_lines(text):
    """`text` with its lines and tabs, and everything else written out as escaped() does."""
    return text if text.isprintable() else "".join(char if char in "\n\t" or char.isprintable() else _written(char) for char in text)


def _written(char):
    code = ord(char)
    return "\\x%02x" % code if code < 0x100 else "\\u%04x" % code if code < 0x10000 else "\\U%08x" % code


def width_of(text):
    """Columns a terminal needs for C(text)."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def padded(text, width):
    """C(text) with blanks up to C(width) columns."""
    return text + " " * max(0, width - width_of(text))


def wrapped(text, width):
    """C(text) as lines of at most C(width) columns, broken at blanks, inside a word only where it alone is wider."""
    lines, line = [], ""
    for word in text.split():
        while width_of(word) > width:
            if line:
                lines.append(line)
                line = ""
            head = _head(word, width)
            lines.append(head)
            word = word[len(head):]
        if line and width_of(line) + 1 + width_of(word) > width:
            lines.append(line)
            line = word
        else:
            line = "%s %s" % (line, word) if line else word
    return lines + [line] if line or not lines else lines


def _head(word, width):
    used = 0
    for index, char in enumerate(word):
        used += width_of(char)
        if used > width and index:
            return word[:index]
    return word
