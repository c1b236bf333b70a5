# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables of others that see traffic of Services before or beside kube-proxy. PRIVATE to the collection.

A packet passes the base chains of a hook in the order of their priorities, whatever their tables; an accept ends one
base chain, a drop ends the packet (Linux net/netfilter/core.c nf_hook_slow()). The first address translation counts:
chains of prerouting and output with a priority of dstnat (-100) or lower run before kube-proxy's chains, or beside
them. Conntrack works at -200, so only a notrack before that counts. After the translation a packet goes to an endpoint
and passes forward; an input chain that refuses NodePorts does not affect the pods of any other node.

Native nft tables that refuse the packets of other nodes' tunnels at this node.

An accept in a chain of iptables, as Calico has it for IP-in-IP, does not help against a drop in another table.
"""

import re

from ..model.of_nft import SOURCES_LIMIT, NftRules
from ..model.rule import Packet
from ..model.walk import TooMuch, Walk
from ..others.node_packets import packets_of, without_nodes
from ..rules import number_of, range_of

DSTNAT, CONNTRACK, SRCNAT = -100, -200, 100
# kube-proxy's mark for masquerading (masqueradeBit 14, the default).
MASQUERADE_MARK = 0x4000
# The maximum number of tests of a rule with a packet in one table. Packets that do not differ in the properties that
# the rule matches count as one. A rule that needs no test counts too: where each of 16 chains jumps 400 times to the
# next one, a packet meets more rules than any machine can follow.
WORK_LIMIT = 50000
_KINDS = {"drop": "unexpected_drop", "reject": "unexpected_drop", "dnat": "anchor_shadowed",
          "redirect": "anchor_shadowed", "notrack": "untracked", "mark": "mark_cleared"}
_EFFECTS = {"drop": "drops", "reject": "rejects", "dnat": "translates before kube-proxy",
            "redirect": "redirects before kube-proxy",
            "notrack": "exempts from conntrack, and so from kube-proxy's DNAT,",
            "mark": "clears kube-proxy's mark for masquerading on"}
_TOO_MANY = "chain %s has too many rules to judge"
_NEW, _TRANSLATED = frozenset(("NEW",)), frozenset(("NEW", "DNAT"))
_NAMED, _NAMED_LIMIT = re.compile(r"\b[sd]addr ([0-9a-f.:]+/\d{1,3})(?!\S)"), 16
# {family: (bits of an address behind the part that all pods of a cluster have in common, bits of the number of a node
# in it)}, with the networks that Kubernetes gives nodes by default, /24 and /64.
_CLUSTER = {"ip": (16, 8), "ip6": (80, 16)}
# Packets of a pod whose address is not known, to a pod on another node: no rule of kube-proxy translates them.
_FORWARDED = tuple(Packet(family=family, protocol="tcp", states=_NEW, destination_type="UNICAST", of_all=True)
                   for family in ("ip", "ip6"))


def judge_table(table, services, own=(), routed=tuple):
    """([(kind, chain, text, detail)], why a part was not judged, or None) of a listing.Table; `services` [Service].

    `own`: the addresses of the node, None where they are not known. A packet to an endpoint on these addresses is not
    forwarded. `routed`: see carries_pods().
    """
    judge = _Judge(table, services, own, routed)
    for name, chain in sorted(table.chains.items()):
        if chain.is_base and chain.priority is None:
            judge.doubts.append("the priority of chain %s is not known" % name)
        elif chain.is_base and not judge.base_chain(chain):
            judge.doubts.append(_TOO_MANY % name)
    return judge.rows, judge.doubts[0] if judge.doubts else None


def judge_forwarding(table, pods=()):
    """[(kind, chain, text, detail)] of rules and policies that refuse all traffic between pods, whatever their
    addresses and interfaces are, or new connections from other nodes to the pods of this one; for dumps that show no
    Service. `pods`: networks of the pods of single nodes."""
    judge = _Judge(table, (), None, between_pods=True)
    judge.behind = [packet for packet in _FORWARDED + tuple(_to_networks(pods))
                    if table.family in ("inet", packet.family)]
    for name, chain in sorted(table.chains.items()):
        if chain.is_base and chain.hook == "forward" and chain.priority is not None and not judge.base_chain(chain):
            judge.rows.append(("unjudged_table", "", "", _TOO_MANY % name))
    return judge.rows


def _to_networks(pods):
    """A packet to a pod of each network of a node, from the node before it; one node alone has the first network."""
    for network in pods:
        span, family = range_of(network), "ip6" if ":" in network else "ip"
        shared, bits = _CLUSTER[family]
        if span is not None and span[1] - span[0] + 1 == 1 << (shared - bits) and span[0] % (1 << shared):
            yield Packet(family=family, sources=(span[0] - 2,), destinations=(span[0] + 2,), protocol="tcp",
                         states=_NEW, destination=network, destination_type="UNICAST", of_all=True)


def _family(service):
    return "ip6" if service.family == "ipv6" else "ip"


class _Judge:
    def __init__(self, table, services, own, routed=tuple, between_pods=False):
        self.table, self.rows, self.doubts, self._seen, self._left = table, [], [], set(), WORK_LIMIT
        families = ("ip", "ip6") if table.family == "inet" else (table.family,)
        self._own_known, own = own is not None, own or ()
        services = [service for service in services if _family(service) in families and service.has_endpoints]
        ends = [end for end in sorted({(_family(service),) + end for service in services
                                       for end in service.endpoints or ()}) if end[1] not in own]
        sources = {family: [address for of, address, _port, _protocol in ends if of == family]
                   for family in ("ip", "ip6")}
        sources = {family: found[::len(found) // SOURCES_LIMIT + 1] for family, found in sources.items()}
        self._sources = {family: _numbers(found) for family, found in sources.items()}
        self._own = {family: _numbers(address for address in own if (":" in address) == (family == "ip6"))
                     for family in ("ip", "ip6")}
        self.before = [self._packet(_family(service), service.address, service.port, service.protocol, _NEW)
                       for service in services]
        self.behind = [self._packet(*end, states=_TRANSLATED) for end in ends]
        self.behind += self._across(ends)
        self._rules = NftRules(table, sources, routed, self.doubts.append, between_pods)

    def _packet(self, family, address, port, protocol, states):
        """A packet to an address, or to one of the node's own addresses where this is a NodePort."""
        number = number_of(address)
        return Packet(
            family=family, sources=self._sources[family], protocol=protocol, port=port, states=states, of_all=True,
            destinations=self._own[family] if number is None else (number,),
            destination=None if number is None else address,
            destination_type="LOCAL" if number is None and states is _NEW else "UNICAST")

    def _across(self, ends):
        """Packets into each network that a rule names, from pods outside of it: it may be that of the pods of this
        node, to which pods of other nodes connect."""
        texts = [text for chain in self.table.chains.values() for text in chain.texts]
        for network in sorted({found for text in texts for found in _NAMED.findall(text)})[:_NAMED_LIMIT]:
            span, family = range_of(network), "ip6" if ":" in network else "ip"
            inside = [end for end in ends if end[0] == family and span and span[0] <= number_of(end[1]) <= span[1]]
            shared = _CLUSTER[family][0]
            outside = tuple(number for number in self._sources[family] if span and not span[0] <= number <= span[1]
                            and number >> shared == span[0] >> shared)
            if inside and outside:
                yield self._packet(*inside[0], states=_TRANSLATED)._replace(sources=outside)

    def base_chain(self, chain):
        """Whether all rules of a chain, and of those it leads to, could be tried."""
        early = chain.hook in ("prerouting", "output") and chain.priority <= DSTNAT
        if chain.hook == "input":
            self._input(chain)
        if chain.hook not in ("prerouting", "output", "forward", "postrouting"):
            return True
        self._base, self._early = chain, early
        packets = self.before if early else self.behind
        walk = Walk(self._rules.rules_of, packets, self._harms, self._met, self._left, True)
        try:
            left, doubtful = walk.through(chain.name)
        except TooMuch:
            return False
        finally:
            self._left = walk.left
        if chain.policy == "drop":
            self._harmed("drop", chain, "policy drop", left, doubtful)
        return True

    def _input(self, chain):
        """An input chain has to close the node's own ports, so only one that lets no packet pass is reported."""
        rules = self._rules.parsed(chain)
        if (chain.policy == "drop" and not rules) or (rules and not rules[0].conditions
                                                      and rules[0].statement.action in ("drop", "reject")):
            self._row("unexpected_drop", chain, rules[0].text if rules else "policy drop",
                      "refuses all packets to the node itself")

    def _met(self, rule, chain, yes, maybe):
        self._harmed(rule.origin.statement.action, self.table.chains[chain], rule.origin.text, yes, maybe)

    def _harms(self, rule):
        """Whether the action of a rule is harmful at this hook and priority."""
        statement = rule.origin.statement if rule.origin is not None else None
        if statement is None or statement.action not in _KINDS:
            return False
        hook, priority = self._base.hook, self._base.priority
        if statement.action in ("dnat", "redirect"):
            return self._early and self._base.type == "nat"
        if statement.action == "notrack":
            return hook in ("prerouting", "output") and priority < CONNTRACK
        if statement.action == "mark":
            between = (priority > DSTNAT if hook in ("prerouting", "output") else hook == "forward"
                       or (hook == "postrouting" and priority < SRCNAT))
            return between and _clears(statement.argument)
        return True

    def _harmed(self, action, chain, text, yes, maybe):
        if self._may_be_own(yes, text):
            yes, maybe = [], yes
        if yes:
            others = " and to %d others" % (len(set(yes)) - 1) if len(set(yes) - set(_FORWARDED)) > 1 else ""
            self._row(_KINDS[action], chain, text,
                      "%s %s%s (hook %s, priority %d)" % (
                          "this policy drops" if text == "policy drop" else "this rule " + _EFFECTS[action],
                          _text(yes[0]), others, self._base.hook, self._base.priority))
        elif maybe:
            self.doubts.append("whether the rule \"%s\" of chain %s matches Service traffic cannot be judged"
                               % (text[:120], chain.name))

    def _may_be_own(self, packets, text):
        """True if the only address of a family may be the node's: those are unknown, and the rule does not name it."""
        ends = {(packet.family, str(packet.destination)) for packet in packets if packet.states is _TRANSLATED}
        alone = len(ends) == len({family for family, _address in ends})
        return bool(ends) and alone and not self._own_known and not any(address in text for _family, address in ends)

    def _row(self, kind, chain, text, detail):
        if (chain.name, text) not in self._seen:
            self._seen.add((chain.name, text))
            self.rows.append((kind, chain.name, text, detail))


