# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masks the secrets in a command line and shortens it for display. PRIVATE to the collection.

Everything that looks like a secret is masked: values of options and headers with such a name, credentials of a URL, and
every value of an environment variable. In doubt, more than necessary is masked.
"""

import re

from ..secrets import MASK, NAMES, URL

LIMIT = 120

_SECRET = r"[\w.-]*(?:%s)[\w.-]*" % NAMES
_OPTION = re.compile(r"-{1,2}%s\Z|-[pP]\Z" % _SECRET, re.IGNORECASE)
_JOINED = re.compile(r"-p(?!-)[^=]+\Z")
_ASSIGNMENT = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*)=")
_VARIABLE = re.compile(r"[A-Za-z_]\w*\Z")
_NAMED_SECRET = re.compile(r"-{0,2}%s\Z" % _SECRET, re.IGNORECASE)
# Inside a script or a header: after a colon, the text up to the end of its quotes is masked, otherwise one word.
_BEHIND_NAME = re.compile(
    r"((?<![\w-])-{0,2}(?:%s)[\"']?\s*)(:[^\"']*|(?:=\s*|\s+)(?:\"[^\"]*\"|'[^']*'|[^\s\"']+))" % _SECRET,
    re.IGNORECASE)
_SET_IN_TEXT = re.compile(r"(?<![\w-])([A-Z_][A-Z0-9_]*)=(\"[^\"]*\"|'[^']*'|\S+)")


def masked_command(arguments, limit=LIMIT):
    """The arguments as a line of at most `limit` characters, `***` for secrets, the program without its directory."""
    words, hide = [], False
    for argument in arguments:
        # A process may have megabytes of arguments; only the first ones are shown.
        if sum(map(len, words)) > limit:
            break
        words.append(MASK if hide else _masked(argument[:limit * 10]))
        hide = _OPTION.match(argument[:limit]) is not None
    if words and " " not in words[0]:
        words[0] = words[0].rpartition("/")[2]
    line = " ".join(" ".join(words).split())
    return line if len(line) <= limit else line[:limit - 3] + "..."


def _masked(argument):
    assignment = _ASSIGNMENT.match(argument)
    if assignment and (_VARIABLE.match(assignment.group(1)) or _NAMED_SECRET.match(assignment.group(1))):
        return "%s=%s" % (assignment.group(1), MASK)
    if _JOINED.match(argument):
        return "-p" + MASK
    text = URL.sub(r"\1%s@" % MASK, argument)
    text = _BEHIND_NAME.sub(lambda match: "%s%s%s" % (match.group(1), match.group(2)[0], MASK), text)
    return _SET_IN_TEXT.sub(r"\1=%s" % MASK, text)
