# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refused packets of other nodes: tunnel of the network plugin, neighbours of IPv6. PRIVATE to the collection.

Another node sends the packets of its pods in UDP packets to this node. Both directions have ports of their own, so they
are no replies to each other (Linux drivers/net/vxlan, udp_flow_src_port()): a rule for replies does not accept them.

Packets of pods and Services that table filter refuses as packets to the node itself.

A pod reaches the API server and kubelet of its own node through INPUT, and so does each packet to a Service in ipvs
mode, because the virtual addresses are addresses of the node (kernel net/netfilter/ipvs/ip_vs_core.c,
NF_INET_LOCAL_IN).
"""

import bisect
import collections
import re

from ..model.rule import carries_pods
from ..observation import observe
from ..rules import EXTENSIONS, REFUSALS, is_limit, number_of, plain_value, port_ranges, range_of, states, uses, within
from ..services.services import list_services
from ..tables import chains_of, rules_of, table_of
from .owners import CNI, KUBERNETES, OTHER, owner_of

_OF_FLANNEL = re.compile(r"flannel(?:-v6)?\.\d+\Z")
# The port of the standard: clusters with nodes of Windows must have it, with VNI 4096 (flannel
# Documentation/backends.md), and Talos runs flannel with it.
_FLANNEL_PORTS = 8472, 4789
# Interfaces that network plugins make, and the UDP port that they use by default (flannel pkg/backend/vxlan; Calico
# VXLANPort; Cilium tunnel-port; Weave; Open vSwitch, which has the port in the name).
_TUNNELS = (
    (_OF_FLANNEL, "VXLAN", _FLANNEL_PORTS[0]), (re.compile(r"vxlan(?:-v6)?\.calico\Z"), "VXLAN", 4789),
    (re.compile(r"cilium_vxlan\Z"), "VXLAN", 8472), (re.compile(r"cilium_geneve\Z"), "Geneve", 6081),
    (re.compile(r"vxlan-6784\Z"), "VXLAN", 6784), (re.compile(r"flannel-wg(?:-v6)?\Z"), "WireGuard", 51820),
    (re.compile(r"cilium_wg0\Z"), "WireGuard", 51871), (re.compile(r"wireguard\.cali\Z"), "WireGuard", 51820),
    (re.compile(r"genev_sys_6081\Z"), "Geneve", 6081), (re.compile(r"vxlan_sys_4789\Z"), "VXLAN", 4789))
# With these the main table has a route to each other node behind the tunnel (flannel pkg/backend/vxlan
# vxlan_network.go; felix vxlan_mgr.go): without one, on a single node or with host-gw, the tunnel carries nothing.
_IS_ROUTED = re.compile(r"flannel(?:-v6)?\.\d+\Z|vxlan(?:-v6)?\.calico\Z")

# IP-in-IP: tunl0 is there on every node whose kernel has the module loaded, so only routes show that Calico uses it.
# flannel pkg/backend/ipip; kube-router pkg/tunnels, whose other interface is kube-bridge.
_IPIP = re.compile(r"flannel\.ipip\Z"), re.compile(r"tun-\w{5,11}\Z"), "kube-bridge", "tunl0"

# What IptablesRules reads of a table.
_Table, _Chain = collections.namedtuple("Table", "name chains"), collections.namedtuple("Chain", "rules")
_UPLINK = "eth0"
_OF_TUNNEL = ("refuses packets of the tunnel %s, %s on UDP port %s, with which other nodes send the traffic of their "
              "pods")
# Conntrack knows such packets by their addresses alone (Linux nf_conntrack_proto_generic.c).
_OF_IPIP = ("refuses packets of the tunnel %s, IP-in-IP (IP protocol 4), with which other nodes send the traffic of "
            "their pods, until this node has sent such packets to them")
# RFC 4861; such packets are untracked (Linux net/netfilter/nf_conntrack_proto_icmpv6.c).
_OF_NEIGHBOURS = ("refuses ICMPv6, with which machines find each other (neighbour discovery), so no machine finds this "
                  "node in its network")


def tunnel_of(interfaces, routed=()):
    """(interface, kind, UDP port or None) of the tunnel of the network plugin among the names of interfaces, or None:
    with another one beside it, as of a plugin that was replaced, it is not known which is in use. `routed`: the names
    of all interfaces with routes, empty where the routes are not known."""
    found = [(name, kind, port) for name in sorted(interfaces) for pattern, kind, port in _TUNNELS
             if pattern.match(name) and (name in routed or not routed or not _IS_ROUTED.match(name))]
    flannel, kube_router, bridge, calico = _IPIP
    found = found or [(name, "IPIP", None) for name in sorted(interfaces) if flannel.match(name)
                      or kube_router.match(name) and bridge in interfaces or name == calico and name in routed]
    return found[0] if len({row[1:] for row in found}) == 1 else None


def ports_of(tunnel):
    """The UDP ports of which a tunnel has one."""
    return _FLANNEL_PORTS if _OF_FLANNEL.match(tunnel[0]) else (tunnel[2],)


def packets_of(tunnel):
    """(protocol, UDP ports or (None,), what refuses it) of the packets of a tunnel."""
    ports = ports_of(tunnel)
    if ports == (None,):
        return "ipencap", ports, _OF_IPIP % tunnel[0]
    return "udp", ports, _OF_TUNNEL % (tunnel[0], tunnel[1], " or ".join(map(str, ports)))


def ask_node_packets(rule_set, setting):
    """unexpected_drop of the rule or the policy that refuses the packets of the tunnel, or neighbour discovery."""
    table = table_of(rule_set, "filter")
    chain = table.chains.get("INPUT") if table is not None else None
    if chain is None or not (chain.policy == "DROP" or any(
            rule.target in REFUSALS for each in table.chains.values() for rule in each.rules)):
        return
    # Where only a part of the table was read, packets that the policy dropped show that the chain was in use.
    if not (table.committed or chain.policy == "DROP" and chain.packets):
        return
    tunnel = setting.tunnel()
    asked = [packets_of(tunnel)] if tunnel else []
    if rule_set.family == "ipv6" and _has_pods(table):
        asked.append(("ipv6-icmp", (None,), _OF_NEIGHBOURS))
    rules = _from_outside(table, _networks_of_pods(rule_set, table, setting.addresses()) if tunnel
                          else ()) if asked else None
    for protocol, ports, why in asked if rules else ():
        from ..model.of_iptables import IptablesRules
        from ..model.rule import Packet
        state = "UNTRACKED" if protocol == "ipv6-icmp" else "NEW"
        packets = [Packet(protocol=protocol, port=port, states=frozenset((state,)), destination_type="LOCAL")
                   for port in ports]
        ends, passed = IptablesRules(rules, REFUSALS).walked("INPUT", packets)
        if all(packet in ends or chain.policy == "DROP" and packet in passed for packet in packets):
            end = ends.get(packets[0])
            yield observe("unexpected_drop", rule_set, "filter", end.chain if end else "INPUT",
                          end.text if end else ":INPUT DROP", 1, why)


def _has_pods(table):
    """Whether a network plugin has rules for addresses of IPv6: kube-proxy has its chains without them, too."""
    return any(":" in (plain_value(rule, "-s") or plain_value(rule, "-d") or "")
               for name, chain in table.chains.items() if owner_of(name, "filter") in CNI for rule in chain.rules)


def without_nodes(network, own):
    """Whether nodes have no addresses in a network of pods, where pods need a tunnel: people give nodes addresses of
    the default network of Calico. `own`: the addresses of this node, as far as they are known."""
    if any(within(address, network) for address in own):
        return False
    return bool(own) or not network.startswith("192.168.")


def _networks_of_pods(rule_set, table, own):
    """The networks that flannel accepts in FORWARD and that kube-proxy does not masquerade."""
    found = {plain_value(rule, "-s") for name in ("FORWARD", "FLANNEL-FWD")
             for rule in rules_of(table, name) if rule.target == "ACCEPT"
             and (name == "FLANNEL-FWD" or (rule.comment or "").startswith("flanneld"))}
    for rule in rules_of(table_of(rule_set, "nat"), "KUBE-SERVICES"):
        source, negated = rule.options.get("-s", (None, False))
        found.update([source] if negated and rule.target == "KUBE-MARK-MASQ" else [])
    return {network for network in found - {None} if without_nodes(network, own)}


def _from_outside(table, pods):
    """The `_Table` of INPUT and the chains behind it, without rules for packets of the loopback interface and of pods
    of this node, whose networks are `pods`; None where a rule leads to a chain of others that was not read."""
    chains, waiting = {}, ["INPUT"]
    while waiting:
        name = waiting.pop()
        rules = [rule for rule in table.chains[name].rules
                 if carries_pods(plain_value(rule, "-i") or _UPLINK) is None and plain_value(rule, "-s") not in pods]
        chains[name] = _Chain(rules)
        for target in {rule.target for rule in rules if rule.target and rule.target not in EXTENSIONS}:
            if target in table.chains:
                waiting += [target] if target not in chains else []
            elif owner_of(target, "filter") not in KUBERNETES:
                return None
    return _Table(table.name, chains)


_API_SERVER = "default/kubernetes:"
# Calico's chain for what its pods send to their own node (felix/rules/endpoints.go).
_TO_HOST = "cali-wl-to-host"
_ICMP = ("icmp", "icmpv6", "ipv6-icmp", "1", "58")
# An accepted range of so many ports is meant for NodePorts, 30000 to 32767 by default.
_MANY_PORTS = 1000
# The network of the pods of a node has 256 addresses by default.
_POD_BITS, _MOST_CLIENTS = 8, 64


def ask_input(rule_set, setting, services=None):
    """unexpected_drop of a rule that refuses what pods send to this node, and of the policy of INPUT in ipvs mode."""
    table = table_of(rule_set, "filter")
    if table is None or "INPUT" not in table.chains:
        return
    pods = None
    for chain, rules in _unlimited(table):
        for index, rule in enumerate(rules):
            source = _refused_source(rule)
            if source is not None and pods is None:
                pods = _addresses_of_pods(list_services(rule_set) if services is None else services)
            refused = _first_within(pods, source) if source is not None else None
            if refused and not any(_passes(earlier, refused) for earlier in rules[:index]):
                yield observe("unexpected_drop", rule_set, "filter", chain, rule.text, 1,
                              "refuses packets of pods, as of %s, to this node and its API server" % refused)
                break
    policy = table.chains["INPUT"].policy
    yield from _refused_api_server(rule_set, setting, table, services)
    if setting.mode == "ipvs" and policy == "DROP" and chains_of(rule_set, "filter") is not None and not any(
            _accepts_more(rule) for chain in table.chains.values() for rule in chain.rules):
        yield observe("unexpected_drop", rule_set, "filter", "INPUT", ":INPUT DROP", 1,
                      "in ipvs mode packets to Services are packets to the node, and no rule of INPUT accepts them")


def _refused_api_server(rule_set, setting, table, services):
    """unexpected_drop of the last rule or the policy that refuses what pods of this node send to its API server."""
    if not table.committed or table.chains["INPUT"].policy != "DROP" and _TO_HOST not in table.chains and not any(
            rule.target in REFUSALS for _name, those in _unlimited(table) for rule in those):
        return
    services = list_services(rule_set) if services is None else services
    own = [(service, endpoint) for service in services or () if service.name.startswith(_API_SERVER)
           for endpoint in service.endpoints or () if endpoint[0] in setting.addresses()]
    clients = _clients(table, _addresses_of_pods(services)) if own else ()
    if not clients:
        return
    service, (address, port, protocol) = own[0]
    calico = [rule for rule in rules_of(table, _TO_HOST) if not rule.has_match and rule.target in REFUSALS]
    if calico:
        yield observe("unexpected_drop", rule_set, "filter", _TO_HOST, calico[0].text, 1,
                      "DefaultEndpointToHostAction of Calico refuses packets of pods to the API server of this node, "
                      "%s port %d" % (address, port))
        return
    # Most nodes have no such rule, so these modules are not compiled there.
    from ..model.of_iptables import IptablesRules
    from ..model.rule import Packet
    packets = [Packet(sources=(client,), destinations=(number_of(address),), protocol=protocol, port=port,
                      states=frozenset(("NEW", "DNAT")), destination=address, original=service.address,
                      original_port=service.port, destination_type="LOCAL") for client in clients]
    ends, passed = IptablesRules(table, REFUSALS).walked("INPUT", packets)
    # A firewall may let in the pods of this node, whose network is not known.
    if any(packet not in ends and not (table.chains["INPUT"].policy == "DROP" and packet in passed)
           for packet in packets):
        return
    end = ends.get(packets[0])
    if end is None or _refused_source(end) is None:
        yield observe("unexpected_drop", rule_set, "filter", end.chain if end else "INPUT",
                      end.text if end else ":INPUT DROP", 1,
                      "refuses packets of pods to the API server of this node, %s port %d, the endpoint of "
                      "default/kubernetes" % (address, port))


def _clients(table, pods):
    """Numbers of addresses that pods here may have: one of each network of endpoints, and of accepted ones near."""
    found = {number >> _POD_BITS: number for number, address in pods if ":" not in address}
    near = {number >> 16 for number in found.values()}
    for chain in table.chains.values():
        for rule in chain.rules:
            network = plain_value(rule, "-s") if rule.target == "ACCEPT" else None
            ends = range_of(network) if network and ":" not in network else None
            if ends and any(ends[0] >> 16 <= each <= ends[1] >> 16 for each in near):
                inside = max(ends[0], min(near) << 16) + 1
                found.setdefault(inside >> _POD_BITS, inside)
    return sorted(found.values())[:_MOST_CLIENTS]


def _unlimited(table):
    """[(name, rules)] of INPUT and the chains of unknown owners that it jumps to with all packets."""
    rules = table.chains["INPUT"].rules
    names = [rule.target for rule in rules if not rule.has_match and rule.target in table.chains
             and owner_of(rule.target, "filter") == OTHER]
    return [("INPUT", rules)] + [(name, table.chains[name].rules) for name in dict.fromkeys(names)]


def _refused_source(rule):
    """The network whose packets a rule refuses whatever they are, or None."""
    limited = states(rule)
    if (rule.target not in REFUSALS or plain_value(rule, "-i") or "-d" in rule.options or "-p" in rule.options
            or port_ranges(rule) is not None or is_limit(rule) or uses(rule, "mark")
            or limited and "NEW" not in limited):
        return None
    return plain_value(rule, "-s")


def _addresses_of_pods(services):
    """[(number, address)] of endpoints, sorted; those of the API server are nodes."""
    found = {endpoint[0] for service in services or () if not service.name.startswith(_API_SERVER)
             for endpoint in service.endpoints or ()}
    return sorted((number_of(address), address) for address in found if number_of(address) is not None)


def _first_within(pods, network):
    """The first of these addresses in a network, or None. A list of banned clients may have thousands of networks."""
    found = range_of(network)
    if found is None:
        return None
    at = bisect.bisect_left(pods, (found[0], ""))
    return pods[at][1] if at < len(pods) and pods[at][0] <= found[1] else None


def _passes(rule, address):
    """Whether a rule lets all packets of an address pass."""
    source = plain_value(rule, "-s")
    return (rule.target in ("ACCEPT", "RETURN") and not rule.matches and not set(rule.options) - {"-s"}
            and (source is None or bool(within(address, source))))


def _accepts_more(rule):
    """Whether a rule accepts more than replies, loopback, ICMP and single ports."""
    limited, ports = states(rule), port_ranges(rule)
    if (rule.target != "ACCEPT" or rule.chain in ("KUBE-FORWARD", "FORWARD", "OUTPUT")
            or plain_value(rule, "-i") == "lo" or limited and "NEW" not in limited or plain_value(rule, "-p") in _ICMP):
        return False
    return ports is None or any(last - first >= _MANY_PORTS for first, last in ports)
