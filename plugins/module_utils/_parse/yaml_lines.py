# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML as people write configuration in it, with the line of every value. PRIVATE to the collection.

Sample:
    runcmd:
      - systemctl restart iptables   # a comment
      - [ sh, -c, "iptables -F" ]
      - |
        iptables -X
The standard library reads no YAML. Read are blocks of lists and mappings, compact ones (C(- a: 1)), flow lists and mappings, plain and
quoted scalars over several lines, literal and folded ones, comments, tags, anchors and aliases. Only the first document counts. parse_yaml()
passes over a line that fits nowhere; parse_whole_yaml() takes no text of which anything was passed over. Grammar: YAML 1.2.2, chapters 6 to 9.
"""

import re

from .yaml_flow import BINARY, LIST, MAP, NOTHING, SCALAR, Node, parse_flow
from .yaml_scalars import QUOTES, end_of_quote, folded, unquoted

_DEPTH = 40
_PROPERTIES = 4
_BLOCK = re.compile(r"([|>])(?:([+-])?([1-9])?|([1-9])([+-]))(?:[ \t]+#.*|[ \t]*)\Z")
_PROPERTY = re.compile(r"(!\S*|&[^\s,\[\]{}]+)(?:[ \t]+|\Z)")
_KEY_END = re.compile(r":(?=[ \t]|\Z)")
_COMMENT = re.compile(r"[ \t]#")
# Line breaks that are none here, and a tab where columns are counted.
_OTHER_BREAK = re.compile(u"\r(?!\n)|[\x85\u2028\u2029]|^ *\t", re.M)
_TAIL = re.compile(r"[ \t]*\Z|[ \t]+#")


def parse_yaml(text):
    """The C(Node) of the first document; C(NOTHING) where there is none."""
    return _Reader(text).document()


def parse_whole_yaml(text):
    """The C(Node) of the first document, or None where this reader does not know all that is written in it: it may mean something else then."""
    reader = _Reader(text)
    node = reader.document()
    return node if reader.sure else None


def item(node, key):
    """The C(Node) of a mapping's key, the last if there are several; C(NOTHING) if it has none or is no mapping."""
    found = [value for name, value in node.value if name == key] if node.kind == MAP else []
    return found[-1] if found else NOTHING


