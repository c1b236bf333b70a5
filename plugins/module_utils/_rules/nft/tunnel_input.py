# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables that refuse the packets of other nodes' tunnels at this node. PRIVATE to the collection.

An accept in a chain of iptables, as Calico has it for IP-in-IP, does not help against a drop in another table.
"""

from ..addresses import range_of
from ..model.of_nft import NftRules
from ..model.rule import Packet
from ..model.walk import TooMuch, Walk
from ..others.node_packets import packets_of, without_nodes

_WORK_LIMIT = 20000
# A network that is larger may hold nodes beside the pods.
_MOST_BITS = 16
_NEW = frozenset(("NEW",))
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
