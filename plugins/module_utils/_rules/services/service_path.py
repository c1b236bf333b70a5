# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Harmful rules in any chain that packets of a Service certainly reach. PRIVATE to the collection.

The rules are tried with packets of the Services that are programmed here: before nat to the virtual address, after it
to an endpoint (raw, mangle, nat, filter: Linux include/uapi/linux/netfilter_ipv4.h). A firewall for other ports,
addresses or one interface refuses none of these packets. Rules of network policies are not checked, nor are the rules
that a plugin writes for its own pods.

In ipvs mode a virtual address is an address of the node: packets of pods to it pass through INPUT, after which IPVS
takes them, and from there through OUTPUT to the endpoint (Linux net/netfilter/ipvs/ip_vs_core.c ip_vs_ops4).
"""

import collections
import itertools

from ..endings import takes_all
from ..kube_proxy.marks import service_mark
from ..observation import observe
from ..others.owners import CNI, KUBERNETES, POLICIES, owner_of
from ..tables import rules_of, table_of
from ..targets import REFUSALS, TERMINAL, TRANSLATIONS
from .path_targets import clears, is_between_pods, untracks
from .services import routed_services
from .packet_stage import ENDPOINT, MARKED, NAMED, RAW, VIRTUAL

_HOOKS = (
    ("raw", "PREROUTING", VIRTUAL), ("raw", "OUTPUT", VIRTUAL), ("mangle", "PREROUTING", VIRTUAL),
    ("mangle", "OUTPUT", VIRTUAL), ("mangle", "FORWARD", ENDPOINT), ("mangle", "POSTROUTING", ENDPOINT),
    ("filter", "INPUT", NAMED), ("filter", "FORWARD", ENDPOINT), ("filter", "OUTPUT", ENDPOINT),
    ("security", "INPUT", NAMED), ("security", "FORWARD", ENDPOINT), ("security", "OUTPUT", ENDPOINT))
# The same in ipvs mode.
_IPVS_HOOKS = tuple((table, hook, VIRTUAL if where == NAMED else where)
                    for table, hook, where in _HOOKS) + (("mangle", "INPUT", VIRTUAL),)
_NAT_HOOKS = (("nat", "PREROUTING", VIRTUAL), ("nat", "OUTPUT", VIRTUAL))
_EARLY_HOOKS = (("mangle", "PREROUTING", VIRTUAL),)
_SNAT_HOOKS = (("nat", "POSTROUTING", MARKED),)
_RAW_HOOKS = (("raw", "PREROUTING", RAW), ("raw", "OUTPUT", RAW))
_MARK_HOOKS = (("mangle", "FORWARD", MARKED), ("mangle", "POSTROUTING", MARKED))
_UNTRACKING, _MARKING = frozenset(("CT", "NOTRACK")), frozenset(("MARK", "CONNMARK"))
# At most this many rules of a rule set are tried with packets.
_RULES_LIMIT = 64

# A search. kind: the kind of the observation. why: the effect of the rule on packets. hooks: the hooks that are
# searched. targets: the targets that the rule may have. is_one: whether a rule with such a target counts, None if all
# count. until: the chain where the search stops. spared: the owners whose chains are not searched.
_Question = collections.namedtuple("_Question", "kind why hooks targets is_one until spared")


def _questions(rule_set, mode, ipvs, lacks):
    """[_Question] in the order of the search."""
    found, mark, nat = [], service_mark(rule_set), table_of(rule_set, "nat")
    if mode != "ipvs":
        # IPVS has connections of its own, and masquerades by sets too.
        found.append(_Question("untracked", "exempts from conntrack", _RAW_HOOKS, _UNTRACKING,
                               lambda rule: untracks(rule_set, rule, lacks), None, KUBERNETES + CNI))
        if mark:
            found.append(_Question("mark_cleared", "takes the mark 0x%x from" % mark, _MARK_HOOKS, _MARKING,
                                   lambda rule: clears(rule, mark), None, KUBERNETES + CNI))
    if any(rule.target == "KUBE-POSTROUTING" for rule in rules_of(nat, "POSTROUTING")):
        found.append(_Question("anchor_shadowed", "keeps from KUBE-POSTROUTING", _SNAT_HOOKS, TERMINAL - TRANSLATIONS,
                               lambda rule: not is_between_pods(rule), "KUBE-POSTROUTING", KUBERNETES + CNI))
    refusing = _Question("unexpected_drop", "refuses", _IPVS_HOOKS if ipvs else _HOOKS, REFUSALS, None, None,
                         KUBERNETES + POLICIES)
    diverting = _Question("anchor_shadowed", "keeps from KUBE-SERVICES", _NAT_HOOKS, TERMINAL, None, "KUBE-SERVICES",
                          KUBERNETES + POLICIES)
    # A transparent proxy: the socket that TPROXY gives to a packet stays its socket behind DNAT.
    taking = _Question("anchor_shadowed", "takes to a program of the node", _EARLY_HOOKS, frozenset(("TPROXY",)), None,
                       None, KUBERNETES + CNI)
    return found + [refusing, diverting, taking]


def ask_service_path(rule_set, services, is_noted, mode=None, lacks=None):
    """unexpected_drop, anchor_shadowed, untracked and mark_cleared of one rule set, except for rules that
    `is_noted(table, chain, index, rule)`, which are already reported.

    `services`: [Service] of the node, or None for the Services in the rule set's own chains. `mode`: kube-proxy's mode.
    `lacks` as in Setting.
    """
    ipvs = mode == "ipvs" and bool(services)
    questions = _questions(rule_set, mode, ipvs, lacks)
    refusing = [question for question in questions if question.targets == REFUSALS]
    waiting = itertools.chain([(question, place, None, None) for question in refusing for place in question.hooks
                               if _drops(rule_set, place)], (
                                   (question, place, index, rule) for question in questions for place in question.hooks
                                   for index, rule in _candidates(rule_set, place, question)))
    first = next(waiting, None)
    if first is None:
        return
    # Most nodes have no such rule of another program, so these modules are not compiled there.
    from ..model.of_iptables import IptablesRules
    from .service_packets import ServicePackets
    services = routed_services(rule_set) if services is None else services
    packets = ServicePackets([service for service in services or () if service.family == rule_set.family
                              and service.has_endpoints], ipvs, service_mark(rule_set))
    rules, seen, tried = {}, set(), 0
    for question, (name, hook, where), index, rule in itertools.chain([first], waiting):
        if rule is not None and is_noted(name, rule.chain, index, rule):
            continue
        text = ":%s DROP" % hook if rule is None else rule.text
        place = (question.kind, name, hook if rule is None else rule.chain, text)
        sent = packets.of(rule, name, hook, where) if place not in seen else ()
        tried += bool(sent)
        if tried > _RULES_LIMIT:
            return
        if (question, name) not in rules:
            rules[question, name] = IptablesRules(
                rule_set.tables[name], TERMINAL if question.until else question.targets, question.until,
                question.is_one)
        ends, passed = rules[question, name].walked(hook, sent)
        packet = next((packet for packet in sent if (packet in passed if rule is None else ends.get(packet) == rule)),
                      None)
        if packet is not None:
            seen.add(place)
            yield observe(question.kind, rule_set, name, place[2], text, 1,
                          "%s %s" % (question.why, _described(packet)))


def _candidates(rule_set, place, question):
    """(index in its chain, rule) of rules with such a target: in the built-in chain the rules with a match, and all
    rules in other programs' chains that it leads to. In table nat only the rules before the jump to the Services count.
    The last rule of INPUT may refuse all packets, except packets to virtual addresses."""
    name, hook, where = place
    table = table_of(rule_set, name)
    # The missing part of a truncated table may hold a chain that lets the packet pass.
    if table is None or not table.committed or hook not in table.chains:
        return
    bare = where in (RAW, MARKED) or (hook == "INPUT" and where == VIRTUAL)
    seen, waiting = {hook}, [hook]
    while waiting:
        chain = waiting.pop()
        for index, rule in enumerate(table.chains[chain].rules):
            if question.until and (rule.target == question.until or (chain == hook and takes_all(table, rule))):
                break  # anchors.py reports a rule that takes all packets.
            if rule.target in question.targets:
                if (rule.has_match or chain != hook or bare) and (question.is_one is None or question.is_one(rule)):
                    yield index, rule
            elif rule.target in table.chains and rule.target not in seen:
                seen.add(rule.target)
                if owner_of(rule.target, name) not in question.spared:
                    waiting.append(rule.target)


def _drops(rule_set, place):
    """True for a DROP policy in a chain that should have none; of FORWARD it is forward_drop, INPUT guards the node."""
    name, hook, where = place
    table = table_of(rule_set, name)
    return (table is not None and table.committed and hook in table.chains and table.chains[hook].policy == "DROP"
            and where != NAMED and (name, hook) != ("filter", "FORWARD"))


def _described(packet):
    if packet.port is None:
        return "every new connection, those to Services too"
    return "packets of a Service: port %d/%s of %s" % (
        packet.original_port or packet.port, packet.protocol, packet.original or packet.destination or "every node")