class _Reader(object):

    def __init__(self, text):
        # What follows the last line break is no line of its own where it is empty.
        self._lines = [line.rstrip("\r") for line in re.sub(r"\n\Z", "", text.lstrip(u"\ufeff")).split("\n")]
        self._at = 0
        self._anchors = {}
        self.sure = not _OTHER_BREAK.search(text)

    def document(self):
        while self._at < len(self._lines) and (self._is_blank(self._at) or self._lines[self._at].startswith("%")):
            self._at += 1
        if self._at < len(self._lines) and re.match(r"---(\s|\Z)", self._lines[self._at]):
            self._lines[self._at] = self._lines[self._at].replace("---", "   ", 1)
        for number in range(self._at, len(self._lines)):
            # An indicator at the first column ends the document even inside of a literal block.
            if re.match(r"(---|\.\.\.)(\s|\Z)", self._lines[number]):
                del self._lines[number:]
                break
            self._doubt(self._lines[number].startswith("%"))
        node = self._block(0, -1, 0)
        self._doubt(self._indent() >= 0)
        return node

    def _doubt(self, really=True):
        """Notes that something means another thing than this reader takes it for, or nothing at all."""
        self.sure = self.sure and not really

    def _is_blank(self, number):
        line = self._lines[number].strip(" \t")
        return not line or line[0] == "#"

    def _indent(self):
        """Indentation of the next line that says something; -1 at the end."""
        while self._at < len(self._lines) and self._is_blank(self._at):
            self._at += 1
        return _indent_of(self._lines[self._at]) if self._at < len(self._lines) else -1

    def _block(self, least, parent, depth):
        """What begins on the next line, if that is indented by at least C(least); C(parent) is the indentation of what it belongs to."""
        indent = self._indent()
        if indent < least or depth > _DEPTH:
            self._doubt(depth > _DEPTH)
            return NOTHING
        line = self._lines[self._at][indent:]
        if _is_item(line):
            return self._list(indent, depth)
        if _key_of(line):
            return self._mapping(indent, depth)
        return self._value(line, parent, depth)

    def _list(self, indent, depth):
        items, first = [], self._at + 1
        while self._indent() == indent and _is_item(self._lines[self._at][indent:]):
            number, rest = self._at, self._lines[self._at][indent + 1:]
            inner = rest.lstrip(" \t")
            if _is_item(inner) or _key_of(inner):
                # A list or mapping that begins behind the dash goes on at that column.
                self._lines[number] = self._lines[number][:indent] + " " + rest
                items.append(self._block(indent + 1, indent, depth + 1))
            else:
                items.append(self._value(inner, indent, depth + 1))
            self._at += self._at == number
            self._pass_over(indent)
        return Node(LIST, first, items, False)

    def _mapping(self, indent, depth):
        pairs, first = [], self._at + 1
        while self._indent() == indent:
            number, found = self._at, _key_of(self._lines[self._at][indent:])
            self._doubt(not found or found[0] == "<<" or found[0].startswith("? "))
            if found:
                key, rest = found
                # The items of a list may stand at the column of its key.
                pairs.append((key, self._value(rest, indent, depth + 1, least=indent)))
            self._at += self._at == number
            self._pass_over(indent)
        return Node(MAP, first, pairs, False)

    def _pass_over(self, indent):
        """Lines that are indented deeper than what they stand in belong to nothing."""
        while self._indent() > indent:
            self._doubt()
            self._at += 1

    def _value(self, text, indent, depth, least=None):
        """What C(text), the rest of the present line, begins; its further lines are indented by more than C(indent)."""
        properties = []
        for _number in range(_PROPERTIES):
            found = _PROPERTY.match(text)
            if found:
                properties.append(found.group(1))
                text = text[found.end():]
        node = self._plain_value(text, indent, depth, least)
        if node.kind == SCALAR and "!!binary" in properties:
            node = node._replace(kind=BINARY)
        # A tag may make a number of a text, or nothing of it.
        self._doubt(any(each[0] == "!" for each in properties))
        self._anchors.update((each[1:], node) for each in properties if each[0] == "&")
        return node

    def _plain_value(self, text, indent, depth, least):
        if not text or text[0] == "#":
            self._at += 1
            following = self._indent()
            if following == least and not _is_item(self._lines[self._at][following:]):
                return NOTHING
            return self._block(indent + 1 if least is None else least, indent, depth)
        if text[0] == "*":
            self._at += 1
            name, _blank, rest = text[1:].partition(" ")
            self._doubt(name not in self._anchors or bool(rest.strip() and rest.lstrip()[0] != "#"))
            return self._anchors.get(name.strip(), NOTHING)
        block = _BLOCK.match(text)
        if block:
            return self._literal(indent, block.group(1), block.group(2) or block.group(5), block.group(3) or block.group(4))
        if text[0] in QUOTES:
            return self._quoted(text, indent)
        if text[0] in "[{":
            return self._flow(text, indent)
        return self._plain(text, indent)

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
        return Node(SCALAR, first + 1, text + "\n" * ends, style == "|")

    def _quoted(self, text, indent):
        number, quote = self._at, text[0]
        pieces, end = [text[1:]], end_of_quote(text, quote, 1) - 1
        self._at += 1
        while end < 0:
            if self._at >= len(self._lines) or (self._lines[self._at].strip() and _indent_of(self._lines[self._at]) <= indent):
                self._at = number + 1
                self._doubt()
                return Node(SCALAR, number + 1, text, False)
            pieces.append(self._lines[self._at])
            end = end_of_quote(pieces[-1], quote)
            self._at += 1
        self._doubt(not _TAIL.match(pieces[-1][end + 1:]))
        return Node(SCALAR, number + 1, unquoted("\n".join(pieces[:-1] + [pieces[-1][:end]]), quote), False)

    def _flow(self, text, indent):
        number, end = self._at, self._at + 1
        while end < len(self._lines) and (not self._lines[end].strip() or _indent_of(self._lines[end]) > indent):
            end += 1
        node, count, sure = parse_flow("\n".join([text] + self._lines[number + 1:end]), number + 1)
        self._doubt(not sure)
        self._at += count or 1
        return node or Node(SCALAR, number + 1, text, False)

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
                plain = _without_comment(line.strip(" \t"))
                commented = plain != line.strip(" \t")
                pieces.append("\n" * blanks + plain if blanks else " " + plain)
                blanks = 0
            else:
                blanks += 1
            self._at += 1
        self._doubt(text[0] in "?%@`,]}-" and text[1:2] in ("", " ") or any(_KEY_END.search(piece) for piece in pieces))
        return Node(SCALAR, number + 1, "".join(pieces), len(pieces) == 1)


def _indent_of(line):
    return len(line) - len(line.lstrip(" "))


def _is_item(line):
    return line[:1] == "-" and (len(line) == 1 or line[1] in " \t")


def _key_of(line):
    """(key, rest behind the colon) of a line of a mapping, else None."""
    if line[:1] and line[0] in QUOTES:
        end = end_of_quote(line, line[0], 1)
        rest = line[end + 1:].lstrip(" \t") if end > 0 else ""
        return (unquoted(line[1:end], line[0]), rest[1:].lstrip(" \t")) if rest[:1] == ":" and rest[1:2] in ("", " ", "\t") else None
    if not line or line[0] in "[]{}#&*!|>%@`,":
        return None
    end = _KEY_END.search(line)
    key = line[:end.start()].rstrip(" \t") if end else ""
    return (key, line[end.end():].lstrip(" \t")) if key and not _COMMENT.search(key) else None


def _without_comment(text):
    match = _COMMENT.search(text)
    return (text[:match.start()] if match else text).rstrip(" \t")
