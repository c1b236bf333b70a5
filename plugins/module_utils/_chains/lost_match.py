# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that in their canonical form carry a match, and here have none. PRIVATE to the collection.

An iptables of 1.8.7 prints rules of 1.8.9 without their marks and ports, and writes back what it printed. That the comment is still
there proves nothing. Built-in chains are not judged: anybody may want a bare rule there, and a native nft rule prints as one.
"""

from .match_table import FORMS, MARK_ARGUMENTS, MARKING, PORT_FORMS
from .observation import observe
from .proxy import SERVICE_CHAIN
from .rules import port_ranges, uses
from .tables import BUILT_IN, readable

_HINT = {"nft": "; nft list table may show a match that this iptables-save cannot"}


def ask_lost_match(rule_set, setting):
    """lost_match of one rule set, whatever runs here: whose chain it is decides what is canonical."""
    return list(_lost(rule_set))


def _lost(rule_set):
    for name, table in readable(rule_set):
        for chain in sorted(chain for chain in table.chains if chain not in BUILT_IN and not SERVICE_CHAIN.match(chain)):
            forms = forms_of(name, chain)
            ports = [target for where, which, target in PORT_FORMS if where == name and which.match(chain)]
            if not (forms or ports or chain in MARKING):
                continue
            hint = _HINT.get(rule_set.backend, "")
            rules = table.chains[chain].rules
            for index, rule in enumerate(rules):
                why = _why(name, chain, rules, index, forms) or _mark(name, chain, rule)
                if why:
                    yield observe("lost_match", rule_set, name, chain, rule.text, 1, why + hint)
            # A node has one such rule for each Service: the first stands for all.
            portless = [rule for rule in rules if _lacks_port(rule, ports)]
            if portless:
                yield observe("lost_match", rule_set, name, chain, portless[0].text, len(portless), "the destination port is missing" + hint)


def forms_of(table, chain):
    """The canonical forms that speak of a chain."""
    return [form for form in FORMS if (form.tables is None or table in form.tables) and form.chain.match(chain)]


def is_lost(table, chain, rules, index):
    """True if a rule of a chain is told as a lost match."""
    return _why(table, chain, rules, index, forms_of(table, chain)) is not None


def _why(table, chain, rules, index, forms):
    rule = rules[index]
    if rule.has_match or rule.target is None:
        return None
    if (table, chain, rule.target) == ("nat", "KUBE-POSTROUTING", "MASQUERADE"):
        # Up to 1.18 it carries the mark; since then a RETURN for unmarked packets stands before it.
        before = any(other.target == "RETURN" for other in rules[:index])
        return None if before else "neither it nor a rule before it looks at the mark: all traffic is masqueraded"
    if any(rule.target in form.targets and not (form.inner and index == len(rules) - 1) for form in forms):
        return None if _is_added(table, chain, rules, rule) else "rules with this target never go without a match in this chain"
    return None


def _is_added(table, chain, rules, rule):
    """True for a bare rule beside the canonical one: somebody added it, no match was lost."""
    if (table, chain) == ("filter", "KUBE-SERVICES"):
        return rule.target == "DROP"  # kube-proxy rejects there.
    return (table, chain, rule.target) == ("filter", "KUBE-FORWARD", "DROP") and any(other.target == "DROP" and other.has_match for other in rules)


def _lacks_port(rule, targets):
    """True for a rule that has to name a port and does not; one with matches of another sort is somebody else's."""
    return (rule.has_match and rule.target is not None and any(target.match(rule.target) for target in targets) and port_ranges(rule) is None
            and not any(uses(rule, name) for name in ("set", "mark", "addrtype", "conntrack")))


def _mark(table, chain, rule):
    if table == "nat" and chain in MARKING and rule.target == "MARK" and not any(rule.value(option) for option in MARK_ARGUMENTS):
        return "the mark to set is missing"
    return None
