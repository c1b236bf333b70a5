# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of nft as neutral rules. PRIVATE to the collection."""

import re

from ..._parse.nft.statements import Condition as Expression, Statement, parse_rule
from .rule import CONTINUE, END, GOTO, JUMP, PROTOCOLS, RETURN, UNKNOWN, Condition, carries_pods, rule_of, span_of

# A set with more values is not judged.
VALUES_LIMIT = 1000
# Sources of pods that are tried.
SOURCES_LIMIT = 100
_VERDICTS = {"jump": JUMP, "goto": GOTO, "return": RETURN, "continue": CONTINUE, "mark": CONTINUE, "notrack": CONTINUE}
_INTERFACES = ("iifname", "oifname", "iif", "oif")
# Network cards, by the names that the kernel and systemd give; eni is a prefix of the interfaces of pods on AWS.
_CARD = re.compile(r"(?:eth|em|bond|wlan)\d|en(?:[osx]|p\d)")
_TRANSPORTS = ("tcp", "udp", "udplite", "sctp", "dccp")
_OTHER_PROTOCOLS = ("icmp", "icmpv6", "igmp", "arp", "vlan", "rt", "ah", "esp", "exthdr")
_FAMILIES = {"ipv4": "ip", "ipv6": "ip6"}


class NftRules:
    """The neutral rules of the chains of one table, a listing.Table, made when they are asked for.

    `sources`: {family: [address of a pod as text]}. `routed`: see carries_pods(). `note(text)` is called where a chain
    has more rules than were read. `between_pods`: all packets are of pods to pods, of which this node has one.
    """

    def __init__(self, table, sources, routed, note, between_pods=False):
        self._table, self._sources, self._routed, self._note = table, sources, routed, note
        self._parsed, self._made, self._between_pods = {}, {}, between_pods

    def parsed(self, chain):
        """The rules of a listing.Chain as nft prints them, [statements.Rule]."""
        if chain.name not in self._parsed:
            self._parsed[chain.name] = [rule for text in chain.texts for rule in parse_rule(text)]
            if _is_cut(chain):
                self._note("chain %s has too many rules to read" % chain.name)
        return self._parsed[chain.name]

    def rules_of(self, name):
        """[Rule] of a chain, none of one that does not exist."""
        if name not in self._made:
            chain = self._table.chains.get(name)
            self._made[name] = [] if chain is None else [
                self._neutral(rule) for packed in self.parsed(chain) for rule in self._expanded(packed)]
            if chain is not None and _is_cut(chain):
                # Any of the rules that were not read may end the packet.
                self._made[name].append(rule_of([UNKNOWN], END, None))
        return self._made[name]

    def _expanded(self, rule):
        """A verdict map as one rule for each of its elements."""
        if rule.statement.action != "vmap":
            return [rule]
        keys, elements = rule.statement.argument
        if isinstance(elements, str):
            held = self._table.sets.get(elements[1:])
            elements = [(element.key, element.verdict, element.target)
                        for element in held.elements] if held is not None else []
        return [rule._replace(conditions=rule.conditions + [Expression(keys, False, [words])],
                              statement=Statement(verdict, target or "")) for words, verdict, target in elements]

    def _neutral(self, rule):
        conditions = [made for expression in rule.conditions for made in self._conditions(expression)]
        cards = {key for expression in rule.conditions for key in expression.keys if _is_of_cards(expression)}
        if self._between_pods and len({key[:3] for key in cards}) == 2:
            conditions.append(Condition(("fixed",), False, [(False,)]))
        return rule_of(conditions, _VERDICTS.get(rule.statement.action, END), rule, rule.statement.argument)

    def _conditions(self, expression):
        """The conditions of an expression: what its keys presuppose, which no `!=` negates, and the expression."""
        if not expression.keys:
            return [UNKNOWN]
        if expression.keys[0] == "limit":
            return [Condition(("rate",), False, [(True,)])]
        firsts = [key.partition(" ")[0] for key in expression.keys]
        found = [Condition(("family",), False, [(first,)]) for first in firsts if first in ("ip", "ip6")]
        found += [Condition(("protocol",), False, [(first,)]) for first in firsts if first in _TRANSPORTS]
        if set(firsts) & set(_OTHER_PROTOCOLS):
            return [Condition(("fixed",), False, [(False,)])]
        fields = tuple(map(_field, expression.keys))
        values = self._values(expression)
        if values is None:
            return found + [UNKNOWN]
        return found + [Condition(fields, expression.negated, [self._value(fields, expression.keys, words)
                                                               for words in values])]

    def _values(self, expression):
        if not isinstance(expression.values, str):
            return expression.values
        held = self._table.sets.get(expression.values[1:])
        if held is None or not held.complete:
            return None
        values = [element.key for element in held.elements]
        if len(values) > VALUES_LIMIT and expression.keys in (("ip saddr",), ("ip6 saddr",)):
            # A list of addresses to refuse: only the single addresses that are among the sources are kept.
            sources = set(self._sources[expression.keys[0].split(" ")[0]])
            values = [words for words in values if "/" in words[0] or "-" in words[0] or words[0] in sources]
        return values if len(values) <= VALUES_LIMIT else None

    def _value(self, fields, keys, words):
        if len(fields) != len(words):
            return (None,) * len(fields)
        return tuple(self._word(field, key, word) for field, key, word in zip(fields, keys, words))

    def _word(self, field, key, word):
        if field in ("source", "destination"):
            return span_of(word)
        if field == "port":
            return _ports(word)
        if field == "interface":
            return carries_pods(word, self._routed)
        if field == "protocol":
            return PROTOCOLS.get(word, word)
        if field == "family":
            return _FAMILIES.get(word, word)
        if key == "ct status":
            return "DNAT" if word == "dnat" else None
        if key == "ct direction":
            return word == "original"
        if field == "fixed":
            # No packet of a Service goes to many.
            return False if word in ("broadcast", "multicast") else None
        return word.upper()


def _is_of_cards(expression):
    """Whether a packet has to come in or go out on a network card, behind which no pod of this node is."""
    return (len(expression.keys) == 1 and expression.keys[0] in _INTERFACES and not expression.negated
            and not isinstance(expression.values, str)
            and all(_CARD.match(word) for words in expression.values for word in words))


def _is_cut(chain):
    return chain.rules is None or chain.rules > len(chain.texts)


def _field(key):
    first, _space, last = key.partition(" ")
    if key in _INTERFACES:
        return "interface"
    if first in ("ip", "ip6") and last in ("saddr", "daddr"):
        return "source" if last == "saddr" else "destination"
    if last in ("dport", "sport") and first in _TRANSPORTS + ("th",):
        return "port" if last == "dport" else "source port"
    if key in ("l4proto", "ip protocol", "ip6 nexthdr"):
        return "protocol"
    if key in ("nfproto", "protocol"):
        return "family"
    if key in ("ct state", "ct status"):
        return "state"
    if first == "fib" and last.startswith("daddr") and last.endswith(" type"):
        return "destination type"
    return "fixed" if key in ("ct direction", "pkttype") else "unknown"


def _ports(word):
    """(first, last) of `80` or `80-90`; None for any other text."""
    first, _dash, last = word.partition("-")
    if not first.isdigit() or (last and not last.isdigit()):
        return None
    return int(first), int(last or first)
