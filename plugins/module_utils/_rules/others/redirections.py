# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Redirections of proxies (Clash, redsocks, Squid) that take connections to the API server. PRIVATE to the collection.

Such a proxy takes all TCP except that to a list of networks, which it calls local. Where the network of the nodes is
not among these, it receives what other nodes and pods send to the API server of this node, and what kubelet and
kube-proxy here send to that of another one.
"""

import ipaddress

from ..addresses import number_of
from ..observation import cut, observe
from ..rules import port_ranges
from ..services.reached import Reached
from ..services.services import addressed_jumps
from ..tables import table_of
from .hostports import ask_hostports
from .owners import OTHER, owner_of

_API_SERVER = "default/kubernetes:"
_TARGETS = frozenset(("DNAT", "REDIRECT"))
_MOST = 8


def ask_redirections(rule_set, setting):
    """hostport_capture: a DNAT or REDIRECT without a port that takes connections to default/kubernetes."""
    table = table_of(rule_set, "nat")
    # The missing part of a truncated table may hold the exception for these connections.
    if table is None or not table.committed or not any(_takes_all(rule) for chain in table.unfolded()
                                                       if owner_of(chain, "nat") == OTHER
                                                       for rule in table.chains[chain].rules):
        return
    servers = _api_servers(table)
    if not servers:
        return
    # Most nodes have no such rule, so these modules are not compiled there.
    from ..model.of_iptables import IptablesRules
    from ..model.rule import Packet, Sender
    own, rules = setting.addresses(), IptablesRules(table, _TARGETS)
    reported = {row["text"] for row in ask_hostports(rule_set, setting)}
    for hook in ("PREROUTING", "OUTPUT"):
        # Only packets to this node are certain to pass PREROUTING, and only its own packets to others pass OUTPUT.
        wanted = [end for end in servers if own and (end[0] in own) is (hook == "PREROUTING") and _is_private(end[0])]
        packets = [Packet(destinations=(number_of(address),), destination=address, protocol=protocol, port=port,
                          states=frozenset(("NEW",)), original=address, original_port=port, of_all=True,
                          destination_type="LOCAL" if hook == "PREROUTING" else "UNICAST", from_node=hook == "OUTPUT",
                          sender=Sender(0, 0, None, None) if hook == "OUTPUT" else None)
                   for address, port, protocol in wanted[:_MOST]]
        ends = rules.walked(hook, packets)[0] if packets and hook in table.chains else {}
        for packet in packets:
            rule = ends.get(packet)
            new = rule is not None and cut(rule.text) not in reported and _takes_all(rule)
            if new and rule.value("--to-ports") != str(packet.port):
                yield observe("hostport_capture", rule_set, "nat", rule.chain, rule.text, 1,
                              "takes connections %s the API server, %s port %d/%s, which no rule before it leaves out"
                              % ("of nodes and pods to" if hook == "PREROUTING" else "of this node to",
                                 packet.destination, packet.port, packet.protocol))
                break


def _takes_all(rule):
    return rule.target in _TARGETS and not rule.options.get("-d") and port_ranges(rule) is None and (
        rule.target == "DNAT" or rule.value("--to-ports") is not None)


def _api_servers(table):
    """[(address, port, protocol)] of the endpoints of default/kubernetes, sorted."""
    reached, found = Reached(table), set()
    for _chain, _address, _protocol, _port, target, comment in addressed_jumps(table):
        if comment and comment.startswith(_API_SERVER):
            found.update(reached.by(target)[0])
    return sorted(found)


def _is_private(address):
    """A proxy may be meant for a public address."""
    try:
        return ipaddress.ip_address(address).is_private
    except ValueError:
        return False
