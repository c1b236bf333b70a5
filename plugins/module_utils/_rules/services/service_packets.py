# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets to test a rule with, such as clients of this node's Services send. PRIVATE to the collection.

Stages of a packet of a Service when it meets a rule.
"""

import bisect
import collections
import itertools

from ..model.of_iptables import conditions_of
from ..model.rule import Packet, Sender, holds
from ..rules import number_of, plain_value, range_of, within
from .services import NODE_PORT

# BEFORE or AFTER DNAT, or in INPUT, which is for the node's own traffic: there only rules that name a virtual address
# are tried. RAW: before conntrack, where replies pass as well. MARKED: a pod's packet to itself through its Service,
# which is always masqueraded.
VIRTUAL, ENDPOINT, NAMED, RAW, MARKED = "virtual", "endpoint", "named", "raw", "marked"


# kubelet, the container runtime and most pods of the network of the host run as root.
_ROOT = Sender(0, 0, None, None)
_NEW, _TRANSLATED = frozenset(("NEW",)), frozenset(("NEW", "DNAT"))
# Limits: packets tried with a rule, each to another port; targets looked at for a rule, and for all rules.
_TRIED, _LOOKED, _LOOKED_ALL = 8, 2000, 300000

_Target = collections.namedtuple("_Target", "number address protocol port original original_port")


class _Targets:
    """Targets by their addresses, and one for each protocol and port."""

    def __init__(self, rows):
        self.rows = sorted(rows)
        self.ports = list({(target.protocol, target.port): target for target in reversed(self.rows)}.values())[:_LOOKED]

    def named(self, rule):
        """The targets that a rule (None: a policy) may match: those in its network, otherwise one of each port."""
        network, original = (plain_value(rule, "-d"), rule.value("--ctorigdst")) if rule else (None, None)
        if network:
            found = range_of(network)
            first = bisect.bisect_left(self.rows, found[:1]) if found else len(self.rows)
            return itertools.takewhile(lambda target: target.number <= found[1], self.rows[first:first + _LOOKED])
        return [target for target in self.rows
                if within(target.original, original)][:_LOOKED] if original else self.ports


class ServicePackets:
    """`services`: [Service] of one family, each with endpoints. `ipvs`: conntrack does not see the translation by IPVS,
    and virtual addresses have the same type as the node's own, so packets leave both open. `mark`: the mark of
    masqueraded packets, where it is known."""

    def __init__(self, services, ipvs=False, mark=None):
        self._ipvs, self._mark = ipvs, mark
        clusters = [service for service in services if service.address != NODE_PORT]
        self._virtual = _Targets(_Target(number_of(service.address) or 0, service.address, service.protocol,
                                         service.port, service.address, service.port) for service in clusters)
        self._endpoints = _Targets(_Target(number_of(address) or 0, address, protocol, port, service.address,
                                           service.port) for service in clusters
                                   for address, port, protocol in service.endpoints or ())
        self._node_ports = _Targets(_Target(0, None, service.protocol, service.port, None, service.port)
                                    for service in services if service.address == NODE_PORT)
        # Pods are in the network (/16, /64) of most endpoints; others are nodes or external hosts.
        most = collections.Counter(map(_network, self._endpoints.rows)).most_common(1)
        self._pods = [target for target in self._endpoints.rows if _network(target) == most[0][0]]
        self._left = _LOOKED_ALL

    def of(self, rule, table, hook, where):
        """[Packet] that may match the rule (None: the policy); empty where no packet can."""
        conditions = conditions_of(rule) if rule is not None else []
        if where == MARKED:
            return self._to_themselves(rule, conditions)
        if where == RAW:
            return self._to(rule, conditions, table, hook, VIRTUAL) + (
                self._answers(rule) if hook == "PREROUTING" else [])
        return self._to(rule, conditions, table, hook, where)

    def _to(self, rule, conditions, table, hook, where):
        """Packets to virtual addresses, endpoints and node ports."""
        source = rule and plain_value(rule, "-s")
        if source is not None and (hook == "OUTPUT" or self._pod_in(source) is None):
            return []
        if not self._virtual.rows:
            # The only known property is that the connection is new.
            return [] if where == NAMED else [Packet(states=None if table == "raw" else _NEW,
                                                     from_node=hook == "OUTPUT")]
        client = (None if hook == "OUTPUT" or not self._pods else self._pod_in(source) if source else self._pods[0])
        found = self._made(rule, conditions, self._endpoints, client, hook,
                           _NEW if self._ipvs else _TRANSLATED) if where == ENDPOINT else []
        # After DNAT no packet goes to a virtual address; a rule that names one is still meant to refuse it. A port
        # alone does not prove that: a rule that blocks port 25 of external hosts is not meant for a Service with
        # endpoints on another port.
        if where == VIRTUAL or (rule and plain_value(rule, "-d") is not None):
            states = None if table == "raw" else _NEW
            found += self._made(rule, conditions, self._virtual, client, hook, states)
            if where == VIRTUAL and hook == "PREROUTING":
                found += self._made(rule, conditions, self._node_ports, None, hook, states)
        return found

    def _made(self, rule, conditions, targets, client, hook, states):
        tried = {}
        for target in targets.named(rule):
            self._left -= 1
            if len(tried) == _TRIED or self._left < 0:
                break
            if (target.protocol, target.port) not in tried:
                packet = self._packet(client, target, states, from_node=hook == "OUTPUT",
                                      sender=_ROOT if hook == "OUTPUT" else None)
                if holds(conditions, packet):
                    tried[target.protocol, target.port] = packet
        return list(tried.values())

    def _packet(self, client, target, states, **more):
        """A packet of the pod `client`, None where its sender is not known."""
        packet = Packet(sources=_number(client), destinations=_number(target), destination=target.address,
                        protocol=target.protocol, port=target.port, states=states, **more)
        if self._ipvs:
            return packet
        # In iptables mode virtual addresses are not addresses of the node.
        return packet._replace(original=target.original, original_port=target.original_port, destination_type=(
            "UNICAST" if target.address is not None and target.address == target.original else None))

    def _to_themselves(self, rule, conditions):
        """Packets of pods that reached themselves through a Service: one for each port, of the first named pod."""
        network = plain_value(rule, "-s") or plain_value(rule, "-d")
        found, tried = range_of(network) if network else (0, self._pods[-1].number if self._pods else 0), {}
        first = bisect.bisect_left(self._pods, found[:1]) if found else len(self._pods)
        for target in itertools.takewhile(lambda target: target.number <= found[1], self._pods[first:first + _LOOKED]):
            self._left -= 1
            if len(tried) < _TRIED and self._left >= 0 and (target.protocol, target.port) not in tried:
                packet = self._packet(target, target, _NEW if self._ipvs else _TRANSLATED, mark=self._mark)
                if holds(conditions, packet):
                    tried[target.protocol, target.port] = packet
        return list(tried.values())

    def _answers(self, rule):
        """Replies of pods that are endpoints to pods that are clients, to a port that is not known in advance."""
        ends = [self._pod_in(network) if network else self._pods[0] if self._pods else None
                for network in (plain_value(rule, "-s"), plain_value(rule, "-d"))]
        protocols = sorted({target.protocol for target in self._endpoints.ports}) if None not in ends else ()
        return [Packet(sources=_number(ends[0]), destinations=_number(ends[1]), destination=ends[1].address,
                       protocol=protocol) for protocol in protocols]

    def _pod_in(self, network):
        """A pod in a network, or None."""
        found = range_of(network)
        place = bisect.bisect_left(self._pods, found[:1]) if found else len(self._pods)
        return self._pods[place] if place < len(self._pods) and self._pods[place].number <= found[1] else None


def _number(target):
    return (target.number,) if target is not None and target.number else ()


def _network(target):
    return ":" in target.address, target.number >> (64 if ":" in target.address else 16)
