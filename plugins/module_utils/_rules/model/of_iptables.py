# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of iptables as neutral rules. PRIVATE to the collection."""

import itertools

from ..others.owners import KUBERNETES, POLICIES, owner_of
from ..rules import TERMINAL, states
from ..tables import BUILT_IN, rules_behind
from .rule import END, GOTO, JUMP, PROTOCOLS, RETURN, UNKNOWN, Condition, carries_pods, rule_of, span_of
from .walk import TooMuch, Walk

# The rules of a chain beyond these are not judged, and no more tests of a rule are made for each packet.
RULES_LIMIT = 20000
_DESTINATION_PORTS = ("--dport", "--dports", "--destination-port", "--destination-ports")
# Of the longest range, 65535:65535.
_PORTS_LENGTH = 11
_FIRST_SEGMENT = ["FIN,SYN,RST,ACK", "SYN"]


def conditions_of(rule):
    """The conditions of a rule."""
    found = [_of_option(option, value, negated) for option, (value, negated) in rule.options.items()]
    for match, options in rule.matches:
        if not options:
            found.append(Condition(("extension",), False, [(match,)]))
        found += [_of_match(match, option, values, negated) for option, values, negated in options]
    return found


def _of_option(option, value, negated):
    if option in ("-s", "-d"):
        return _one("source" if option == "-s" else "destination", negated, span_of(value))
    if option == "-p":
        return _one("protocol", negated, PROTOCOLS.get(value, value))
    if option in ("-i", "-o"):
        return _one("interface", negated, carries_pods(value))
    # The first packet of a connection is no fragment.
    return _one("fixed", negated, False) if option == "-f" else UNKNOWN


def _of_match(match, option, values, negated):
    first, listed = values[0] if values else "", [text for value in values for text in value.split(",")]
    if option in _DESTINATION_PORTS or option == "--ports":
        return _one("one port" if option == "--ports" else "port", negated, *map(_ports, listed or [""]))
    if match in ("conntrack", "state"):
        if option in ("--ctstate", "--state"):
            return _one("state", negated, *listed)
        if option == "--ctorigdst":
            return _one("original", negated, first)
        return _one("original port", negated, *map(_ports, listed)) if option == "--ctorigdstport" else UNKNOWN
    if match == "addrtype" and option in ("--src-type", "--dst-type"):
        return _one("source type" if option == "--src-type" else "destination type", negated, *listed)
    if match == "tcp" and option == "--tcp-flags" and values == _FIRST_SEGMENT:
        return _one("fixed", negated, True)
    if match in ("cgroup", "owner"):
        return _one("sender", negated, (option, first))
    return _one("mark", negated, tuple(values)) if match == "mark" and option == "--mark" else UNKNOWN


def _one(field, negated, *values):
    return Condition((field,), negated, [(value,) for value in values])


def _ports(text):
    """(first, last) of `80`, `80:90` or `80:`; None for any other text."""
    first, colon, last = text.partition(":")
    if len(text) > _PORTS_LENGTH or not first.isdigit() or (last and not last.isdigit()):
        return None
    return int(first), int(last or (65535 if colon else first))


class IptablesRules:
    """The neutral rules of the chains of one table, made when they are asked for.

    Rules with one of the targets `ends` are sought; those with a target that is not terminal only if `is_end` is true
    for them. A walk does not go beyond a jump to the chain `until`.
    """

    def __init__(self, table, ends, until=None, is_end=None):
        self._table, self._ends, self._until, self._is_end = table, ends, until, is_end
        self._made, self._accepting = {}, {}

    def walked(self, hook, packets):
        """({packet: the sought rule at which it certainly ends}, [packets that pass: the policy decides on them]).
        Packets that may be accepted before are in neither, nor are packets that are not predictable."""
        ends = {}
        walk = Walk(self._rules_of, packets, self._is_sought, lambda rule, _chain, sure, _perhaps: ends.update(
            (packet, rule.origin) for packet in sure), RULES_LIMIT * len(packets))
        try:
            return ends, walk.through(hook)[0]
        except TooMuch:
            return {}, []

    def _rules_of(self, chain):
        if chain not in self._made:
            self._made[chain] = list(self._rules(chain))
        return self._made[chain]

    def _is_sought(self, rule):
        return rule.verdict == END and rule.origin.target in self._ends

    def _rules(self, chain):
        rules = self._table.chains[chain].rules
        for rule in itertools.islice(rules, RULES_LIMIT):
            if self._until and rule.target == self._until:
                yield rule_of([UNKNOWN], END, rule)
                return
            if rule.target in self._table.chains:
                yield from self._of_jump(rule)
            elif rule.target == "RETURN":
                # In a built-in chain a RETURN leads to the policy of the chain.
                yield rule_of(conditions_of(rule), END if self._until and chain in BUILT_IN else RETURN, rule)
            elif rule.target in TERMINAL or (self._is_end and rule.target in self._ends and self._is_end(rule)):
                yield rule_of(conditions_of(rule), END, rule)
        if len(rules) > RULES_LIMIT:
            yield rule_of([UNKNOWN], END, rule)

    def _of_jump(self, rule):
        owner = owner_of(rule.target, self._table.name)
        if owner not in KUBERNETES and owner not in POLICIES:
            yield rule_of(conditions_of(rule), GOTO if rule.goto else JUMP, rule, rule.target)
        elif owner in POLICIES and self._may_accept(rule.target):
            yield rule_of(conditions_of(rule) + [UNKNOWN], END, rule)
        elif rule.goto:
            # kube-proxy and kubelet refuse for Services without endpoints, and accept replies and masqueraded packets.
            yield rule_of(conditions_of(rule), RETURN, rule)

    def _may_accept(self, name):
        """True if a rule of the chain, or of one it leads to, accepts more than replies."""
        if name not in self._accepting:
            self._accepting[name] = any(
                rule.target == "ACCEPT" and (not rule.has_match or not states(rule) or "NEW" in states(rule))
                for rule in rules_behind(self._table.chains, name))
        return self._accepting[name]
