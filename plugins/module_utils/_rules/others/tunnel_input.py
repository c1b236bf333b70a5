# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets of the tunnel between nodes that table filter refuses as packets to the node. PRIVATE to the collection.

Another node sends the packets of its pods in UDP packets to this node. Both directions have ports of their own, so they
are no replies to each other (Linux drivers/net/vxlan, udp_flow_src_port()): a rule for replies does not accept them.
"""

import collections
import re

from ..model.interfaces import carries_pods
from ..observation import observe
from ..rules import plain_value
from ..tables import table_of
from ..targets import EXTENSIONS, REFUSALS
from .owners import KUBERNETES, owner_of

# Interfaces that network plugins make, and the UDP port that they use by default (flannel pkg/backend/vxlan; Calico
# VXLANPort; Cilium tunnel-port; Weave; Open vSwitch, which has the port in the name).
_TUNNELS = (
    (re.compile(r"flannel(?:-v6)?\.\d+\Z"), "VXLAN", 8472), (re.compile(r"vxlan(?:-v6)?\.calico\Z"), "VXLAN", 4789),
    (re.compile(r"cilium_vxlan\Z"), "VXLAN", 8472), (re.compile(r"cilium_geneve\Z"), "Geneve", 6081),
    (re.compile(r"vxlan-6784\Z"), "VXLAN", 6784), (re.compile(r"flannel-wg(?:-v6)?\Z"), "WireGuard", 51820),
    (re.compile(r"cilium_wg0\Z"), "WireGuard", 51871), (re.compile(r"wireguard\.cali\Z"), "WireGuard", 51820),
    (re.compile(r"genev_sys_6081\Z"), "Geneve", 6081), (re.compile(r"vxlan_sys_4789\Z"), "VXLAN", 4789),
)


# What IptablesRules reads of a table.
_Table, _Chain = collections.namedtuple("Table", "name chains"), collections.namedtuple("Chain", "rules")
_UPLINK = "eth0"


def tunnel_of(interfaces):
    """(interface, kind, UDP port) of the tunnel of the network plugin among the names of interfaces, or None: with
    another one beside it, as of a plugin that was replaced, it is not known which is in use."""
    found = [(name, kind, port) for name in sorted(interfaces) for pattern, kind, port in _TUNNELS
             if pattern.match(name)]
    return found[0] if len({row[1:] for row in found}) == 1 else None


def ask_tunnel(rule_set, setting):
    """unexpected_drop of the rule or the policy that refuses the packets of the tunnel."""
    table = table_of(rule_set, "filter")
    chain = table.chains.get("INPUT") if table is not None else None
    if chain is None or not (chain.policy == "DROP" or any(
            rule.target in REFUSALS for each in table.chains.values() for rule in each.rules)):
        return
    # Where only a part of the table was read, packets that the policy dropped show that the chain was in use.
    tunnel = setting.tunnel() if table.committed or chain.policy == "DROP" and chain.packets else None
    rules = _from_outside(table) if tunnel else None
    if rules is None:
        return
    from ..model.of_iptables import IptablesRules
    from ..model.rule import Packet
    interface, kind, port = tunnel
    packet = Packet(protocol="udp", port=port, states=frozenset(("NEW",)), destination_type="LOCAL")
    ends, passed = IptablesRules(rules, REFUSALS).walked("INPUT", [packet])
    end = ends.get(packet)
    if end is not None or chain.policy == "DROP" and packet in passed:
        yield observe("unexpected_drop", rule_set, "filter", end.chain if end else "INPUT",
                      end.text if end else ":INPUT DROP", 1,
                      "refuses packets of the tunnel %s, %s on UDP port %d, with which other nodes send the traffic of "
                      "their pods" % (interface, kind, port))


def _from_outside(table):
    """The `_Table` of INPUT and the chains behind it, without rules for packets of the loopback interface and of pods
    of this node; None where a rule leads to a chain of others that was not read."""
    chains, waiting = {}, ["INPUT"]
    while waiting:
        name = waiting.pop()
        rules = [rule for rule in table.chains[name].rules
                 if carries_pods(plain_value(rule, "-i") or _UPLINK) is None]
        chains[name] = _Chain(rules)
        for target in {rule.target for rule in rules if rule.target and rule.target not in EXTENSIONS}:
            if target in table.chains:
                waiting += [target] if target not in chains else []
            elif owner_of(target, "filter") not in KUBERNETES:
                return None
    return _Table(table.name, chains)
