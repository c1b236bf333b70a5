# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an iptables, iptables-restore or iptables-apply command does to others' chains. PRIVATE to the collection.

Options: iptables/xshared.c (optstring, long options; getopt_long accepts any prefix of a long option),
iptables-restore.c. A chain or table may follow its option with or without a blank: `-tnat`, `-FINPUT`.
"""

import re

from ..._rules.others.owners import CNI, KUBERNETES, owner_of
from ..._rules.tables import BUILT_IN
from ..effect import CERTAIN, CONFIDENCES, EVERY, LIKELY, POSSIBLE
from ..values import DELETES, FEWER_RULES, FILE, MARK, OWN_RULES, RULES, TABLES

_LONG = {"flush": "F", "delete-chain": "X", "policy": "P", "delete": "D", "replace": "R", "rename-chain": "E",
         "append": "A", "insert": "I", "check": "C", "list": "L", "list-rules": "S", "new-chain": "N", "zero": "Z",
         "help": "h", "version": "V", "table": "t", "jump": "j", "goto": "g", "source": "s", "destination": "d",
         "protocol": "p", "match": "m", "wait": "w", "in-interface": "i", "out-interface": "o", "modprobe": "M"}
_WITH_VALUE, _MAYBE_VALUE = frozenset("ACDRIENPopsdjitmgcM"), frozenset("FXLSZ")
_HARMLESS = frozenset("AICLSNZhV")
_SORTS = {"F": "flush", "X": "delete", "D": "delete", "R": "delete", "E": "delete", "P": "policy"}
_RESTORED_TABLE = re.compile(r"(?m)^[ \t]*\*([\w-]+)")
_DECLARED = re.compile(r"(?m)^[ \t]*(?::|-F[ \t]+)(\S+)")
_RULE_COMMAND = re.compile(r"-[AIC]\Z|--(?:append|insert|check)\Z")


def run_iptables(walker, node, arguments, families, action, confidence):
    """Record what `ip[6]tables[-ACTION] arguments` does."""
    if action in ("restore", "apply"):
        _restore(walker, node, arguments, families, confidence, action == "apply")
    elif action == "save":
        walker.findings.sequence.prints(families)
        for option, path in zip(arguments, arguments[1:]):
            if option in ("-f", "--file"):
                walker.write(node, path, RULES)
    else:
        options = _options(arguments)
        if options[0] == "C":
            walker.checked = _rule_of(arguments)
        if options[0] in ("A", "I"):
            walker.findings.added = max(walker.findings.added, walker.findings.span(node)[0])
            # A rule that is checked (-C) before it is added is not added twice.
            if walker.checked is None or walker.checked != _rule_of(arguments):
                walker.findings.sequence.appends(families)
        found = _judge(options, arguments)
        if found:
            sort, tables, chains, sure = found
            walker.effect(node, sort, families=families, tables=tables, chains=chains,
                          confidence=max(sure, confidence, key=CONFIDENCES.index))


def _judge(options, arguments):
    """(sort, tables, chains, confidence) of the rules that an iptables command removes from other programs, or None."""
    command, chain, table, target, policy = options
    tables, sure = ((table,), CERTAIN) if MARK not in table else (EVERY, CERTAIN if table == TABLES else LIKELY)
    if DELETES in arguments and not command:
        return "delete", tables, EVERY, LIKELY
    if command not in _SORTS:
        return None
    if command == "P":
        if not (chain == "FORWARD" or MARK in chain) or not (policy == "DROP" or MARK in policy):
            return None
        sure = sure if MARK not in chain + policy else LIKELY if policy == "DROP" else POSSIBLE
        return "policy", tables, (chain,) if MARK not in chain else EVERY, sure
    if not chain:
        return (_SORTS[command], tables, EVERY, sure) if command in "FX" else None
    if MARK in chain:
        chains, more = _unknown_chain(chain, table) if command in "FX" else (None, sure)
        return (_SORTS[command], tables, chains, max(sure, more, key=CONFIDENCES.index)) if chains else None
    if command == "F" and chain in BUILT_IN or _is_others(chain, table) or command == "D" and _is_others(target, table):
        return _SORTS[command], tables, (chain,), sure
    return None


def _rule_of(arguments):
    """The words of a rule without the command and without the rule number of an insert command."""
    return [word for word in arguments if not _RULE_COMMAND.match(word) and not word.isdigit()]


def _is_others(chain, table):
    return owner_of(chain, table) in KUBERNETES + CNI


def _unknown_chain(chain, table):
    """(chains, confidence) for a chain of which only a part of the name, or only the source of the name, is known."""
    if chain in (RULES, FEWER_RULES):
        return EVERY, LIKELY
    if chain == OWN_RULES:
        return None, CERTAIN
    known = chain.partition(MARK)[0]
    if not known:
        return EVERY, POSSIBLE
    return ((known + "*",) if _is_others(known, table) else None), LIKELY


def _options(arguments):
    """(letter of the command, its chain, the table, the target, the policy)."""
    command, chain, table, target, policy, words = "", "", "filter", "", "", list(arguments)
    number = 0
    while number < len(words):
        word = words[number]
        number += 1
        letter, value = "", None
        if word.startswith("--") and len(word) > 3:
            name, equals, value = word[2:].partition("=")
            letter = _LONG.get(name) or next((_LONG[one] for one in sorted(_LONG) if one.startswith(name)), "")
            value = value if equals else None
        elif word.startswith("-") and len(word) > 1:
            place = 1
            while place < len(word) and word[place] not in _WITH_VALUE and word[place] not in _MAYBE_VALUE:
                place += 1
            letter, value = word[place:place + 1], word[place + 1:] or None
        if letter in _WITH_VALUE and value is None and number < len(words):
            value, number = words[number], number + 1
        elif letter in _MAYBE_VALUE and value is None and number < len(words) and words[number][:1] not in ("-", "!"):
            value, number = words[number], number + 1
        if letter in _HARMLESS and not command:
            return letter, "", table, "", ""
        if letter == "t":
            table = value or table
        elif letter in ("j", "g"):
            target = value or ""
        elif letter in _SORTS and not command:
            command, chain = letter, value or ""
            policy = words[number] if letter == "P" and number < len(words) else ""
    return command, chain, table, target, policy


def _restore(walker, node, arguments, families, confidence, applies):
    operands, table, number = [], None, 0
    while number < len(arguments):
        word = arguments[number]
        number += 1
        if (word in ("-h", "-V") or word.startswith("--")
                and any(one.startswith(word[2:]) for one in ("test", "help", "version")) and len(word) > 3):
            return
        if re.match(r"-[a-zA-Z]*t", word) and not word.startswith("--") and not applies:
            return
        if word in ("-T", "--table", "-M",
                    "--modprobe") or applies and word in ("-t", "--timeout", "-c", "--command", "-w", "--write"):
            table = arguments[number] if word in ("-T", "--table") and number < len(arguments) else table
            number += 1
        elif word in ("-w", "--wait", "-W", "--wait-interval"):
            number += 1 if number < len(arguments) and arguments[number].isdigit() else 0
        elif not word.startswith("-"):
            operands.append(word)
    noflush = not applies and any(re.match(r"-[a-zA-Z]*n|--nof", word) for word in arguments)
    text = walker.text_of_file(operands[0] if operands else "-")
    _tell_restore(walker, node, text, table, families, confidence, noflush, not operands)


def _tell_restore(walker, node, text, table, families, confidence, noflush, piped):
    tables = tuple(dict.fromkeys(_RESTORED_TABLE.findall(text)))
    file = next(iter(FILE.findall(text)), None)
    chains, comes_back = EVERY, "replaced"
    if RULES in text:
        comes_back = "saved"
    elif FEWER_RULES in text or OWN_RULES in text:
        comes_back = "no"
    elif MARK in text and not file and not tables:
        confidence, comes_back = max(confidence, LIKELY, key=CONFIDENCES.index), "unknown"
    elif MARK not in text and not tables:
        return  # Empty input.
    if noflush:
        chains = tuple(chain for chain in dict.fromkeys(_DECLARED.findall(text)) if _is_others(chain, None))
        if not chains:
            return
    if table and MARK not in table:
        tables = (table,)
    elif not tables:
        tables = EVERY
    walker.effect(node, "restore", piped, confidence, families=families, tables=tables, chains=chains, file=file,
                  comes_back=comes_back)
