# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masks the secrets in a line of a file. PRIVATE to the collection.

It masks values after a name like token, password or key, credentials of a URL or of curl, and passwords given to mysql
and sshpass. It shows all other text: rules, sysctls, numbers, paths, and commands.

Masks the secrets in a command line and shortens it for display.

Everything that looks like a secret is masked: values of options and headers with such a name, credentials of a URL, and
every value of an environment variable. In doubt, more than necessary is masked.

Masks the secrets in a command of a script.

Any word of a script may be a secret, so only safe words are shown: a tool of the firewall or of services with its
arguments, words that start another program (`sudo`, `exec`), names of programs, and keywords of the shell. All other
words are shown as `...`.
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


COMMAND_LINE_LIMIT = 120

_SECRET_NAME = r"[\w.-]*(?:%s)[\w.-]*" % NAMES
_SECRET_OPTION = re.compile(r"-{1,2}%s\Z|-[pP]\Z" % _SECRET_NAME, re.IGNORECASE)
_JOINED = re.compile(r"-p(?!-)[^=]+\Z")
_NAME_AND_EQUALS = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*)=")
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_NAMED_SECRET = re.compile(r"-{0,2}%s\Z" % _SECRET_NAME, re.IGNORECASE)
# Inside a script or a header: after a colon, the text up to the end of its quotes is masked, otherwise one word.
_BEHIND_NAME = re.compile(
    r"((?<![\w-])-{0,2}(?:%s)[\"']?\s*)(:[^\"']*|(?:=\s*|\s+)(?:\"[^\"]*\"|'[^']*'|[^\s\"']+))" % _SECRET_NAME,
    re.IGNORECASE)
_SET_IN_TEXT = re.compile(r"(?<![\w-])([A-Z_][A-Z0-9_]*)=(\"[^\"]*\"|'[^']*'|\S+)")


def masked_command(arguments, limit=COMMAND_LINE_LIMIT):
    """The arguments as a line of at most `limit` characters, `***` for secrets, the program without its directory."""
    words, hide = [], False
    for argument in arguments:
        # A process may have megabytes of arguments; only the first ones are shown.
        if sum(map(len, words)) > limit:
            break
        words.append(MASK if hide else _masked(argument[:limit * 10]))
        hide = _SECRET_OPTION.match(argument[:limit]) is not None
    if words and " " not in words[0]:
        words[0] = words[0].rpartition("/")[2]
    line = " ".join(" ".join(words).split())
    return line if len(line) <= limit else line[:limit - 3] + "..."


def _masked(argument):
    assignment = _NAME_AND_EQUALS.match(argument)
    if assignment and (_VARIABLE_NAME.match(assignment.group(1)) or _NAMED_SECRET.match(assignment.group(1))):
        return "%s=%s" % (assignment.group(1), MASK)
    if _JOINED.match(argument):
        return "-p" + MASK
    text = URL.sub(r"\1%s@" % MASK, argument)
    text = _BEHIND_NAME.sub(lambda match: "%s%s%s" % (match.group(1), match.group(2)[0], MASK), text)
    return _SET_IN_TEXT.sub(r"\1=%s" % MASK, text)


COMMAND_TEXT_LIMIT = 200
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


def masked_text(command, limit=COMMAND_TEXT_LIMIT):
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
