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

Rules that break traffic of Services without a refusal, and legitimate ones.

Rules behind FORWARD of table filter that clear kube-proxy's mark.

kube-router 1.0.0-rc5 to 1.0.1 sets the whole mark to 0 in the chain of each pod with a network policy
(cloudnativelabs/kube-router pull request 992). A packet that a policy refuses needs no mark, so refusals are left out:
of the packets that pass, each loses its mark. Chains of policies and a part of a dump are judged as well: only a packet
that certainly meets the rule counts.
"""

import collections
import itertools

from ..kube_proxy.marks import changed_mark, mark_of, mark_value, service_mark
from ..model.of_iptables import RULES_LIMIT, conditions_of
from ..model.rule import END, GOTO, JUMP, RETURN, UNKNOWN, Packet, rule_of
from ..model.walk import TooMuch, Walk
from ..observation import observe
from ..others.owners import CNI, KUBERNETES, POLICIES, owner_of
from ..rules import EXTENSIONS, REFUSALS, TERMINAL, TRANSLATIONS, match_options, number_of, plain_value, takes_all
from ..tables import rules_of, table_of
from .endpoints import endpoint_of
from .service_packets import ENDPOINT, MARKED, NAMED, RAW, VIRTUAL
from .services import routed_services


def untracks(rule_set, rule, lacks=None):
    """True for a rule of table raw that exempts packets from conntrack.

    False for the rules of NodeLocal DNSCache (kubernetes/dns cmd/node-cache): it listens on the virtual address of the
    cluster's DNS, on an interface of the node, and therefore accepts packets to it in INPUT. True for rules that it
    left behind: `lacks(address)` tells whether certainly no interface has that address. A dump may lack table filter.
    """
    if rule.target != "NOTRACK" and rule.value("--notrack") is None:
        return False
    destination, filters = plain_value(rule, "-d"), table_of(rule_set, "filter")
    if destination and lacks is not None and lacks(destination.partition("/")[0]):
        return True
    if filters is None and rule_set.source != "live" and destination and (
            destination.partition("/")[2] in ("", "128" if ":" in destination else "32")):
        return False
    return not destination or not any(other.target == "ACCEPT" and plain_value(other, "-d") == destination
                                      for other in rules_of(filters, "INPUT"))


def clears(rule, mark):
    """True for a rule that clears a bit of this `mark`. The mark of a new connection has no bits of kube-proxy: it is
    saved before kube-proxy marks the packet, if at all (Linux net/netfilter/xt_connmark.c)."""
    if rule.target == "CONNMARK":
        mask = mark_value([rule.value("--nfmask") or "0xffffffff"])
        return any(option == "--restore-mark" for option, _values, _negated in rule.arguments) and (
            mask is not None and bool(mask[0] & mark))
    changed = changed_mark(mark, rule)
    return changed is not None and changed & mark != mark


def is_between_pods(rule):
    """True for the RETURN by which Flannel up to 0.20 does not masquerade between pods; it names both networks."""
    return rule.target == "RETURN" and bool(rule.options.get("-s")) and bool(rule.options.get("-d"))


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
