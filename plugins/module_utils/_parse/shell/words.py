# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of a shell script: quotes, escapes, expansions. PRIVATE to the collection.

Sample:
    "$DIR"/iptables${V:-6} -t 'nat' $(which x) `which \\`echo y\\`` $'a\\tb' <(echo z)
Grammar: POSIX.1-2017 Shell Command Language 2.2 to 2.6, and what bash adds. The text is read once from left to right,
so the time is proportional to its length. A quote or bracket that is never closed ends with the text; then the text is
not `whole`.
"""

import re

from .tree import Substitution, Variable, Word

# Deeper than any script is written, and shallow enough for Python's stack.
DEPTH_LIMIT = 30
# After this many failed searches for the end of a ((...)) no more are tried; each one reads up to the end of the text.
VAIN_LIMIT = 20
# A CR is a blank, so that files with Windows line ends are read correctly.
_PLAIN = re.compile(r"[^ \t\r\n;&|<>()\"'\\$`]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_IN_BRACES = re.compile(r"[^}\"'\\$`]+")
_STRAIGHT = re.compile(r"[^\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_BRACED = re.compile(r"\{([!#]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])(?:\[([^\]\n]*)\])?(:?[-=+?]|%%?|##?|[/^,:@][^}]?)?")
_CONTINUED = re.compile(r"\\\r?\n")
_STOPS = {"'": re.compile(r"['\\]"), "`": re.compile(r"[`\\]")}
_UNESCAPED = re.compile(r"\\([$`\\])")
_ANSI = re.compile(r"\\(?:([abefnrtv])|x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_LETTERS = dict(zip("abefnrtv", "\a\b\033\f\n\r\t\v"))
_PARENTHESES = re.compile(r"[()]")
_EXTENDED = "?*+@!"


class Unreadable(ValueError):
    """Not shell syntax, or nested too deeply."""


class WordReader:
    """Reads words at `pos`; the subclass adds the grammar of commands."""

    def __init__(self, text):
        self.text, self.pos, self.end = text, 0, len(text)
        self.depth = self.vain = 0
        self.whole = True

    def deeper(self):
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise Unreadable("too deep")

    def word(self):
        """The word at `pos`, empty if there is no word."""
        text, start = self.text, self.pos
        plain = _PLAIN.match(text, start, self.end)
        if plain:
            self.pos = plain.end()
            if self.pos >= self.end or text[self.pos] in " \t\r\n;&|":
                return Word(start, self.pos, [plain.group(0)], False)
        parts, quoted = [plain.group(0)] if plain else [], False
        while self.pos < self.end:
            character = text[self.pos]
            if character == "'":
                self._single(parts)
                quoted = True
            elif character == '"':
                self.pos += 1
                self._until(parts, _IN_QUOTES, '"', True)
                quoted = True
            elif character == "\\":
                quoted = self._escape(parts, False) or quoted
            elif character == "$":
                self._dollar(parts, False)
            elif character == "`":
                self._backquote(parts, False)
            elif character in "<>" and self.pos == start and text.startswith("(", self.pos + 1):
                self.pos += 2
                parts.append(Substitution(self._commands_in_parentheses(), None, False, True))
            elif character == "(" and parts and isinstance(parts[-1], str) and parts[-1][-1:] in _EXTENDED:
                self._pattern(parts)
            else:
                plain = _PLAIN.match(text, self.pos, self.end)
                if not plain:
                    break
                parts.append(plain.group(0))
                self.pos = plain.end()
        return Word(start, self.pos, parts, quoted)

    def parts_between(self, start, end):
        """The parts of a here-document: only `$`, backquotes and backslashes are special in it."""
        self.pos, self.end, self.depth, parts = start, end, 0, []
        try:
            self._until(parts, _STRAIGHT, None, True)
        except Unreadable:
            parts.append(self.text[start:end])
        return parts

    def _single(self, parts):
        end = self.text.find("'", self.pos + 1, self.end)
        if end < 0:
            self.whole, end = False, self.end
        parts.append(self.text[self.pos + 1:end])
        self.pos = min(end + 1, self.end)

    def _until(self, parts, plain, closing, quoted):
        """Read parts up to `closing`, and skip it."""
        text = self.text
        while self.pos < self.end:
            found = plain.match(text, self.pos, self.end)
            if found:
                parts.append(found.group(0))
                self.pos = found.end()
                continue
            character = text[self.pos]
            if character == closing:
                self.pos += 1
                return
            if character == "\\":
                self._escape(parts, quoted)
            elif character == "$":
                self._dollar(parts, quoted)
            elif character == "`":
                self._backquote(parts, quoted)
            elif character == '"':
                self.pos += 1
                self._until(parts, _IN_QUOTES, '"', True)
            elif quoted:
                parts.append("'")
                self.pos += 1
            else:
                self._single(parts)
        self.whole = self.whole and closing is None

    def _escape(self, parts, quoted):
        """A backslash: true if it quotes something."""
        continued = _CONTINUED.match(self.text, self.pos, self.end)
        if continued:
            self.pos = continued.end()
            return False
        following = self.text[self.pos + 1:min(self.pos + 2, self.end)]
        parts.append(following if not quoted or following in '$`"\\' else "\\" + following)
        self.pos = min(self.pos + 2, self.end)
        return True

    def _dollar(self, parts, quoted):
        text, following = self.text, self.text[self.pos + 1:min(self.pos + 2, self.end)]
        name = _NAME.match(text, self.pos + 1, self.end)
        if name:
            self.pos = name.end()
            parts.append(Variable(name.group(0), quoted))
        elif following == "(":
            if text.startswith("((", self.pos + 1) and self.arithmetic(self.pos + 1):
                parts.append(Variable("(", quoted))
            else:
                self.pos += 2
                parts.append(Substitution(self._commands_in_parentheses(), None, quoted))
        elif following == "{":
            self._braces(parts, quoted)
        elif following == "'" and not quoted:
            end = self._closing("'", self.pos + 2)
            parts.append(_ANSI.sub(_ansi, text[self.pos + 2:end]))
            self.pos = min(end + 1, self.end)
        elif following == '"' and not quoted:
            self.pos += 1
        else:
            parts.append("$")
            self.pos += 1

    def _braces(self, parts, quoted):
        found = _BRACED.match(self.text, self.pos + 1, self.end)
        sign, name, index, operator = found.groups() if found else ("!", "", None, None)
        self.pos = found.end() if found else self.pos + 2
        rest = []
        self.deeper()
        self._until(rest, _IN_BRACES, "}", quoted)
        self.depth -= 1
        # The values of ${!name} and ${#name} are not looked up.
        parts.append(Variable(name, quoted, index, sign or operator or "", rest))

    def _backquote(self, parts, quoted):
        start, end = self.pos + 1, self._closing("`", self.pos + 1)
        if self.text.find("\\", start, end) >= 0:
            parts.append(Substitution(None, _UNESCAPED.sub(r"\1", self.text[start:end]), quoted))
        else:
            kept, self.pos, self.end = self.end, start, end
            try:
                parts.append(Substitution(self.commands(()), None, quoted))
            finally:
                self.end = kept
        self.pos = min(end + 1, self.end)

    def _commands_in_parentheses(self):
        nodes = self.commands((")",))
        self.pos = min(self.pos + 1, self.end)
        return nodes

    def commands(self, stops):
        raise NotImplementedError

    def _closing(self, quote, start):
        """Where the quote that was opened before `start` is closed; a backslash escapes the character after it."""
        stop, pos = _STOPS[quote], start
        while True:
            found = stop.search(self.text, pos, self.end)
            if not found:
                self.whole = False
                return self.end
            if found.group(0) == quote:
                return found.start()
            pos = found.end() + 1

    def arithmetic(self, start):
        """Skip `((...))` at `start`; true if it is one. Commands in it are not read."""
        end = self._balanced(start, 1)
        if not self.text.startswith(")", end):
            return False
        self.pos = end + 1
        return True

    def _pattern(self, parts):
        """An extended pattern of bash, `@(a|b)`, as the text it is."""
        end = self._balanced(self.pos, 0)
        parts.append(self.text[self.pos:end])
        self.pos = end

    def _balanced(self, start, wanted):
        """The place after the parenthesis that closes all open ones but `wanted`."""
        depth = 0
        if self.vain < VAIN_LIMIT:
            for found in _PARENTHESES.finditer(self.text, start, self.end):
                depth += 1 if found.group(0) == "(" else -1
                if depth == wanted and found.group(0) == ")":
                    return found.end()
        self.vain += 1
        raise Unreadable("parentheses are not closed")


def _ansi(found):
    letter, hexadecimal, octal, other = found.groups()
    if letter:
        return _ANSI_LETTERS[letter]
    return chr(int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xff) if hexadecimal or octal else other
