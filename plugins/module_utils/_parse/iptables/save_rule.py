# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rule as iptables-save prints it. PRIVATE to the collection.

Sample:
    -A KUBE-SVC-A ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m comment --comment "a/b:c -> d" -m tcp --dport 80 -j
    KUBE-MARK-MASQ
Grammar: iptables/xshared.c save_rule_details() and the save functions of extensions/. A value is quoted unless it is
made of safe characters; a backslash escapes `"`, `\\` and `'` inside the quotes (libxtables/xtables.c
xtables_save_string()).
"""

import re

# iptables-restore takes 255 words a rule (iptables/xshared.h MAX_ARGC).
WORDS_LIMIT = 400
_WORD = re.compile(r"[^ \t]+")
_TOKEN = re.compile(r'(?<![^ \t])(?:"(?:[^"\\]|\\.)*"|[^ \t"]+)(?![^ \t])', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")
# The counters that iptables-save -c prints before a rule. They are not part of the rule.
COUNTERS = re.compile(r"^\[\d{1,20}:\d{1,20}\] (?=-A )", re.MULTILINE)
_BASIC = ("-s", "-d", "-i", "-o", "-p", "-f")
# Options with exactly one value, whatever it looks like: a text of safe characters is never quoted, even if it
# begins like an option.
_WITH_VALUE = ("-m", "-j", "-g", "-s", "-d", "-i", "-o", "-p",
               "--comment", "--log-prefix", "--nflog-prefix", "--ulog-prefix", "--string", "--name")
# With these matches the second copy of a rule has an effect: it counts, draws a random number or limits again.
_COUNTING = frozenset(("connlimit", "hashlimit", "limit", "nfacct", "quota", "quota2", "rateest", "recent",
                       "statistic"))


class Words:
    """The parts of a rule; see Rule for the fields."""

    __slots__ = ("chain", "options", "matches", "comment", "target", "goto", "arguments")

    def __init__(self, chain):
        self.chain, self.options, self.matches = chain, {}, []
        self.comment = self.target = None
        self.goto, self.arguments = False, []


def tokens(text):
    """Words of a rule, quotes kept; None where a quote is not closed or a quoted word is not followed by a blank."""
    if '"' not in text:
        return _WORD.findall(text)
    # Only blanks may remain outside of the words.
    return _TOKEN.findall(text) if not _TOKEN.sub("", text).strip(" \t") else None


def plain(token):
    """A word without its quotes and escapes."""
    if token.startswith('"'):
        token = token[1:-1]
        return _ESCAPE.sub(r"\1", token) if "\\" in token else token
    return token


def is_open(text):
    """True if a quote is still open at the end."""
    return '"' in text and (_ESCAPE.sub("", text) if "\\" in text else text).count('"') % 2 == 1


def is_rule(text):
    """True for a rule line that can be read, with or without counters."""
    return read_rule(COUNTERS.sub("", text, 1)) is not None


def read_rule(text):
    """`Words` of a rule, or None where it cannot be read."""
    words = tokens(text)
    # The name of a chain is printed as it is, and does not look like an option.
    if not words or not 2 <= len(words) <= WORDS_LIMIT or words[0] != "-A" or words[1][0] in '-!"':
        return None
    reading = _Reading(Words(words[1]))
    index = 2
    while index < len(words):
        index = reading.take(words, index)
        if index is None:
            return None
    return None if reading.negated else reading.rule


def repeats_with_reason(words):
    """True for `Words` (None: unreadable) whose second copy has an effect of its own; one without a target counts."""
    return words is None or words.target is None or any(match in _COUNTING for match, _options in words.matches)


class _Reading:
    """Takes the words of one rule one option at a time."""

    def __init__(self, rule):
        self.rule = rule
        self.place = None       # the options of the match or target that is being read
        self.values = None      # where further values belong
        self.negated = False    # a "!" stands before the next option

    def take(self, words, index):
        """Index after the option or value at `index`, or None if the word is not allowed there."""
        word = words[index]
        if word == "!":
            self.negated = True
            return index + 1
        if not (len(word) > 1 and word[0] == "-" and not word[1].isdigit()):
            return self._more_values(plain(word), index)
        if word not in _WITH_VALUE:
            return self._option(word, [], index + 1)
        # Up to 1.4.2 the `!` followed the option: -s ! 10.0.0.0/8.
        if index + 1 < len(words) and words[index + 1] == "!":
            self.negated, index = True, index + 1
        return self._option(word, [plain(words[index + 1])], index + 2) if index + 1 < len(words) else None

    def _more_values(self, value, index):
        if self.values is None:
            return None
        if self.negated:
            option, values, _negated = self.place[-1]
            self.place[-1] = (option, values, True)
            self.negated = False
        self.values.append(value)
        return index + 1

    def _option(self, word, values, index):
        rule, negated = self.rule, self.negated
        if word in ("-m", "-j", "-g"):
            if negated or not values[0] or (word != "-m" and rule.target is not None):
                return None
            self.place, self.values = (rule.arguments, None) if word != "-m" else ([], None)
            if word != "-m":
                rule.target, rule.goto = values[0], word == "-g"
            elif values[0] != "comment":
                rule.matches.append((values[0], self.place))
            return index
        self.negated = False
        if word in _BASIC and rule.target is None:
            rule.options[word] = (values[0] if values else "", negated)
            self.values = None
        elif word == "--comment" and rule.target is None:
            rule.comment = values[0] if rule.comment is None else rule.comment
            self.values = None
        else:
            if self.place is None:
                # An option of the protocol's own match, where its -m is not printed.
                self.place = []
                rule.matches.append((rule.options.get("-p", ("", False))[0], self.place))
            self.place.append((word, values, negated))
            self.values = values
        return index