def _clears(expression):
    """Whether `meta mark set EXPRESSION` clears kube-proxy's mark."""
    words = expression.replace("meta ", "").replace("and", "&").replace("or", "|").split(" ")
    numbers = [int(word, 0) for word in words if word[:1].isdigit()]
    if len(words) == 1 and numbers:
        return not numbers[0] & MASQUERADE_MARK
    return words[:2] == ["mark", "&"] and bool(numbers) and not any(number & MASQUERADE_MARK for number in numbers)


def _numbers(addresses):
    return tuple(number for number in map(number_of, addresses) if number is not None)


def _text(packet):
    if packet in _FORWARDED:
        return "all forwarded traffic that no rule before it accepts, such as between pods of different nodes"
    if packet.port is None:
        return "new connections from pods of other nodes to pods in %s" % packet.destination
    place = "NodePort" if packet.destination is None else packet.destination
    return "traffic to %s port %d/%s" % (place, packet.port, packet.protocol)


_WORK_LIMIT = 20000
# A network that is larger may hold nodes beside the pods.
_MOST_BITS = 16
# The number of the address of another node, which is not known, and a range that does not hold it.
_NODE, _ELSEWHERE = -2, (-1, -1)


def judge_tunnel(table, tunnel, pods, own):
    """[(kind, chain, text, detail)] of rules and policies of input that certainly refuse the packets of `tunnel` (see
    tunnel_of()). `pods`: networks of pods behind it. `own`: the addresses of the node, as far as they are known."""
    protocol, ports, why = packets_of(tunnel)
    packets = [Packet(family="ip", sources=(_NODE,), protocol=protocol, port=each, states=_NEW,
                      destination_type="LOCAL") for each in ports]
    rows = []
    for _name, chain in sorted(table.chains.items()):
        if chain.is_base and chain.hook == "input" and table.family in ("ip", "inet"):
            end = _end(table, chain, packets, pods, own)
            rows += [("unexpected_drop", end[0], end[1], why)] if end else []
    return rows


