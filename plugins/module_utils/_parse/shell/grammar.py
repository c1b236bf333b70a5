# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of a shell script, as a tree. PRIVATE to the collection.

Sample:
    stop() { for t in nat filter; do iptables -t $t -F; done; }
    case "$1" in stop|restart) stop ;; esac
    [ -f "$SAVED" ] && iptables-restore < "$SAVED" || cat <<EOF
    nothing saved
    EOF
Grammar: POSIX.1-2017 Shell Command Language 2.7 to 2.10, and what bash and ksh add. A part that cannot be read is left
out up to the end of its line; then the tree is not `whole`.
"""

import functools
import re

from .simple import SimpleReader
from .tree import Compound
from .words import Unreadable

_COMMENT = re.compile(r"#[^\n]*")
_RESERVED = re.compile(r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|time|coproc|[{}!]|"
                       r"\[\[)(?=[ \t\r\n;&|()<>]|\Z)")
_BREAKS = re.compile(r";;&|;;|;&")
_FUNCTION = re.compile(r"([^ \t\r\n;&|<>()\"'\\$`=#]+)[ \t\r]*\([ \t\r]*\)")
_IN = re.compile(r"in(?=[ \t\r\n]|\\\r?\n|\Z)")
_CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))


# Files that many scripts source are parsed for each of them; only a few are cached, since they may be large.
@functools.lru_cache(maxsize=8)
def parse_shell(text):
    """A ShellText; never fails."""
    return ShellText(text).read()


class ShellText(SimpleReader):
    """`nodes`: the commands of the text; `whole`: all of it could be read."""

    def __init__(self, text):
        SimpleReader.__init__(self, text)
        self.nodes = []

    def read(self):
        while self.pos < self.end:
            begun = self.pos
            self.depth = 0
            try:
                self._commands((), self.nodes)
            except Unreadable:
                line_end = self.text.find("\n", max(self.pos, begun + 1))
                self.pos = len(self.text) if line_end < 0 else line_end
                self.whole, self.awaited = False, []
        return self

    def commands(self, stops):
        self.deeper()
        nodes = []
        self._commands(stops, nodes)
        self.depth -= 1
        return nodes

    def _commands(self, stops, nodes):
        """Read commands up to one of `stops`, where `pos` stays, or to the end of the text."""
        text = self.text
        while True:
            self._skip()
            if self.pos >= self.end:
                # Commands in backquotes end with them; other commands end with the text.
                self.whole = self.whole and not stops
                return
            found = _RESERVED.match(text, self.pos, self.end) or _BREAKS.match(text, self.pos, self.end)
            closer = found.group(0) if found else text[self.pos]
            if closer in stops or closer[0] == ";" and ";;" in stops:
                return
            if closer in _CLOSERS or closer in ")|;" or closer[0] == ";":
                if stops or self.depth:
                    raise Unreadable(closer)
                self.whole = False
                self.pos += len(closer)
                continue
            nodes.append(self._and_or())

    def _skip(self):
        """Skip blanks, comments, line ends and single separators."""
        while self.pos < self.end:
            self.blanks()
            character = self.text[self.pos:min(self.pos + 1, self.end)]
            if character == "\n":
                self.line_end()
            elif character == "#":
                self.pos = _COMMENT.match(self.text, self.pos, self.end).end()
            elif character == "&" and not self.text.startswith("&&", self.pos):
                self.pos += 1
            elif character == ";" and not _BREAKS.match(self.text, self.pos, self.end):
                self.pos += 1
            else:
                return

    def _and_or(self):
        start, clauses = self.pos, [(None, [self._pipeline()])]
        while True:
            self.blanks()
            operator = self.text[self.pos:min(self.pos + 2, self.end)]
            if operator not in ("&&", "||"):
                break
            self.pos += 2
            self.lines()
            clauses.append((operator, [self._pipeline()]))
        return clauses[0][1][0] if len(clauses) == 1 else Compound("and_or", start, clauses[-1][1][0].end, clauses)

    def _pipeline(self):
        start, negated = self.pos, False
        while True:
            found = _RESERVED.match(self.text, self.pos, self.end)
            if not found or found.group(0) not in ("!", "time", "coproc"):
                break
            negated = negated != (found.group(0) == "!")
            self.pos = found.end()
            self.blanks()
            if found.group(0) == "time" and self.text.startswith("-p", self.pos):
                self.pos += 2
                self.blanks()
        nodes = [self._command()]
        while True:
            self.blanks()
            if self.text[self.pos:min(self.pos + 1, self.end)] != "|" or self.text.startswith("||", self.pos):
                break
            self.pos += 2 if self.text.startswith("|&", self.pos) else 1
            self.lines()
            nodes.append(self._command())
        if len(nodes) == 1 and not negated:
            return nodes[0]
        return Compound("pipeline", start, nodes[-1].end, [(None, [node]) for node in nodes], "!" if negated else None)

    def _command(self):
        text, start = self.text, self.pos
        found = _RESERVED.match(text, start, self.end)
        if found:
            self.pos = found.end()
            node = self._compound(found.group(0), start)
        elif text.startswith("((", start) and self.arithmetic(start):
            node = Compound("group", start, self.pos, [])
        elif text.startswith("(", start):
            self.pos += 1
            node = self._closed("subshell", start, self.commands((")",)))
        else:
            found = _FUNCTION.match(text, start, self.end)
            if not found:
                return self.simple()
            self.pos = found.end()
            node = self._function(found.group(1), start)
        self.redirects(node)
        return node

    def _closed(self, kind, start, nodes):
        self.pos = min(self.pos + 1, self.end)
        return Compound(kind, start, self.pos, [(None, nodes)])

    def _compound(self, name, start):
        if name == "{":
            return self._closed("group", start, self.commands(("}",)))
        if name == "[[":
            return self.test(start)
        if name == "if":
            return self._if(start)
        if name in ("while", "until"):
            condition = self.commands(("do",))
            body = self._body()
            return Compound(name, start, self.pos, [(condition, body)])
        if name in ("for", "select"):
            return self._for(start)
        if name == "case":
            return self._case(start)
        if name == "function":
            self.blanks()
            word = self.word()
            called = _FUNCTION.match(self.text, word.start, self.end)
            self.pos = called.end() if called else self.pos
            return self._function(called.group(1) if called else word.text or "", start)
        raise Unreadable(name)

    def _expect(self, *names):
        """Skip one of the reserved words and return it; the end of the text counts as the last one."""
        self._skip()
        if self.pos >= self.end:
            self.whole = False
            return names[-1]
        found = _RESERVED.match(self.text, self.pos, self.end)
        if not found or found.group(0) not in names:
            raise Unreadable("expected %s" % names[0])
        self.pos = found.end()
        return found.group(0)

    def _if(self, start):
        clauses, name = [], "if"
        while name in ("if", "elif"):
            condition = self.commands(("then",))
            self._expect("then")
            clauses.append((condition, self.commands(("elif", "else", "fi"))))
            name = self._expect("elif", "else", "fi")
        if name == "else":
            clauses.append((None, self.commands(("fi",))))
            self._expect("fi")
        return Compound("if", start, self.pos, clauses)

    def _body(self):
        """`do ... done`, or the braces that bash accepts as well."""
        self._skip()
        braces = self.text.startswith("{", self.pos)
        self._expect("{" if braces else "do")
        nodes = self.commands(("}" if braces else "done",))
        self._expect("}" if braces else "done")
        return nodes

    def _for(self, start):
        self.blanks()
        if self.text.startswith("((", self.pos) and self.arithmetic(self.pos):
            return Compound("while", start, self.pos, [([], self._body())])
        name, words = self.word().text or "", None
        self.lines()
        if _IN.match(self.text, self.pos, self.end):
            self.pos += 2
            words = self.words("\n;")
        body = self._body()
        self.assigned[name] = self.assigned.get(name, 0) + 2
        return Compound("for", start, self.pos, [(None, body)], name, words)

    def _case(self, start):
        self.blanks()
        subject, clauses = self.word(), []
        self.lines()
        if not _IN.match(self.text, self.pos, self.end):
            raise Unreadable("expected in")
        self.pos += 2
        while True:
            self.lines()
            found = _RESERVED.match(self.text, self.pos, self.end)
            if found and found.group(0) == "esac" or self.pos >= self.end:
                self._expect("esac")
                return Compound("case", start, self.pos, clauses, None, [subject])
            clauses.append((self._patterns(), self.commands((";;", "esac"))))
            found = _BREAKS.match(self.text, self.pos, self.end)
            self.pos = found.end() if found else self.pos

    def _patterns(self):
        patterns = []
        self.pos += 1 if self.text[self.pos] == "(" else 0
        while True:
            patterns += self.words("|)")
            if self.pos >= self.end or self.text[self.pos] == "#":
                raise Unreadable("expected )")
            self.pos += 1
            if self.text[self.pos - 1] == ")":
                return patterns

    def _function(self, name, start):
        self.lines()
        if self.pos >= self.end:
            raise Unreadable("expected a body")
        self.deeper()
        body = self._command()
        self.depth -= 1
        return Compound("function", start, self.pos, [(None, [body])], name)
