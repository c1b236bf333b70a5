# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules behind FORWARD of table filter that clear kube-proxy's mark. PRIVATE to the collection.

kube-router 1.0.0-rc5 to 1.0.1 sets the whole mark to 0 in the chain of each pod with a network policy
(cloudnativelabs/kube-router pull request 992). A packet that a policy refuses needs no mark, so refusals are left out:
of the packets that pass, each loses its mark. Chains of policies and a part of a dump are judged as well: only a packet
that certainly meets the rule counts.
"""

from ..addresses import number_of
from ..kube_proxy.mark_values import mark_value
from ..kube_proxy.marks import mark_of
from ..model.of_iptables import RULES_LIMIT, conditions_of
from ..model.rule import END, GOTO, JUMP, RETURN, UNKNOWN, Packet, rule_of
from ..model.walk import TooMuch, Walk
from ..observation import observe
from ..rules import match_options
from ..tables import rules_of, table_of
from ..targets import EXTENSIONS, REFUSALS, TERMINAL
from .endpoints import endpoint_of
from .path_targets import clears

# Chains that refuse, or set a mark, and accept nothing.
_REFUSING = ("KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL", "KUBE-NWPLCY-")
_ENDPOINTS_LIMIT = 500
_STATES = frozenset(("NEW", "DNAT"))


def ask_cleared_marks(rule_set, setting):
    """mark_cleared of one rule set: each rule that takes kube-proxy's mark from a packet of a pod to itself."""
    table, mark = table_of(rule_set, "filter"), _mark_of(rule_set)
    if setting.mode not in (None, "iptables") or table is None or mark is None or "FORWARD" not in table.chains:
        return
    if not any(rule.target == "MARK" and clears(rule, mark) for name in table.unfolded()
               for rule in table.chains[name].rules):
        return
    met = {}

    def note(rule, chain, sure, _perhaps):
        for packet in sure[:1]:
            met.setdefault((chain, rule.origin.text), packet)
    packets, made = [packet._replace(mark=mark) for packet in _packets(rule_set)], {}

    def rules_of(chain):
        if chain not in made:
            made[chain] = list(_rules(table, chain, mark))
        return made[chain]
    try:
        Walk(rules_of, packets, lambda rule: rule.origin.target == "MARK", note, RULES_LIMIT * len(packets)).through(
            "FORWARD")
    except TooMuch:
        return
    for (chain, text), packet in sorted(met.items()):
        what = "every forwarded packet" if packet.destination is None else (
            "packets of a Service to %s port %d/%s" % (packet.destination, packet.port, packet.protocol))
        yield observe("mark_cleared", rule_set, "filter", chain, text, 1, "takes the mark 0x%x from %s" % (mark, what))


def _mark_of(rule_set):
    """kube-proxy's mark, by the rule that sets it or, in a part of a dump, by a rule that masquerades by it."""
    nat = table_of(rule_set, "nat")
    found = mark_of(rules_of(nat, "KUBE-MARK-MASQ"))
    if found is not None:
        return found
    marks = [mark_value(values) for rule in rules_of(nat, "KUBE-POSTROUTING")
             for _option, values, _negated in match_options(rule, "mark")]
    return marks[0][0] if marks and marks[0] and marks[0][0] == marks[0][1] else None


def _packets(rule_set):
    """A packet of each endpoint to itself, and one of which nothing is known."""
    nat, packets = table_of(rule_set, "nat"), [Packet(states=_STATES)]
    for chain in [name for name in nat.chains if name.startswith("KUBE-SEP-")][:_ENDPOINTS_LIMIT]:
        endpoint, fault = endpoint_of(nat, chain)
        if endpoint is not None and not fault:
            number = (number_of(endpoint[0]),)
            packets.append(Packet(sources=number, destinations=number, destination=endpoint[0], port=endpoint[1],
                                  protocol=endpoint[2], states=_STATES, destination_type="UNICAST"))
    return packets


def _rules(table, chain, mark):
    """The neutral rules of a chain."""
    for rule in table.chains[chain].rules[:RULES_LIMIT]:
        if rule.target in table.chains:
            yield rule_of(conditions_of(rule), GOTO if rule.goto else JUMP, rule, rule.target)
        elif rule.target == "RETURN":
            yield rule_of(conditions_of(rule), RETURN, rule)
        elif rule.target == "MARK" and clears(rule, mark):
            yield rule_of(conditions_of(rule), END, rule)
        elif rule.target in TERMINAL - REFUSALS:
            yield rule_of(conditions_of(rule), END, rule)
        elif rule.target not in EXTENSIONS and not (rule.target or "KUBE-NWPLCY-").startswith(_REFUSING):
            # Its chain is in the part that was not read, and may accept.
            yield rule_of([UNKNOWN], END, rule)
