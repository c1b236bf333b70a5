# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts, lists of texts and whole numbers of a TOML file. PRIVATE to the collection.

Sample: `[plugins."io.containerd.grpc.v1.cri".cni]`, then `bin_dir = "/opt/cni/bin"`. Format: https://toml.io, version
1.0. Other values, such as inline tables and texts of several lines, are `UNREAD`.
"""

import re

UNREAD = object()

# A text that does not end takes the rest of its line, or of the file, so that each character is read once.
_TOKEN = re.compile(
    r"""(?P<long>\"{3}(?:[^"\\]|\\.?|"{1,2}(?!"))*(?:"{3,5}|\Z)|'{3}(?:[^']|'{1,2}(?!'))*(?:'{3,5}|\Z))
        |(?P<text>"(?:[^"\\\n]|\\[^\n]?)*"?|'[^'\n]*'?)|(?P<skipped>[ \t\r]+|\#[^\n]*)|(?P<mark>[][{}=,.\n])
        |(?P<bare>[A-Za-z0-9_-]+)|(?P<other>.)""", re.DOTALL | re.VERBOSE)
_BASIC = re.compile(r'"((?:[^"\\]|\\(?:[btnfr"\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}))*)"\Z')
_LITERAL = re.compile(r"'([^']*)'\Z")
_ESCAPE = re.compile(r"\\(?:[uU]([0-9A-Fa-f]+)|(.))")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,8})\Z")
_OPEN, _CLOSE, _COMMA, _DOT, _EQUALS = (("mark", text) for text in "[],.=")
# The tables below the elements of an array of tables; no key is read there.
_ELEMENTS = ("[[",)


def parse_toml_keys(text):
    """`{(table, ..., key): value}` with a text, a list of texts, a whole number or UNREAD."""
    table, arrays, lengths, found = (), set(), set(), {}
    for tokens in _statements(text):
        if tokens[0] == _OPEN:
            margin = 2 if tokens[1:2] == [_OPEN] else 1
            path = _path(tokens[margin:-margin]) if tokens[-margin:] == [_CLOSE] * margin else None
            if margin == 2 and path:
                arrays.add(path)
                lengths.add(len(path))
            below = path is None or any(path[:length] in arrays for length in lengths)
            table = _ELEMENTS if below else path
        elif _EQUALS in tokens:
            equals = tokens.index(_EQUALS)
            path = _path(tokens[:equals])
            if path and table != _ELEMENTS:
                found[table + path] = _value(tokens[equals + 1:])
    return found


def _statements(text):
    """The tokens `(kind, text)` of each heading and each key with its value, without comments."""
    tokens, depth, valued = [], 0, False
    for match in _TOKEN.finditer(text):
        token = (match.lastgroup, match.group())
        if token[1] == "\n" and depth == 0:
            if tokens:
                yield tokens
            tokens, valued = [], False
        elif token[0] != "skipped" and token[1] != "\n":
            tokens.append(token)
            valued = valued or token == _EQUALS
            if valued and token[0] == "mark":
                depth = max(0, depth + (token[1] in "[{") - (token[1] in "]}"))
    if tokens:
        yield tokens


def _path(tokens):
    """The parts of a dotted key, or None."""
    parts = [token[1] if token[0] == "bare" else _text(token) for token in tokens[::2]]
    return tuple(parts) if len(tokens) % 2 and UNREAD not in parts and set(tokens[1::2]) <= {_DOT} else None


def _value(tokens):
    if len(tokens) == 1:
        return int(tokens[0][1]) if _NUMBER.match(tokens[0][1]) else _text(tokens[0])
    if tokens[:1] != [_OPEN] or tokens[-1] != _CLOSE or set(tokens[2:-1:2]) - {_COMMA}:
        return UNREAD
    values = [_text(token) for token in tokens[1:-1:2]]
    return UNREAD if UNREAD in values else values


def _text(token):
    """The text of a token in quotes, or UNREAD."""
    literal, basic = (form.match(token[1]) if token[0] == "text" else None for form in (_LITERAL, _BASIC))
    if literal:
        return literal.group(1)
    if not basic or any(not _is_character(int(code, 16)) for code, _other in _ESCAPE.findall(basic.group(1)) if code):
        return UNREAD
    return _ESCAPE.sub(lambda escape: chr(int(escape.group(1), 16)) if escape.group(1)
                       else _ESCAPED.get(escape.group(2), escape.group(2)), basic.group(1))


def _is_character(code):
    return code < 0xd800 or 0xe000 <= code <= 0x10ffff
