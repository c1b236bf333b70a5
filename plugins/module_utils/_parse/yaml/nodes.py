# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a YAML document, its anchors and merge keys, and doubts about its meaning. PRIVATE to the collection.

Scalars of YAML: in quotes, in folded blocks, and the types of plain ones.

Grammar: YAML 1.2.2, 5.7 (escapes), 6.5 (line folding), 7.3 (quoted), 8.1.3 (folded).
"""

import collections
import re

SCALAR, LIST, MAP = "scalar", "list", "map"
BINARY = "binary"  # A scalar in base64: `!!binary`.
# `value`: a text, [Node] or [(key, Node)]. `exact`: line N of the text is line `line + N - 1` of the file. `plain`: a
# text without quotes that is not a block; it may be a number as well.
Node = collections.namedtuple("Node", "kind line value exact plain")
NOTHING = Node(SCALAR, 0, "", False, True)
MERGE = object()  # Replaces a merge key: https://yaml.org/type/merge.html.
# At most this many keys may come from merges in one document: aliases multiply text.
MERGED_LIMIT = 2000
_TAG_OF_BINARY = "!!binary"


class Unreadable(Exception):
    """A text that this reader does not accept as YAML; `args` are its line and the reason."""


class Notes:
    """The anchors of a document, and the first problem: a text that other readers may understand differently."""

    def __init__(self):
        self.problem, self._anchors, self._merged = None, {}, 0

    def doubt(self, line, why, really=True):
        if really and self.problem is None:
            self.problem = "line %d: %s" % (line, why)

    def anchored(self, name, line):
        """The node that an alias refers to."""
        self.doubt(line, "an alias has no anchor", name not in self._anchors)
        return self._anchors.get(name, NOTHING)

    def with_properties(self, node, line, tags, anchors):
        """The node with its tags applied; its anchors are recorded."""
        if node.kind == SCALAR and _TAG_OF_BINARY in tags:
            node = node._replace(kind=BINARY)
        # An unknown tag may change the type of the value.
        self.doubt(line, "a tag is not known", any(tag != _TAG_OF_BINARY for tag in tags))
        self._anchors.update((name, node) for name in anchors)
        return node

    def merged(self, pairs, line):
        """The pairs of a mapping: the pairs of its merge keys come first, its own pairs override them."""
        if not any(key is MERGE for key, _value in pairs):
            return pairs
        brought, own, before, merges = [], [], set(), set()
        for key, value in pairs:
            if key is not MERGE:
                own.append((key, value))
                before.add(key)
                continue
            found = self._of_merge(value, line)
            # In yaml.v2 a merge key overrides the keys before it, in other readers it does not.
            self.doubt(line, "a merge key follows a key that it also sets",
                       any(name in before for name, _node in found))
            # Of two merge keys some readers take the first one's value and others the last one's.
            self.doubt(line, "two merge keys set the same key", any(name in merges for name, _node in found))
            merges.update(name for name, _node in found)
            brought += found
        return brought + own

    def _of_merge(self, value, line):
        maps = value.value if value.kind == LIST else [value]
        if any(node.kind != MAP for node in maps):
            self.doubt(line, "a merge key does not name a mapping")
            return []
        self._merged += sum(len(node.value) for node in maps)
        if self._merged > MERGED_LIMIT:
            self.doubt(line, "merge keys set more than %d keys" % MERGED_LIMIT)
            return []
        return [pair for node in reversed(maps) for pair in node.value]


def merge_or_key(node):
    """The key of a mapping: its text, or MERGE."""
    return MERGE if node.plain and node.value == "<<" else node.value


# The text before the quote that ends a scalar; these patterns are unambiguous.
_INSIDE = {'"': re.compile(r'[^"\\]*(?:\\.[^"\\]*)*\\?', re.DOTALL), "'": re.compile(r"[^']*(?:''[^']*)*")}
QUOTES = tuple(_INSIDE)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5}|\n|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v",
            "N": "\x85", "_": "\xa0", "L": u"\u2028", "P": u"\u2029"}
_THEMSELVES = tuple(" \"/\\\t\n")
# kubelet, kube-proxy and k3s read YAML with yaml.v2, which has the types of YAML 1.1 with its own rules (resolve.go of
# gopkg.in/yaml.v2, which sigs.k8s.io/yaml uses): y and n are booleans too, and there are no numbers to the base of 60.
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS.update((form, value) for value, words in ((True, "y yes true on"), (False, "n no false off"))
              for word in words.split() for form in (word, word.capitalize(), word.upper()))
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_DIGITS = 300  # No number in a configuration has more digits; int() is slow for many.


def typed(text):
    """The value of a plain scalar: None, a boolean, a number or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _DIGITS:
        return text
    compact = text.replace("_", "")
    found = _INTEGER.match(compact)
    if found:
        sign, sixteen, two, eight, ten = found.groups()
        return (-1 if sign == "-" else 1) * next(
            int(digits, base) for digits, base in ((sixteen, 16), (two, 2), (eight, 8), (ten, 10)) if digits)
    if _NO_NUMBER.match(text):
        return float(text.replace(".", ""))
    return float(compact) if _FLOAT.match(compact) else text


def end_of_quote(line, quote, start=0):
    """Index in `line` of the mark that closes the quote open at `start`; -1 if the quote continues on the next line."""
    end = _INSIDE[quote].match(line, start).end()
    return end if end < len(line) else -1


def unquoted(inner, quote):
    """The value of the text between two quotes."""
    if quote == "'":
        return "".join(_folded_lines(inner.split("\n"), False)).replace("''", "'")
    return _ESCAPE.sub(_escaped, "".join(_folded_lines(inner.split("\n"), True)))


def has_odd_escape(inner):
    """Whether YAML readers disagree on a backslash in double quotes: half of a UTF-16 pair, which only JSON knows, or
    an invalid escape."""
    for match in _ESCAPE.finditer(inner):
        what = match.group(1)
        if len(what) == 1 and what not in _ESCAPES and what not in _THEMSELVES:
            return True
        if len(what) > 1 and not _is_character(int(what[1:], 16)):
            return True
    return False


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
    """Pieces of a quoted scalar: its lines are joined by blanks, an empty one is a line break; where there are
    `escapes`, a backslash at the end of a line joins it without a blank.
    """
    yield lines[0] if len(lines) == 1 else lines[0].rstrip(" \t")
    before, blanks = lines[0], 0
    for left, line in zip(range(len(lines) - 2, -1, -1), lines[1:]):
        stripped = line.strip(" \t") if left else line.lstrip(" \t")
        if left and not stripped:
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
        return chr(number) if _is_character(number) else ""
    return "" if what == "\n" else _ESCAPES.get(what, what)


def _is_character(number):
    return number < 0x110000 and not 0xd800 <= number < 0xe000
