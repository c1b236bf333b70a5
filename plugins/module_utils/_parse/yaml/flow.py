# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists and mappings of YAML in brackets, JSON among them. PRIVATE to the collection.

Sample: `[ sh, -c, "iptables -F" ]`. Grammar: YAML 1.2.2, 7.4; where libyaml and goyaml, which read the configurations,
do not agree with it or with each other, the text is in doubt.
"""

import collections
import re

from .nodes import (
    BINARY, LIST, MAP, NOTHING, QUOTES, SCALAR, Node, Unreadable, end_of_quote, has_odd_escape, merge_or_key,
    unquoted,
)

_DEPTH = 40
_GAP = re.compile(r"[ \t\n]*(?:(?<=[ \t\n])#[^\n]*[ \t\n]*)*")
_LETTER = r"(?:[^ \t\n,\[\]{}:]|:(?![ \t\n,\[\]{}]|\Z))"
_PLAIN = re.compile(r"(?:[^ \t\n,\[\]{}:?&*!|>%%@`#\"'-]|-(?![ \t\n,\[\]{}]|\Z))%s*(?:[ \t\n]+(?!\#)%s+)*"
                    % (_LETTER, _LETTER))
_PROPERTY = re.compile(r"(?:(![^ \t\n,\[\]{}]*)|&([A-Za-z0-9_-]+))(?=[ \t\n,\]}]|\Z)")
_ALIAS = re.compile(r"\*([A-Za-z0-9_-]+)(?=[ \t\n,\]}]|\Z)")
_LINE_BREAK = re.compile(r"[ \t]*\n[ \t\n]*")
_TAIL = re.compile(r"[ \t]*(?:\n|\Z)|[ \t]+#")

# The node, the number of its last line, and its end in the text.
Flow = collections.namedtuple("Flow", "node line end")


def parse_flow(text, at, line, notes):
    """`Flow` of the node that begins with a bracket at `at`, in `line`; doubts go to `notes`. Raises `Unreadable`."""
    reader = _Reader(text, at, line, notes)
    node = reader.value(0)
    notes.doubt(reader.line, "text follows a closing bracket", not _TAIL.match(text, reader.at))
    return Flow(node, reader.line, reader.at)


class _Reader:
    def __init__(self, text, at, line, notes):
        self._text, self.at, self.line, self._notes = text, at, line, notes

    def _move(self, end):
        """Continue at `end`; returns the text before it."""
        passed = self._text[self.at:end]
        self.line += passed.count("\n")
        self.at = end
        return passed

    def _next(self):
        """The next significant character, empty at the end."""
        self._move(_GAP.match(self._text, self.at).end())
        return self._text[self.at:self.at + 1]

    def value(self, depth):
        """The node that begins at the next character."""
        start, line, tags, anchors = self._next(), self.line, [], []
        found = _PROPERTY.match(self._text, self.at)
        while found:
            tags += [found.group(1)] if found.group(1) else []
            anchors += [found.group(2)] if found.group(2) else []
            self._move(found.end())
            start = self._next()
            found = _PROPERTY.match(self._text, self.at)
        if (tags or anchors) and start in (",", "]", "}"):
            node = NOTHING._replace(line=line)
        else:
            node = self._untagged(start, depth)
        return self._notes.with_properties(node, line, tags, anchors)

    def _untagged(self, start, depth):
        if start in ("[", "{"):
            if depth >= _DEPTH:
                raise Unreadable(self.line, "it is nested deeper than %d levels" % _DEPTH)
            return self._list(depth) if start == "[" else self._mapping(depth)
        if start and start in QUOTES:
            return self._quoted(start)
        found = _ALIAS.match(self._text, self.at)
        if found:
            self._move(found.end())
            return self._notes.anchored(found.group(1), self.line)
        found = _PLAIN.match(self._text, self.at)
        if not found:
            raise Unreadable(self.line, "a bracket is not closed"
                             if not start else "the text in brackets is neither a list nor a mapping")
        line, text = self.line, self._move(found.end())
        # A question mark ends a plain scalar for some readers.
        self._notes.doubt(line, "a question mark in brackets has no quotes", "?" in text)
        if "\n" in text:
            text = _LINE_BREAK.sub(lambda match: "\n" * (match.group(0).count("\n") - 1) or " ", text)
        return Node(SCALAR, line, text, False, True)

    def _quoted(self, quote):
        line, end = self.line, end_of_quote(self._text, quote, self.at + 1)
        if end < 0:
            raise Unreadable(line, "a quote is not closed")
        inner = self._move(end + 1)[1:-1]
        if "\\" in inner and quote == '"':
            self._notes.doubt(line, "an escape sequence is not known", has_odd_escape(inner))
        return Node(SCALAR, line, unquoted(inner, quote), False, False)

    def _ends(self, closing):
        """Whether the collection ends here; skips its bracket."""
        if self._next() != closing:
            return False
        self._move(self.at + 1)
        return True

    def _list(self, depth):
        line, items = self.line, []
        self._move(self.at + 1)
        while not self._ends("]"):
            key_line = self._starts()
            node = self.value(depth + 1)
            if self._is_key(node, key_line):
                pair = (merge_or_key(node), self._of_key(depth))
                node = Node(MAP, node.line, self._notes.merged([pair], key_line), False, False)
            items.append(node)
            self._comma("]", line)
        return Node(LIST, line, items, False, False)

    def _mapping(self, depth):
        line, pairs = self.line, []
        self._move(self.at + 1)
        while not self._ends("}"):
            key_line = self._starts()
            key = self.value(depth + 1)
            if key.kind in (LIST, MAP, BINARY):
                raise Unreadable(key_line, "a key is not plain text")
            pairs.append((merge_or_key(key), self._of_key(depth) if self._is_key(key, key_line) else NOTHING))
            self._comma("}", line)
        return Node(MAP, line, self._notes.merged(pairs, line), False, False)

    def _starts(self):
        self._next()
        return self.line

    def _is_key(self, node, line):
        """Whether a colon follows on the same line."""
        ended = self.line
        if self._next() != ":":
            return False
        if self.line != line or ended != line or node.kind != SCALAR:
            raise Unreadable(self.line, "a key is not a text of one line")
        # A colon needs no blank only after a key in quotes.
        glued = self._text[self.at + 1:self.at + 2] in (",", "[", "]", "{", "}")
        self._notes.doubt(line, "a colon is next to a bracket", node.plain and glued)
        return True

    def _of_key(self, depth):
        self._move(self.at + 1)
        return NOTHING if self._next() in (",", "]", "}") else self.value(depth + 1)

    def _comma(self, closing, opened):
        found = self._next()
        if found == ",":
            self._move(self.at + 1)
        elif not found:
            raise Unreadable(opened, "a bracket is not closed")
        elif found != closing:
            raise Unreadable(self.line, "a comma is missing in brackets")
