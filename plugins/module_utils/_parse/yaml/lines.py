# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One document of YAML, line by line. PRIVATE to the collection.

A line that fits nowhere is skipped, and recorded as a doubt. Grammar: YAML 1.2.2, chapters 6 to 9.
"""

import re

from .flow import parse_flow
from .nodes import (
    LIST, MAP, MERGE, NOTHING, QUOTES, SCALAR, Node, Notes, Unreadable, end_of_quote, folded, has_odd_escape,
    unquoted,
)

_DEPTH = 40
_PROPERTIES = 4
# Limit of brackets that cannot be read: each may cost a search through many lines.
_BROKEN_LIMIT = 100
_BLOCK = re.compile(r"([|>])(?:([+-])?([1-9])?|([1-9])([+-]))(?:[ \t]+#.*|[ \t]*)\Z")
_PROPERTY = re.compile(r"(?:(!\S*)|&([^\s,\[\]{}]+))(?:[ \t]+|\Z)")
_KEY_END = re.compile(r":(?=[ \t]|\Z)")
_COMMENT = re.compile(r"[ \t]#")
_TAIL = re.compile(r"[ \t]*\Z|[ \t]+#")
_BELONGS_NOWHERE = "its indentation fits no line above"


def parse_lines(lines, offset):
    """(`Node`, the first doubt or None) of a document; its first line follows line `offset` of the file."""
    reader = _Reader(lines, offset)
    return reader.document(), reader.notes.problem


class _Reader:
    def __init__(self, lines, offset):
        self._lines, self._offset, self._at = lines, offset, 0
        self._text, self._starts, self._broken = None, None, 0
        self.notes = Notes()

    def document(self):
        node = self._block(0, -1, 0)
        self._doubt("text follows the end of the document", self._indent() >= 0)
        return node

    def _number(self, at):
        """The number that a line has in the file."""
        return self._offset + at + 1

    def _doubt(self, why, really=True, at=None):
        self.notes.doubt(self._number(self._at if at is None else at), why, really)

    def _is_blank(self, number):
        line = self._lines[number].strip(" \t")
        return not line or line[0] == "#"

    def _indent(self):
        """Indentation of the next line with content; -1 at the end."""
        while self._at < len(self._lines) and self._is_blank(self._at):
            self._at += 1
        if self._at >= len(self._lines):
            return -1
        indent = _indent_of(self._lines[self._at])
        self._doubt("a tab is in the indentation", self._lines[self._at][indent] == "\t")
        return indent

    def _block(self, least, parent, depth):
        """The node on the next line, if indented by at least `least`; `parent`: the indentation of the node above."""
        indent = self._indent()
        if indent < least or depth > _DEPTH:
            self._doubt("it is nested deeper than %d levels" % _DEPTH, depth > _DEPTH)
            return NOTHING
        line = self._lines[self._at][indent:]
        if _is_item(line):
            return self._list(indent, depth)
        return self._mapping(indent, depth) if _key_of(line) else self._value(line, parent, depth)

    def _list(self, indent, depth):
        items, first = [], self._at
        while self._indent() == indent and _is_item(self._lines[self._at][indent:]):
            number, rest = self._at, self._lines[self._at][indent + 1:]
            inner = rest.lstrip(" \t")
            if _is_item(inner) or _key_of(inner):
                self._doubt("a tab is in the indentation", "\t" in rest[:len(rest) - len(inner)])
                # A list or mapping that begins after the dash continues at that column.
                self._lines[number] = self._lines[number][:indent] + " " + rest
                items.append(self._block(indent + 1, indent, depth + 1))
            else:
                items.append(self._value(inner, indent, depth + 1))
            self._at += self._at == number
            self._pass_over(indent)
        return Node(LIST, self._number(first), items, False, False)

    def _mapping(self, indent, depth):
        pairs, first = [], self._at
        while self._indent() == indent:
            number, found = self._at, _key_of(self._lines[self._at][indent:])
            self._doubt("a mapping continues without a key",
                        not found or found[0] is not MERGE and found[0].startswith("? "))
            if found:
                key, rest = found
                # The items of a list may stand at the column of its key.
                pairs.append((key, self._value(rest, indent, depth + 1, least=indent)))
            self._at += self._at == number
            self._pass_over(indent)
        return Node(MAP, self._number(first), self.notes.merged(pairs, self._number(first)), False, False)

    def _pass_over(self, indent):
        """Skip lines that are indented deeper than the block they are in: they belong to no node."""
        while self._indent() > indent:
            self._doubt(_BELONGS_NOWHERE)
            self._at += 1

    def _value(self, text, indent, depth, least=None):
        """The node that begins with `text`, the rest of its line; further lines are indented by more than `indent`."""
        line, tags, anchors = self._number(self._at), [], []
        for _number in range(_PROPERTIES):
            found = _PROPERTY.match(text)
            if found:
                tags += [found.group(1)] if found.group(1) else []
                anchors += [found.group(2)] if found.group(2) else []
                text = text[found.end():]
        node = self._without_properties(text, indent, depth, least)
        return self.notes.with_properties(node, line, tags, anchors)

    def _without_properties(self, text, indent, depth, least):
        if not text or text[0] == "#":
            self._at += 1
            following = self._indent()
            if following == least and not _is_item(self._lines[self._at][following:]):
                return NOTHING
            return self._block(indent + 1 if least is None else least, indent, depth)
        if text[0] == "*":
            name, _blank, rest = text[1:].partition(" ")
            self._doubt("text follows an alias", bool(rest.strip() and rest.lstrip()[0] != "#"))
            node = self.notes.anchored(name.strip(), self._number(self._at))
            self._at += 1
            return node
        block = _BLOCK.match(text)
        if block:
            return self._literal(indent, block.group(1), block.group(2) or block.group(5),
                                 block.group(3) or block.group(4))
        if text[0] in QUOTES:
            return self._quoted(text, indent)
        return self._flow(text) if text[0] in "[{" and self._broken < _BROKEN_LIMIT else self._plain(text, indent)

    def _literal(self, indent, style, chomping, given):
        self._at += 1
        first, lines, widest = self._at, [], 0
        inner = max(indent, 0) + int(given) if given else None
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if inner is None:
                widest = max(widest, _indent_of(line))  # Blanks of empty lines before the first one count.
            if line.strip(" "):
                inner = widest if inner is None else inner
                if _indent_of(line) < inner or inner <= indent:
                    break
            lines.append(line[inner:] if inner is not None else "")
            self._at += 1
        blanks = 0
        while lines and not lines[-1]:
            del lines[-1]
            blanks += 1
        text = "\n".join(lines) if style == "|" else folded(lines)
        ends = {"-": 0, "+": blanks + bool(lines)}.get(chomping, bool(lines))
        return Node(SCALAR, self._number(first), text + "\n" * ends, style == "|", False)

    def _quoted(self, text, indent):
        number, quote = self._at, text[0]
        pieces, end = [text[1:]], end_of_quote(text, quote, 1) - 1
        self._at += 1
        while end < 0:
            if self._at >= len(self._lines) or (self._lines[self._at].strip()
                                                and _indent_of(self._lines[self._at]) <= indent):
                self._at = number + 1
                self._doubt("a quote is not closed", at=number)
                return Node(SCALAR, self._number(number), text, False, False)
            pieces.append(self._lines[self._at])
            end = end_of_quote(pieces[-1], quote)
            self._at += 1
        self._doubt("text follows a closing quote", not _TAIL.match(pieces[-1][end + 1:]), self._at - 1)
        inner = "\n".join(pieces[:-1] + [pieces[-1][:end]])
        self._doubt("an escape sequence is not known", quote == '"' and "\\" in inner and has_odd_escape(inner), number)
        return Node(SCALAR, self._number(number), unquoted(inner, quote), False, False)

    def _flow(self, text):
        """The node that begins with a bracket; it ends where the bracket is closed, regardless of indentation."""
        if self._text is None:
            self._text, self._starts, start = "\n".join(self._lines), [], 0
            for line in self._lines:
                self._starts.append(start)
                start += len(line) + 1
        number = self._at
        at = self._starts[number] + len(self._lines[number]) - len(text)
        try:
            found = parse_flow(self._text, at, self._number(number), self.notes)
        except Unreadable as error:
            self.notes.doubt(*error.args)
            self._broken += 1
            self._at += 1
            return Node(SCALAR, self._number(number), text, False, False)
        self._at = found.line - self._offset
        return found.node

    def _plain(self, text, indent):
        number, pieces = self._at, [_without_comment(text)]
        self._at += 1
        commented = pieces[0] != text.rstrip(" \t")
        blanks = 0
        while self._at < len(self._lines) and not commented:
            line = self._lines[self._at]
            if line.strip(" \t"):
                if _indent_of(line) <= indent or line.lstrip(" \t")[0] == "#":
                    break
                self._doubt("a tab is in the indentation", line[_indent_of(line)] == "\t")
                plain = _without_comment(line.strip(" \t"))
                commented = plain != line.strip(" \t")
                pieces.append("\n" * blanks + plain if blanks else " " + plain)
                blanks = 0
            else:
                blanks += 1
            self._at += 1
        odd = (text[0] in "%@`,]}&!|>" or text[0] in "?-" and text[1:2] in ("", " ", "\t")
               or any(_KEY_END.search(piece) for piece in pieces))
        self._doubt("it is not plain text and not in quotes", odd, number)
        return Node(SCALAR, self._number(number), "".join(pieces), len(pieces) == 1, True)


def _indent_of(line):
    return len(line) - len(line.lstrip(" "))


def _is_item(line):
    return line[:1] == "-" and (len(line) == 1 or line[1] in " \t")


def _key_of(line):
    """(key, rest after the colon) of a line of a mapping, otherwise None."""
    if line[:1] and line[0] in QUOTES:
        end = end_of_quote(line, line[0], 1)
        rest = line[end + 1:].lstrip(" \t") if end > 0 else ""
        return (unquoted(line[1:end], line[0]),
                rest[1:].lstrip(" \t")) if rest[:1] == ":" and rest[1:2] in ("", " ", "\t") else None
    if not line or line[0] in "[]{}#&*!|>%@`,":
        return None
    end = _KEY_END.search(line)
    key = line[:end.start()].rstrip(" \t") if end else ""
    return (MERGE if key == "<<" else key, line[end.end():].lstrip(" \t")) if key and not _COMMENT.search(key) else None


def _without_comment(text):
    match = _COMMENT.search(text)
    return (text[:match.start()] if match else text).rstrip(" \t")
