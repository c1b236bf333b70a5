# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host ports and redirections that capture the ports of the node's own services. PRIVATE to the collection.

Host ports that lead to two pods, of which the first one is gone, or to none.

The scheduler gives a host port to one pod of a node. Where the plugin could not delete the rules of a pod
(containernetworking plugins portmap, kubernetes pkg/kubelet/dockershim/network/hostport), they stay before those of the
next pod with that port and get all its connections. For hostIP 0.0.0.0 releases of portmap before 0.8.7 wrote that
address into the rule, and no packet has it (containernetworking/plugins, change 487).

Redirections of proxies (Clash, redsocks, Squid) that take connections to the API server.

Such a proxy takes all TCP except that to a list of networks, which it calls local. Where the network of the nodes is
not among these, it receives what other nodes and pods send to the API server of this node, and what kubelet and
kube-proxy here send to that of another one.
"""

import ipaddress
import itertools

from ..observation import cut, observe
from ..rules import all_but_ports, match_options, number_of, plain_value, port_ranges, to_local
from ..services.endpoints import Reached
from ..services.services import addressed_jumps, list_services
from ..tables import BUILT_IN, rules_of, table_of
from .owners import KUBERNETES, OTHER, owner_of

# The port of default/kubernetes (kubernetes pkg/controlplane/controller/kubernetesservice).
_API_SERVICE = 443
_TRANSLATIONS = ("DNAT", "REDIRECT")
# A rule with one of these targets before a translation exempts its port from the translation.
_EXEMPTIONS = ("ACCEPT", "RETURN")
# Matches that may stand beside a port; a set, a mark or an owner limits the rule to some clients.
_BESIDE = frozenset(("addrtype", "conntrack", "limit", "multiport", "nfacct", "recent", "state", "statistic", "tcp",
                     "udp"))
_SURE = frozenset(("addrtype", "multiport", "tcp", "udp"))


def ask_hostports(rule_set, setting):
    """hostport_capture: a DNAT or REDIRECT that takes a port of `setting.ports` on every address of the node."""
    table = table_of(rule_set, "nat")
    if table is None or not setting.ports:
        return
    targets = None
    for chain in table.unfolded():
        if not any(_translates(rule) for rule in table.chains[chain].rules):
            continue
        for rule, protocol, port in _of_chain(chain, table.chains[chain].rules, setting.ports):
            targets = table.targets() if targets is None else targets
            if chain in BUILT_IN or chain in targets:
                yield observe("hostport_capture", rule_set, "nat", chain, rule.text, 1,
                              captures(setting.ports, protocol, port))


def ask_before_services(rule_set, setting):
    """anchor_shadowed where no Service was read, as in a listing of PREROUTING alone: a translation of port 443 on all
    addresses that stands before KUBE-SERVICES. default/kubernetes has that port in every cluster."""
    before = _before_services(rule_set) if setting.mode in (None, "iptables") else ()
    for rule in before if before and not list_services(rule_set) else ():
        ranges = port_ranges(rule)
        if (rule.target in _TRANSLATIONS and set(rule.options) == {"-p"} and plain_value(rule, "-p") in ("tcp", "6")
                and {name for name, _options in rule.matches} <= {"tcp", "multiport"}
                and any(first <= _API_SERVICE <= last for first, last in ranges or ())):
            yield observe("anchor_shadowed", rule_set, "nat", "PREROUTING", rule.text, 1,
                          "takes connections of pods to port 443 of all addresses, as of default/kubernetes, before "
                          "KUBE-SERVICES")


def ask_host_ports_of_ipvs(rule_set, setting):
    """anchor_shadowed: in ipvs mode the addresses of Services are addresses of the node, so a host port that
    PREROUTING leads to before KUBE-SERVICES takes its port of every Service. default/kubernetes has port 443."""
    table = table_of(rule_set, "nat")
    for jump in _before_services(rule_set) if setting.mode == "ipvs" else ():
        if owner_of(jump.target or "", "nat") != "portmap" or jump.target not in table.chains or not _everywhere(jump):
            continue
        inner = [table.chains[rule.target].rules for rule in table.chains[jump.target].rules
                 if rule.target in table.chains and _everywhere(rule) and not plain_value(rule, "-d")]
        for rule in itertools.chain.from_iterable(inner):
            if (rule.target == "DNAT" and set(rule.options) == {"-p"} and port_ranges(rule) == [(_API_SERVICE,) * 2]
                    and plain_value(rule, "-p") == "tcp" and _everywhere(rule)):
                yield observe("anchor_shadowed", rule_set, "nat", "PREROUTING", jump.text, 1,
                              "leads port 443 of every Service, as of default/kubernetes, to the pod with this host "
                              "port before KUBE-SERVICES (%s), because in ipvs mode addresses of Services are "
                              "addresses of the node" % rule.value("--to-destination"))
                return


def ask_node_ports(rule_set, _setting):
    """hostport_capture: a translation before KUBE-SERVICES takes a NodePort, as of Docker Swarm."""
    table = table_of(rule_set, "nat")
    names = {rule.target for rule in _before_services(rule_set)
             if rule.target in table.chains and owner_of(rule.target, "nat") not in KUBERNETES}
    translating = {name for name in names if any(map(_translates, table.chains[name].rules))}
    if not translating:
        return
    ports = {(protocol, port): (comment or "").partition(" ")[0] for _chain, address, protocol, port, _target, comment
             in addressed_jumps(table) if not address}
    for name in sorted(translating):
        for rule, protocol, port in _of_chain(name, table.chains[name].rules, ports):
            if port_ranges(rule):
                yield observe("hostport_capture", rule_set, "nat", name, rule.text, 1,
                              "takes the NodePort %d/%s of %s before KUBE-SERVICES" % (
                                  port, protocol, ports[(protocol, port)] or "a Service"))


def _before_services(rule_set):
    """The rules of PREROUTING before its jump to KUBE-SERVICES; empty without that jump."""
    rules = rules_of(table_of(rule_set, "nat"), "PREROUTING")
    before = list(itertools.takewhile(lambda rule: rule.target != "KUBE-SERVICES", rules))
    return before if len(before) < len(rules) else []


def captures(ports, protocol, port):
    """The problem of a rule that captures one of `Setting.ports`."""
    return "takes port %d/%s of %s on every address of the node" % (port, protocol, ports[(protocol, port)])


def _of_chain(chain, rules, ports):
    """(rule, protocol, port) of the ports that the rules of a chain capture."""
    exempt = set()
    for rule in rules:
        if rule.target in _EXEMPTIONS and all(name in _SURE for name, _options in rule.matches):
            exempt.update(_taken(rule, ports, chain in BUILT_IN))
        elif _translates(rule):
            for protocol, port in _taken(rule, ports, chain in BUILT_IN):
                # A REDIRECT without a port, or to the same, leads to the node's own service.
                if (protocol, port) not in exempt and (rule.target != "REDIRECT"
                                                       or rule.value("--to-ports") not in (None, str(port))):
                    yield rule, protocol, port


def _translates(rule):
    """DNAT and REDIRECT, or the jump of kubelet's old host ports, whose DNAT does not repeat the port
    (KUBE-HOSTPORTS)."""
    return rule.target in _TRANSLATIONS or (rule.target or "").startswith("KUBE-HP-")


def _taken(rule, ports, all_pass):
    """The ports that a rule matches; `all_pass`: every packet reaches its chain, so without a port it matches all."""
    if not _everywhere(rule):
        return []
    ranges, but = port_ranges(rule), all_but_ports(rule)
    if ranges is None and but is None:
        if not all_pass or any(options for name, options in rule.matches if name != "addrtype"):
            return []
        but = []
    protocol, negated = rule.options.get("-p", (None, False))
    return sorted(key for key in ports if (protocol is None or (key[0] == protocol) is not negated)
                  and any(first <= key[1] <= last
                          for first, last in (but if ranges is None else ranges)) is (ranges is not None))


def _everywhere(rule):
    """True unless the rule is limited to one address or to some clients; addrtype LOCAL means all of the node."""
    types = match_options(rule, "addrtype")
    if rule.options.get("-s") or ((rule.options.get("-d") or types)
                                  and not to_local(rule)) or any(option == "--src-type" for option, _v, _n in types):
        return False
    return plain_value(rule, "-i") != "lo" and all(name in _BESIDE for name, _options in rule.matches)


_CHAINS = ("CNI-HOSTPORT-DNAT", "KUBE-HOSTPORTS")
_MOST_PORTS = 64
_NO_PACKET = ("0.0.0.0/32", "::/128")


def ask_hostport_pods(rule_set, _setting):
    """hostport_stale of one rule set: a jump to the rules of a pod, behind which another pod has the same port."""
    table = table_of(rule_set, "nat")
    for chain in sorted(table.chains) if table is not None else ():
        dead = [rule for rule in table.chains[chain].rules if rule.target == "DNAT"
                and plain_value(rule, "-d") in _NO_PACKET] if owner_of(chain, "nat") == "portmap" else ()
        if dead:
            yield observe("hostport_stale", rule_set, "nat", chain, dead[0].text, len(dead),
                          "no packet has the address %s, so the host port leads to no pod" % plain_value(dead[0], "-d"))
    for chain in _CHAINS:
        first, noted = {}, set()
        for rule in rules_of(table, chain):
            for key, end in _leads(table, rule):
                earlier, before = first.setdefault(key, (rule, end))
                if earlier is rule or before == end or earlier.text in noted:
                    continue
                noted.add(earlier.text)
                yield observe("hostport_stale", rule_set, "nat", chain, earlier.text, 1,
                              "host port %d/%s leads to %s, and the later rule to %s has no effect: the earlier one is "
                              "left over from a pod that is gone" % (key[1], key[0], before, end))


def _leads(table, rule):
    """[((protocol, port, address of the host or None), where it leads)] of a jump, or the name of its chain."""
    translating = [each for each in rules_of(table, rule.target) if each.target == "DNAT"]
    # The chain of kubelet's host ports does not repeat the port.
    found = [(each, each.value("--to-destination")) for each in translating if port_ranges(each)]
    to = translating[0].value("--to-destination") if translating and not found else rule.target
    for each, end in found or [(rule, to)]:
        protocol = plain_value(each, "-p")
        for start, last in port_ranges(each) or ():
            for port in range(start, min(last, start + _MOST_PORTS) + 1) if protocol and end else ():
                yield (protocol, port, plain_value(each, "-d")), end


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
