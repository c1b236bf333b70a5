# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists and mappings of YAML in brackets. PRIVATE to the collection.

Sample: C([ sh, -c, "iptables -F" ]). Grammar: YAML 1.2.2, 7.4.
"""

import collections
import re

from .yaml_scalars import QUOTES, unquoted

SCALAR, LIST, MAP = "scalar", "list", "map"
BINARY = "binary"  # A scalar in base64: C(!!binary).
# C(value): a text, [Node] or [(key, Node)]. C(exact): line N of the text is line C(line + N - 1) of the file.
Node = collections.namedtuple("Node", "kind line value exact")
NOTHING = Node(SCALAR, 0, "", False)

_DEPTH = 40
_LETTER = r"(?:[^\s,\[\]{}:]|:(?![\s,\[\]{}]|\Z))"
_TOKEN = re.compile(r"""[\[\]{},:](?=[\s,\[\]{}]|\Z)|[\[\]{},]|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\s+\#[^\n]*|\s+"""
                    r"|%s(?:%s|\s+(?!\#)(?=%s))*" % (_LETTER, _LETTER, _LETTER), re.DOTALL)
_LINE_BREAK = re.compile(r"[ \t]*\n\s*")


# What no plain scalar begins with: anchors, aliases, tags and the like, and marks of a list or a key before a blank.
_NOT_PLAIN = re.compile(r"[&*!|>%@`#]|[-?:](?:\s|\Z)")
_TAIL = re.compile(r"[ \t]*(?:\n|\Z)|[ \t]+#")


def parse_flow(text, line):
    """(C(Node), number of its lines, whether all of it is known here) of what begins with a bracket at C(line) of the file; C(None, 0, False)
    where the brackets do not close."""
    tokens, missing, first = [], 0, line
    for match in _TOKEN.finditer(text):
        token = match.group(0)
        if token.strip() and not token.lstrip().startswith("#"):
            tokens.append((token, line))
            missing += (token in ("[", "{")) - (token in ("]", "}"))
        line += token.count("\n")
        if not missing:
            sure = _is_known(tokens) and bool(_TAIL.match(text, match.end()))
            tokens.reverse()
            return _node(tokens, 0), line - first + 1, sure
    return None, 0, False


def _is_known(tokens):
    """Whether brackets fit, keys are scalars and scalars are plain or quoted."""
    opened, before = [], ","
    for word, _line in tokens:
        if word in ("[", "{"):
            opened.append(word)
            if len(opened) > _DEPTH or before not in (",", ":", "[", "{"):
                return False
        elif word in ("]", "}"):
            if not opened or opened.pop() + word not in ("[]", "{}"):
                return False
        elif word == ":":
            if before in (",", ":", "[", "]", "{", "}"):
                return False
        elif word == ",":
            if before in (",", "[", "{"):
                return False
        elif before not in (",", ":", "[", "{") or word == "<<" or _is_odd(word):
            return False
        before = word
    return True


def _is_odd(word):
    """A scalar that is no plain one, nor quoted as a whole."""
    return len(word) < 2 or word[-1] != word[0] if word[0] in QUOTES else bool(_NOT_PLAIN.match(word))


def _node(tokens, depth):
    """The next node; C(tokens) are in reverse order."""
    word, line = tokens.pop()
    if word in ("[", "{") and depth < _DEPTH:
        return _items(tokens, word, line, depth)
    if word[0] in QUOTES and len(word) > 1 and word[-1] == word[0]:
        return Node(SCALAR, line, unquoted(word[1:-1], word[0]), False)
    return Node(SCALAR, line, _LINE_BREAK.sub(lambda match: "\n" * (match.group(0).count("\n") - 1) or " ", word), False)


def _items(tokens, opening, line, depth):
    closing, items = {"[": "]", "{": "}"}[opening], []
    while tokens and tokens[-1][0] != closing:
        if tokens[-1][0] in (",", ":", "]", "}"):
            tokens.pop()
            continue
        key, value = _node(tokens, depth + 1), None
        if tokens and tokens[-1][0] == ":":
            tokens.pop()
            value = _node(tokens, depth + 1) if tokens and tokens[-1][0] not in (",", closing) else NOTHING
        items.append((key, value))
    del tokens[-1:]
    if opening == "{":
        return Node(MAP, line, [(key.value if key.kind == SCALAR else "", value or NOTHING) for key, value in items], False)
    return Node(LIST, line, [key if value is None else Node(MAP, key.line, [(key.value, value)], False) for key, value in items], False)
