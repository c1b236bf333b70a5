# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule of `nft list table`, split into its conditions and its statements. PRIVATE to the collection.

Samples:
    iifname != "lo" ip daddr 10.96.0.0/12 tcp dport { 80, 443 } counter packets 0 bytes 0 drop
    ct state vmap { established : accept, invalid : drop }
    ip saddr . tcp dport @blocked log prefix "blocked: " reject with icmpx admin-prohibited
Grammar: nft(8). An unknown expression becomes a condition without a key: whether it holds is unknown.
"""

import collections
import re

# keys: ("ip daddr", "tcp dport"), empty where it was not understood. values: [(word for each key)], or the name of a
# set with @. The key "limit" stands for conditions that hold for some packets of any connection: rates, counts, flags.
Condition = collections.namedtuple("Condition", "keys negated values")
# action: accept, drop, reject, return, continue, jump, goto, dnat, redirect, notrack, queue, mark, vmap. argument:
# chain, expression, or the (keys, [(values, verdict, chain)] or the name of a map) of vmap.
Statement = collections.namedtuple("Statement", "action argument")
Rule = collections.namedtuple("Rule", "conditions statement text")

_NAME = r'"[^"]*"|[^\s,{}"]+'
_KEY = (r"fib [sd]addr(?: \. \w+)* "
        r"\w+|(?:ip6?|tcp|udp|udplite|sctp|dccp|th|meta|ct|icmp|icmpv6|igmp|ether|arp|vlan|rt|ah|esp|socket) [\w-]+"
        r"|exthdr \w+|iifname|oifname|iifgroup|oifgroup|iiftype|oiftype|iif|oif|mark|skuid|skgid|pkttype")
_KEYS = r"(?P<keys>(?:%s)(?: \. (?:%s))*)" % (_KEY, _KEY)
_CONDITION = re.compile(
    _KEYS + r"(?P<mask> (?:&|and) [^\s{}]+)?(?P<mark> (?:==|!=|<=|>=|<|>))? (?P<values>@\S+|\{ "
            r"[^{}]*\}|(?:%s)(?:,(?:%s))*)" % (_NAME, _NAME))
_MAP = re.compile(_KEYS + r" vmap (?P<values>@\S+|\{ [^{}]*\})")
_PASSED_OVER = re.compile(
    r'(?:counter(?: packets \d+ bytes \d+| name \S+)?|comment "[^"]*"|log(?: prefix "[^"]*"| level \w+| flags \w+| '
    r'group \d+| snaplen \d+)*|(?:ct|meta) (?!mark)\w+ set \S+|ct mark set (?:meta )?(?:mark|\S+)(?: (?:&|\||\^|and|or|'
    r'xor) \S+)*|flow (?:add|offload) \S+|tcp option maxseg size set \S+|(?:add|update) @\S+ \{[^{}]*\})(?= |$)')
_LIMIT = re.compile(r"(?:limit rate|ct count|meter|quota|tcp flags) .*?(?= "
                    r"(?:accept|drop|reject|return|jump|goto|counter|log|comment)|$)")
_MARK = re.compile(r"(?:meta )?mark set (.+?)(?= (?:accept|drop|return|counter|log|comment|jump|goto|masquerade|ct "
                   r"mark)|$)")
_ACTION = re.compile(r"(accept|drop|return|continue|notrack|queue|reject|dnat|redirect|snat|masquerade|jump|goto)(?: "
                     r"(.*))?$")
_BLOCK = re.compile(r"^\{ (.*) \}$")


def parse_rule(text):
    """[Rule] of one line: one for each statement that has an effect."""
    rest, conditions, rules = text.strip(), [], []
    while rest:
        passed, limit, mark, mapped, action = (form.match(rest)
                                               for form in (_PASSED_OVER, _LIMIT, _MARK, _MAP, _ACTION))
        if passed:
            end = passed.end()
        elif limit:
            conditions, end = conditions + [Condition(("limit",), False, [])], limit.end()
        elif mark:
            rules.append(Rule(conditions, Statement("mark", mark.group(1)), text))
            end = mark.end()
        elif mapped:
            rules.append(Rule(conditions, Statement("vmap", (_keys(mapped), _elements(mapped.group("values")))), text))
            end = mapped.end()
        elif action:
            rules.append(Rule(conditions, Statement(action.group(1), (action.group(2) or "").split(" ")[0]), text))
            end = len(rest)
        else:
            found = _CONDITION.match(rest)
            if found:
                conditions, end = conditions + [_condition(found)], found.end()
            else:
                conditions, end = conditions + [Condition((), False, [])], len(rest.split(" ", 1)[0])
        rest = rest[end:].strip()
    return rules


def _keys(found):
    return tuple(key[5:] if key.startswith("meta ") else key
                 for key in re.split(r" \. (?!(?:iif|oif|mark|saddr|daddr)\b(?! ?name))", found.group("keys")))


def _condition(found):
    if found.group("mask") or (found.group("mark") or "").strip() in ("<", ">", "<=", ">="):
        return Condition((), False, [])
    return Condition(_keys(found), "!=" in (found.group("mark") or ""), _values(found.group("values")))


def _values(text):
    if text.startswith("@"):
        return text
    block = _BLOCK.match(text)
    return [tuple(word.strip('"') for word in part.strip().split(" . "))
            for part in (block.group(1).split(",") if block else text.split(","))]


def _elements(text):
    if text.startswith("@"):
        return text
    rows = []
    for part in _BLOCK.match(text).group(1).split(","):
        key, _colon, verdict = part.strip().partition(" : ")
        words = verdict.split(" ")
        rows.append((tuple(word.strip('"') for word in key.split(" . ")), words[0], words[1] if words[1:] else None))
    return rows
