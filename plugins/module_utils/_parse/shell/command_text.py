# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masks the secrets in a command of a script. PRIVATE to the collection.

Any word of a script may be a secret, so only safe words are shown: a tool of the firewall or of services with its
arguments, words that start another program (`sudo`, `exec`), names of programs, and keywords of the shell. All other
words are shown as `...`.
"""

import re

from ..secrets import MASK
from .command_line import masked_command

LIMIT = 200
REST = "..."
# Divides a text into pieces; a brace divides only where it is a word (ip{,6}tables is one word), quotes only where they
# hold more than one word.
_DIVIDER = re.compile(r"""(\|\|?|&&?|;;?|\$?\(|\)|`|(?<!\S)[{}](?=[\s;])|\\?["'](?:\\?["'])*)""")
_ONE_WORD = re.compile(r"""(?<![^\s(=])(["'])([^\s"'|&;()`\\]*)\1(?![^\s);=])""")
# Placeholders for the quotes of such a word.
_QUOTES = ("\ue000", "\ue001")
_QUOTES_IN_TEXT = re.compile("[%s]" % "".join(_QUOTES))
_TOOL = re.compile(
    r"(?:\S*/)?(?:(?:ip|ip6|arp|eb|x|ip\{\S*\})tables(?:-[\w-]+)?|nft|ipset|ipvsadm(?:-\w+)?|systemctl|service|"
    r"rc-service|invoke-rc\.d|ufw|firewall-cmd|netfilter-persistent|modprobe|rmmod|update-alternatives|kube-proxy|"
    r"ip6?tables\.init|conntrack)\Z|\$\{?\w*(?:ipt|tables|nft)\w*\}?[\w-]*\Z",
    re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\})\Z")
_PLAIN = re.compile(r"\[?[\w./-]{1,60}\]?\Z")
_OPTION = re.compile(r"-{1,2}[A-Za-z][A-Za-z-]*\Z|\d{1,4}[smh]?\Z")
_SHOWN = frozenset(
    "! [ [[ : do done elif else esac exec export fi for function if in local not set then time until while nat filter "
    "mangle raw security ipv4 ipv6 sudo doas env nice ionice chrt nohup setsid timeout flock command builtin eval "
    "xargs nsenter ip netns su runuser -c sh bash dash ksh zsh iptables ip6tables nft KUBE cali true false".split())
# Filters in a pipeline, whose arguments are patterns and files.
_FILTERS = frozenset("grep egrep fgrep".split())
_NFT = re.compile(r"(?:^|[\s/])nft(?:\s+-[a-z]+)*\s+\Z")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*\+?=)(?:\S.*)?\Z")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_HERE = re.compile(r"(<<-?\s*(?!<)[\"'\\]?\w+[\"']?) .*|(<<<)\s*.*")
_COMMENT_OPTION = re.compile(r"(--comment[\s=]+)(?:\"[^\"]*\"?|'[^']*'?|\S+)")


def masked_text(command, limit=LIMIT):
    """The command on one line of at most `limit` characters, without secrets and possible secrets."""
    text = " ".join(_QUOTES_IN_TEXT.sub("", _COMMENT.sub("", command[:limit * 20])).split())
    text = _HERE.sub(lambda found: "%s %s" % (found.group(1) or found.group(2), REST),
                     _COMMENT_OPTION.sub(r"\1%s" % MASK, text))
    text = _ONE_WORD.sub(lambda found: _QUOTES[found.group(1) == "'"] + found.group(2) + _QUOTES[found.group(1) == "'"],
                         text)
    pieces, starts, shown = _DIVIDER.split(text), True, []
    for number, piece in enumerate(pieces):
        if number % 2:
            # A quoted text is a command only where it is an argument of a shell.
            starts = piece[-1] not in "\"'" or bool(re.search(r"-[a-z]*c\s*\Z", pieces[number - 1]))
            shown.append(piece)
        else:
            # The commands for nft are one quoted word.
            shown.append(piece if number and pieces[number - 1][-1] in "\"'" and _NFT.search(pieces[number - 2]) else
                         _piece(piece, starts, len(pieces) == 1))
    line = " ".join("".join(shown).replace(_QUOTES[0], '"').replace(_QUOTES[1], "'").split())
    # The blank keeps the first word from being read as a lone assignment.
    return masked_command([" " + line], limit)


def _piece(piece, starts, alone=False):
    """The visible form of the words between two dividers; `starts`: a command begins there; `alone`: as a whole."""
    words = piece.split()
    if not words:
        return piece
    bare = [word.strip("".join(_QUOTES)) for word in words]
    tool = next((number for number, word in enumerate(bare) if _TOOL.match(word)), len(words))
    if alone and _VARIABLE.match(bare[0]):
        # The command was found because the value of its variable is a tool of the firewall.
        tool = 0
    before = [_word(word, starts and not number) for number, word in enumerate(words[:tool])]
    if starts and tool == len(words) and words[0] in _FILTERS:
        before = words
    done = []
    for word in before + words[tool:]:
        if word != REST or done[-1:] != [REST]:
            done.append(word)
    return piece[:len(piece) - len(piece.lstrip())] + " ".join(done) + piece[len(piece.rstrip()):]


def _word(word, first):
    assignment = _ASSIGNMENT.match(word)
    if assignment:
        return assignment.group(1) + (MASK if len(word) > assignment.end(1) else "")
    return word if word in _SHOWN or _OPTION.match(word) or (first and _PLAIN.match(word)) else REST