def _end(table, chain, packets, pods, own):
    """(chain, text) of what refuses all packets, or None."""
    ends, cut = {}, []
    rules = _FromOutside(table, pods, own, cut.append)
    walk = Walk(rules.rules_of, packets, lambda rule: rule.origin is not None and rule.origin.statement.action in (
        "drop", "reject"), lambda rule, name, sure, _perhaps: ends.update(
            (packet, (name, rule.origin.text)) for packet in sure if packet not in ends), _WORK_LIMIT)
    try:
        passed = walk.through(chain.name)[0]
    except TooMuch:
        return None
    if chain.policy == "drop":
        ends.update((packet, (chain.name, "policy drop")) for packet in passed if packet not in ends)
    return None if cut or len(ends) < len(packets) else ends[packets[0]]


class _FromOutside(NftRules):
    """The rules as packets of other nodes meet them: on no interface and from no address of pods."""

    def __init__(self, table, pods, own, note):
        super().__init__(table, {"ip": (), "ip6": ()}, tuple, note)
        self._pods, self._own = [range_of(network) for network in pods], own

    def _word(self, field, key, word):
        value = super()._word(field, key, word)
        if field == "interface":
            return False if value else value
        if field != "source":
            return value
        is_of_pods = value and value[1] - value[0] < 1 << _MOST_BITS and any(
            value[0] <= first and last <= value[1] for first, last in filter(None, self._pods))
        return _ELSEWHERE if is_of_pods and without_nodes(word, self._own) else None
