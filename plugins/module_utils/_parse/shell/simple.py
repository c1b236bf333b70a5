# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simple commands of a shell script: words, assignments, redirections and here-documents. PRIVATE to the collection.

Sample:
    LC_ALL=C a=(x y) iptables-restore --noflush 2>/dev/null <<EOF
    *nat
    EOF
"""

import bisect
import re

from .tree import Assignment, Redirect, Simple, Word
from .words import Unreadable, WordReader

_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECT = re.compile(r"(\d*|\{\w+\})(<<<|<<-?|<>|[<>]&|>>|>\||<(?!\()|>(?!\())|(&>>?)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]\n]*\])?(\+?)=")
_DECLARERS = frozenset(("local", "declare", "typeset", "export", "readonly"))


class SimpleReader(WordReader):
    """`here_documents`: Redirects; `here_starts`: where they start; `assigned`: {variable: how often it is set}."""

    def __init__(self, text):
        WordReader.__init__(self, text)
        self.here_documents, self.here_starts, self.assigned = [], [], {}
        self.awaited = []

    def blanks(self):
        if self.pos < self.end and self.text[self.pos] in " \t\r\\":
            blank = _BLANK.match(self.text, self.pos, self.end)
            self.pos = blank.end() if blank else self.pos

    def lines(self):
        """Skip blanks, comments and line ends where a command continues after them."""
        while True:
            self.blanks()
            character = self.text[self.pos:min(self.pos + 1, self.end)]
            if character == "\n":
                self.line_end()
            elif character == "#":
                self.pos = _COMMENT.match(self.text, self.pos, self.end).end()
            else:
                return

    def line_end(self):
        self.pos += 1
        awaited, self.awaited = self.awaited, []
        for redirect in awaited:
            self._here_document(redirect)

    def _here_document(self, redirect):
        """Skip the lines up to the one that ends a here-document."""
        last = "".join(part for part in redirect.word.parts if isinstance(part, str))
        start = position = self.pos
        while position < self.end:
            line_end = self.text.find("\n", position, self.end)
            line_end = self.end if line_end < 0 else line_end
            line = self.text[position:line_end]
            line = line[:-1] if line.endswith("\r") else line
            if (line.lstrip("\t") if redirect.operator == "<<-" else line) == last:
                self.pos = min(line_end + 1, self.end)
                redirect.body, redirect.last = (start, position), line_end
                return
            position = line_end + 1
        self.pos, self.whole = self.end, False
        redirect.body, redirect.last = (min(start, self.end), self.end), self.end

    def words(self, last):
        """The words up to one of the characters in `last`; up to a parenthesis they may span several lines."""
        words = []
        while True:
            if last == ")":
                self.lines()
            self.blanks()
            character = self.text[self.pos:min(self.pos + 1, self.end)]
            if not character or character in last or character == "#":
                return words
            word = self.word()
            if word.end == word.start:
                raise Unreadable("expected a word")
            words.append(word)

    def redirects(self, node):
        while True:
            self.blanks()
            found = _REDIRECT.match(self.text, self.pos, self.end)
            if not found:
                return
            node.redirects.append(self._redirect(found))
            node.end = self.pos

    def _redirect(self, found):
        self.pos = found.end()
        self.blanks()
        redirect = Redirect(found.start(), found.group(1) or "", found.group(2) or found.group(3), self.word())
        if redirect.operator in ("<<", "<<-"):
            self.awaited.append(redirect)
            # A here-document in a substitution inside another here-document's body is read with that body, later.
            place = bisect.bisect(self.here_starts, redirect.start)
            self.here_documents.insert(place, redirect)
            self.here_starts.insert(place, redirect.start)
        return redirect

    def test(self, start):
        """`[[ ... ]]`, where the operators of commands have another meaning."""
        words = [Word(start, start + 2, ["[["], False)]
        while True:
            self.lines()
            if self.pos >= self.end:
                raise Unreadable("expected ]]")
            word = self.word()
            if word.end == word.start:
                self.pos += 1
                word = Word(word.start, self.pos, [self.text[word.start]], False)
            words.append(word)
            if word.text == "]]" and not word.quoted:
                return Simple(start, self.pos, words, [], [])

    def simple(self):
        text, start = self.text, self.pos
        node = Simple(start, start, [], [], [])
        while True:
            self.blanks()
            if self.pos >= self.end or text[self.pos] in "\n;|)#":
                break
            character = text[self.pos]
            found = _REDIRECT.match(text, self.pos, self.end) if character in "<>&{0123456789" else None
            if found:
                node.redirects.append(self._redirect(found))
            elif character in "&(":
                break
            else:
                found = _ASSIGNMENT.match(text, self.pos, self.end)
                if found and (not node.words or node.words[0].text in _DECLARERS):
                    node.assignments.append(self._assignment(found))
                else:
                    node.words.append(self.word())
            node.end = self.pos
        if node.end == start or text.startswith("(", self.pos):
            self.pos += 1
            raise Unreadable("expected a command")
        return node

    def _assignment(self, found):
        name = found.group(1)
        self.assigned[name] = self.assigned.get(name, 0) + 1
        self.pos = found.end()
        if not self.text.startswith("(", self.pos):
            return Assignment(name, bool(found.group(2)), self.word(), None)
        self.pos += 1
        words = self.words(")")
        self.pos = min(self.pos + 1, self.end)
        return Assignment(name, bool(found.group(2)), None, words)
