# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets of pods and Services that table filter refuses as packets to the node itself. PRIVATE to the collection.

A pod reaches the API server and kubelet of its own node through INPUT, and so does each packet to a Service in ipvs
mode, because the virtual addresses are addresses of the node (kernel net/netfilter/ipvs/ip_vs_core.c,
NF_INET_LOCAL_IN).
"""

import bisect

from ..addresses import number_of, range_of, within
from ..observation import observe
from ..rules import is_limit, plain_value, port_ranges, states, uses
from ..services.services import list_services
from ..tables import chains_of, rules_of, table_of
from ..targets import REFUSALS
from .owners import OTHER, owner_of

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
