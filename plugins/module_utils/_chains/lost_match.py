# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that in their canonical form carry a match, and here have none. PRIVATE to the collection.

An iptables of 1.8.7 prints rules of 1.8.9 without their marks and ports, and writes back what it printed. That the comment is still
there proves nothing. Built-in chains are not judged: anybody may want a bare rule there, and a native nft rule prints as one.
"""

from .match_table import FORMS, JUMP_FORMS, MARK_ARGUMENTS, MARKING, PORT_FORMS, SET_CHAINS
from .observation import observe
from .owners import OF_SERVICES
from .proxy import SERVICE_CHAIN
from .rules import port_ranges, uses
from .tables import BUILT_IN, readable
from .targets import VERDICTS

_HINT = {"nft": "; nft list table may show a match that this iptables-save cannot"}
_BALANCING = ("KUBE-SVC-", "KUBE-SVL-")


def ask_lost_match(rule_set, setting):
    """lost_match of one rule set, whatever runs here: whose chain it is decides what is canonical.

    A service chain that ends before its balancing is told as unexpected_drop, here because all chains are gone through only once.
    """
    return list(_lost(rule_set, setting))


def _lost(rule_set, setting):
    hint = _HINT.get(rule_set.backend, "")
    for name, table in readable(rule_set):
        # Chains that are folded as a whole have nothing to look at: nearly all of a big node.
        for chain in sorted([chain for chain, held in table.chains.items() if held.rules and chain not in BUILT_IN]):
            rules = table.chains[chain].rules
            if chain[:9] not in OF_SERVICES and not SERVICE_CHAIN.match(chain):
                kinds = _of_chain(name, chain, rules, setting)
            elif name == "nat" and chain.startswith(_BALANCING):
                kinds = _of_service(table.services, chain, rules, setting)
            else:
                continue
            for kind, rule, count, why in kinds:
                yield observe(kind, rule_set, name, chain, rule.text, count, why + hint)


def _of_chain(table, chain, rules, setting):
    """(kind, rule, how many like it, why) of a chain that is not of a single Service."""
    for rule, why in lost_rules(table, chain, rules):
        yield "lost_match", rule, 1, why
    if table == "nat" and chain in MARKING:
        for rule in rules:
            if rule.target == "MARK" and not any(rule.value(option) for option in MARK_ARGUMENTS):
                yield "lost_match", rule, 1, "the mark to set is missing"
    ports, jumps = _targets(PORT_FORMS, table, chain), _targets(JUMP_FORMS, table, chain)
    sets = table == "nat" and chain in SET_CHAINS and setting.mode == "ipvs"
    for why, alike in (
            ("the destination port is missing", [rule for rule in rules if _lacks_port(rule, ports)] if ports else ()),
            ("jumps to this chain never go without a match here", [rule for rule in rules if _is_bare_jump(rule, jumps)] if jumps else ()),
            ("the set it is for is missing", [rule for rule in rules if _lacks_set(rule)] if sets else ())):
        # A node has one such rule for each Service: the first stands for all.
        if alike:
            yield "lost_match", alike[0], len(alike), why


def _of_service(services, chain, rules, setting):
    """The same of a KUBE-SVC or KUBE-SVL chain."""
    masquerading = [rule for rule in rules if rule.target == "KUBE-MARK-MASQ" and not rule.has_match]
    if masquerading:
        yield "lost_match", masquerading[0], len(masquerading), "its rules to KUBE-MARK-MASQ always name address and port"
    ending = [(index, rule) for index, rule in enumerate(rules) if rule.target in VERDICTS and not rule.has_match]
    if not ending or setting.mode not in (None, "iptables"):
        return
    # Balancing stands behind all else that was folded. Without any it is a Local policy's chain up to 1.24 that refuses.
    index, first = ending[0]
    folded = chain in services.balancing and services.rules_in(chain) > first.folded_before
    if folded or any((rule.target or "").startswith("KUBE-SEP-") for rule in rules[index + 1:]):
        yield "unexpected_drop", first, len(ending), "ends the chain of a Service before its last endpoint"


def lost_rules(table, chain, rules):
    """[(rule, why)] of the rules of a chain that are told as lost matches because they are bare; one pass, however many there are."""
    forms = [form for form in FORMS if (form.tables is None or table in form.tables) and form.chain.match(chain)]
    added = _added(table, chain, rules)
    masquerades, returned = (table, chain) == ("nat", "KUBE-POSTROUTING"), False
    found, last = [], len(rules) - 1
    for index, rule in enumerate(rules):
        returned = returned or rule.target == "RETURN"
        if rule.has_match or rule.target is None:
            continue
        if masquerades and rule.target == "MASQUERADE":
            # Up to 1.18 it carries the mark; since then a RETURN for unmarked packets stands before it.
            if not returned:
                found.append((rule, "neither it nor a rule before it looks at the mark: all traffic is masqueraded"))
        elif rule.target not in added and any(rule.target in form.targets and not (form.inner and index == last) for form in forms):
            found.append((rule, "rules with this target never go without a match in this chain"))
    return found


def _added(table, chain, rules):
    """Targets of bare rules beside the canonical one: somebody added them, no match was lost."""
    if (table, chain) == ("filter", "KUBE-SERVICES"):
        return ("DROP",)  # kube-proxy rejects there.
    if (table, chain) == ("filter", "KUBE-FORWARD") and any(rule.target == "DROP" and rule.has_match for rule in rules):
        return ("DROP",)
    return ()


def _targets(rows, table, chain):
    return [target for where, which, target in rows if where == table and which.match(chain)]


def _lacks_port(rule, targets):
    """True for a rule that has to name a port and does not; one with matches of another sort is somebody else's."""
    return (rule.has_match and rule.target is not None and any(target.match(rule.target) for target in targets) and port_ranges(rule) is None
            and not any(uses(rule, name) for name in ("set", "mark", "addrtype", "conntrack")))


def _is_bare_jump(rule, targets):
    return not rule.has_match and rule.target is not None and any(target.match(rule.target) for target in targets)


def _lacks_set(rule):
    """True for what is left of a rule of ipvs mode: who is not masqueraded, or the protocol, but not for which addresses."""
    if rule.target != "KUBE-MARK-MASQ" or not rule.has_match or rule.matches:
        return False
    return all(negated or option == "-p" for option, (_value, negated) in rule.options.items())
