# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masks the secrets in a line of a file. PRIVATE to the collection.

It masks values after a name like token, password or key, credentials of a URL or of curl, and passwords given to mysql
and sshpass. It shows all other text: rules, sysctls, numbers, paths, and commands.
"""

import re

MASK = "***"
LIMIT = 1000
# Words in the name of a secret.
NAMES = (r"token|passw(?:or)?d|passphrase|(?<![a-z])pass(?![a-z])|(?<![a-z])pwd(?![a-z])|secret|credential|"
         r"authorization|bearer|cookie|api[-_]?key|(?<![a-z])key(?![a-z])")
URL = re.compile(r"(\w[\w+.-]*://)[^/\s@]*@")

_WORD = re.compile(r"[\w.-]+")
_SECRET = re.compile(NAMES, re.IGNORECASE)
# Words that a secret follows anywhere in a line, as in a netrc.
_ANNOUNCES = re.compile(r"(?:password|passwd|passphrase|secret|bearer|token)\Z", re.IGNORECASE)
_EQUALS = re.compile(r"\\?[\"']?\s*=\s*")
_COLON = re.compile(r"\\?[\"']?:(?:\s+|(?=[\"']))")
_BLANK = re.compile(r"\s+")
_VALUE = re.compile(r"\\?\"[^\"]*\"?|'[^']*'?|[^\s\"';|&)]+")
# After the colon of a header everything up to the end of its quotes is the value.
_HEADER = re.compile(r"\\?\"[^\"]*\"?|'[^']*'?|[^\"']+")
_USER = re.compile(r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]?\s*[\"']?[^\s:\"'=]+:")
_SHORT = re.compile(r"\s-p\s*")
_CLIENT = re.compile(r"\b(?:mysql\w*|mariadb[\w-]*|sshpass)\b")
# A rule as iptables-save prints it. Words of its comment are names of Services and the like.
_RULE = re.compile(r"\s*(?:\[\d+:\d+\]\s+)?(?:-[AI]\s+\S+\s|:\S+\s+(?:-|ACCEPT|DROP)\s|\*\w+\s*\Z)")


def masked_line(line, limit=LIMIT):
    """The line, at most `limit` characters of it, each secret replaced by `***`."""
    text = URL.sub(r"\1%s@" % MASK, line[:limit * 2])
    shown, end = [], 0
    for first, last in sorted(_places(text)):
        if last > end:
            shown += [text[end:first], MASK] if first >= end else []
            end = last
    text = "".join(shown) + text[end:]
    return text if len(text) <= limit else text[:limit - 3] + "..."


def _places(text):
    """A generator of (first, last), the places to mask."""
    is_rule = _RULE.match(text) is not None
    for word in _WORD.finditer(text):
        if not _SECRET.search(word.group()):
            continue
        found = _EQUALS.match(text, word.end())
        value = _VALUE
        if found is None and not is_rule:
            found = _COLON.match(text, word.end())
            value = _HEADER if found else _VALUE
            if found is None and (word.group().startswith("-") or _ANNOUNCES.match(word.group())):
                found = _BLANK.match(text, word.end())
        if found:
            yield from _value_at(text, found.end(), value)
    if not is_rule:
        for user in _USER.finditer(text):
            yield from _value_at(text, user.end(), _VALUE)
        client = _CLIENT.search(text)
        for option in _SHORT.finditer(text, client.end()) if client else ():
            yield from _value_at(text, option.end(), _VALUE)


def _value_at(text, place, value):
    """(first, last) of the value at a place, without its quotes."""
    found = value.match(text, place)
    if found:
        quotes = re.match(r"\\?[\"']", found.group())
        before = len(quotes.group()) if quotes else 0
        closed = quotes and len(found.group()) >= 2 * before and found.group().endswith(quotes.group())
        yield found.start() + before, found.end() - (before if closed else 0)
