# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Literal commands that scripts of Python, Perl and Ruby pass to a shell or a program. PRIVATE to the collection.

Sample:
    subprocess.run(["iptables", "-t", table, "-F"])
    system("iptables -F; iptables -X") or die;
    `iptables -F`
The code of these languages is not evaluated, so the findings are likely, not certain.
"""

import itertools
import re

from .effect import Reading
from .values import unknown

CALLS_LIMIT = 500
CALL_LENGTH = 2000
_NOT_CODE = re.compile(
    r"(?m)^[ \t]*#.*|^=\w+[\s\S]*?(?:^=cut\b.*|\Z)|\"\"\"[\s\S]*?(?:\"\"\"|\Z)|'''[\s\S]*?(?:'''|\Z)")
_CALL = re.compile(
    r"(?<!\w)(?:os\.(?:system|popen|exec\w+|spawn\w+)|(?:subprocess|sp|Open3)\.\w+|Popen|check_call|check_output|"
    r"getoutput|system|exec|run_cmd|run_command|run|call|execute)(?:[ \t]*\(|(?=[ \t]+[\"']))|(?:qx|%x)(?=[{(\[/|])|`")
_TOKEN = re.compile(
    r"[ \t\r\n]+|[fFrRbBuU]{0,2}(?:\"(?P<a>(?:[^\"\\]|\\.)*)\"|'(?P<b>(?:[^'\\]|\\.)*)')|(?P<name>[\w.$@%]+)"
    r"|(?P<sign>.)",
    re.DOTALL)
_VARIABLE = re.compile(r"\{[^{}]*\}|#\{[^{}]*\}|%[sd]|\$\{?\w+\}?")
_CLOSING = {"{": "}", "(": ")", "[": "]", "`": "`", "/": "/", "|": "|"}


class _Place:
    """A substitute for a node of a shell command: it has a place and no words of its own."""

    words = redirects = ()

    def __init__(self, start, end):
        self.start, self.end = start, end


def read_foreign(text, limit):
    """A Reading of the literal commands; `limit` as in Walker."""
    commands = list(written_out(text))
    if not commands:
        return Reading([], [], True, None, 0)
    from .walk import Walker
    walker = Walker(text, (), (), limit)
    walker.read("")
    walker.findings.doubtful = True
    for words, start, end in commands:
        if len(words) == 1:
            walker.nested(_Place(start, end), words[0])
        else:
            walker.command(_Place(start, end), words)
    return walker.reading()


def written_out(text):
    """A generator of (words, start, end) of each command: one word is for a shell, several are for a program."""
    plain = _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text)
    for found in itertools.islice(_CALL.finditer(plain), CALLS_LIMIT):
        if found.group(0).endswith(("x", "`")):
            words, end = _between(plain, found)
        else:
            words, end = _arguments(plain, found.end())
        if words:
            yield words, found.start(), end


def _between(text, found):
    start = found.end() - 1 if found.group(0) == "`" else found.end()
    end = text.find(_CLOSING[text[start]], start + 1, start + CALL_LENGTH)
    if end < 0:
        return [], found.end()
    return [_VARIABLE.sub(unknown("x"), text[start + 1:end])], end + 1


def _arguments(text, start):
    """(texts of a call or a list, where it ends); arguments that are not text are unknown. Without parentheses it ends
    with the line."""
    words, current, end = [], None, start
    open_line = text[start - 1] == "("
    for token in _TOKEN.finditer(text, start, min(len(text), start + CALL_LENGTH)):
        sign, name = token.group("sign"), token.group("name")
        if token.group("a") is not None or token.group("b") is not None:
            piece = token.group("a") if token.group("a") is not None else token.group("b")
            current = (current or "") + _VARIABLE.sub(unknown("x"), re.sub(r"\\(.)", r"\1", piece))
        elif name and current is None and re.match(r"\w+\Z", name) and text[token.end():token.end() + 1] == "=":
            break  # A named argument.
        elif name:
            current = (current or "") + unknown(re.sub(r"\W", "", name))
        elif sign == ",":
            words, current = words + ([current] if current is not None else []), None
        elif "\n" in token.group(0) and current is not None and not open_line:
            break
        elif sign and sign in ")];":
            end = token.end()
            break
        end = token.end()
    return words + ([current] if current is not None else []), end
