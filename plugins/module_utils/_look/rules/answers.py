# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems of the rules that were read, their owners, and the Services that they route.

Networks of this node's interfaces in which Services have addresses, too.

The Service default/kubernetes has the first address of the range of Services, and its endpoints have addresses of nodes
(kubernetes pkg/controlplane). Where a network has both, a Service may get the address of a node. Other Services may
have addresses of the nodes' network on purpose, from a load balancer.
"""

import heapq
import ipaddress
import itertools
import re

from ..._host.host import OK
from ..._names import BUNDLE_SOME_ROUTES
from ..._parse.iptables.ruleset import RuleSet
from ..._parse.proc.network_files import parse_proc_net_ipv6_route, parse_proc_net_route
from ..._rules.kube_proxy.anchors import ask_unrepaired
from ..._rules.nft.kube_tables import ask_nftables
from ..._rules.nft.service_chains import digest_nft_services, list_nft_services
from ..._rules.observation import merged, observe, with_repair
from ..._rules.others.hostports import captures
from ..._rules.others.leftovers import in_use
from ..._rules.others.owners import count_owners
from ..._rules.questions import ask
from ..._rules.services.endpoints import Reached
from ..._rules.services.services import (
    API_SERVER, NODE_PORT, addressed_jumps, digest, list_services, networks_of, routed_services, rules_per_service,
)
from .nft_native import native_rows
from .nftables import confirmed

ROUTES_LIMIT, ROWS_LIMIT = 4 * 1024 * 1024, 4
# A wider network is that of a whole company, of which nodes have a part.
_LONGEST = {4: 16, 6: 48}
_PREFIX = re.compile(r"^\d+: +(\S+) +inet6? ([0-9a-f.:]{2,45}/\d{1,3})", re.MULTILINE)


def shared_networks(host, services, rule_sets):
    """[{"network", "interface", "address", "server"}]: `address` is the first one of the range of Services, `server`
    that of an API server; `services` is [Service] or None."""
    servers = [(service.address, service.endpoints or ()) for service in services or ()
               if service.name.startswith(API_SERVER) and service.address != NODE_PORT]
    if services is None:
        # A part of the rules may show this Service.
        tables = [rule_set.tables["nat"] for rule_set in rule_sets if "nat" in rule_set.tables]
        servers = [(address, Reached(nat).by(target)[0]) for nat in tables
                   for _chain, address, _protocol, _port, target, comment in addressed_jumps(nat)
                   if address and (comment or "").startswith(API_SERVER)]
    return [{"network": str(network), "interface": interface[:15], "address": address, "server": server}
            for network, interface in (_attached(host) if servers else ())
            for address, ends in servers if _has(network, address)
            for server in sorted({end[0] for end in ends if _has(network, end[0])})[:1]][:ROWS_LIMIT]


def _attached(host):
    """[(network, interface)] directly behind the interfaces."""
    found = {}
    for name, parse in (("route", parse_proc_net_route), ("ipv6_route", parse_proc_net_ipv6_route)):
        text = host.read_text("/proc/net/" + name, ROUTES_LIMIT)
        if not text.ok and host.root != "/":
            text = host.read_text("%s/%s" % (BUNDLE_SOME_ROUTES, name), ROUTES_LIMIT)
        found.update({route.network: route.interface for route in (parse(text.text) if text.ok else ())
                      if route.network})
    if not found and host.root != "/":
        # A bundle may have the addresses alone.
        answer = host.run(["ip", "-o", "addr", "show"], limit=ROUTES_LIMIT)
        found = {address: interface for interface, address in _PREFIX.findall(answer.out if answer.ok else "")}
    networks = [(_network(text), interface) for text, interface in found.items() if interface != "lo"]
    return sorted([row for row in networks if row[0] and not row[0].is_link_local and _LONGEST[
        row[0].version] <= row[0].prefixlen < row[0].max_prefixlen], key=lambda row: (row[0].version, row[0]))


def _network(text):
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _has(network, address):
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False


_TABLES = ("filter", "mangle", "nat", "raw", "security")
TABLE, CHAIN = "cni_hostport", "hostports"
LIST_SECONDS, LIST_LIMIT = 30.0, 8 * 1024 * 1024
_FAMILIES = (("ipv4", "ip"), ("ipv6", "ip6"))
_RULE = re.compile(r"^\t\t((tcp|udp|sctp) dport (\d{1,5}) dnat (?:ip6? )?to [0-9a-f.:\[\]]+)(?: |$)", re.MULTILINE)


def answer(host, rules, situation, options):
    """The part of the section node_iptables_chains that depends on the rules; `options` as in iptables_chains.py."""
    elsewhere = _elsewhere(host, rules, situation.mode)
    observations, more = ask(_askable(rules), situation.of, elsewhere, situation.used)
    if rules.source == "live":
        observations, more = confirmed(host, rules, observations, more)
        observations = observations + nft_hostports(host, rules, situation.setting.ports)
    observations = observations + list(ask_unrepaired(observations, rules.rule_sets, situation.of))
    if rules.source:
        observations = merged(observations + native_rows(host, rules, lambda: _routed(host, rules, situation),
                                                         situation.setting.tunnel))
    if rules.nftables:
        observations = merged(observations + ask_nftables(rules.nftables, situation.of(RuleSet("live", None, "nft"))))
    observed, examples = {}, []
    counts = {}
    for row in observations:
        observed[row["kind"]] = observed.get(row["kind"], 0) + row["count"]
        counts[row["kind"]] = counts.get(row["kind"], 0) + 1
        if counts[row["kind"]] <= options["max_offenders"]:
            examples.append(row)
    if examples:
        from ..._rules.services.chain_names import with_names
        programs = _programs(rules.commands)
        examples = with_names([with_repair(row, programs) for row in examples], rules.rule_sets)
    limit = options["max_offenders"]
    left_out = {kind: counts[kind] - limit for kind in counts if counts[kind] > limit}
    for place, count in more.items():
        observed[place[0]] = observed.get(place[0], 0) + count
        left_out[place[0]] = left_out.get(place[0], 0) + count
    owners = [row for found in rules.rule_sets for row in count_owners(found)]
    services = elsewhere if situation.mode == "nftables" else _listed(rules, situation)
    found = _services(rules, situation, options, services)
    found["networks"]["shared"] = shared_networks(host, services, rules.rule_sets) if rules.source else []
    return dict(found, observations=examples, observed=observed, left_out=left_out, owners=owners)


def _programs(commands):
    """{(family, backend): the iptables beside the program that printed these rules}."""
    names = {source: command[0].rsplit("/", 1)[-1] for source, command in commands.items() if len(command) == 1}
    return {tuple(reversed(source.split("_", 1))): name[:-len("-save")] for source, name in names.items()
            if name.endswith("-save")}


def _elsewhere(host, rules, mode):
    """[Service] where they are not in rules, otherwise None."""
    if mode == "ipvs" and rules.source == "live":
        # Its parser is compiled on nodes of this mode only.
        from ..ipvs.ipvs import ipvs_services
        return ipvs_services(host)
    return list_nft_services(rules.nftables) if rules.nftables else None


def _routed(host, rules, situation):
    """([Service] against which traffic is judged, in any mode, whether the list is complete)."""
    if situation.mode == "iptables" and rules.source == "files":
        # A dump whose form does not print some rules removes no Service that another dump shows.
        known = _lists(rules, situation)
        return _each_once([listed for listed in known if listed]), bool(known) and None not in known
    listed = _elsewhere(host, rules,
                        situation.mode) if situation.mode in ("ipvs", "nftables") else _listed(rules, situation)
    return listed or [], listed is not None


def _services(rules, situation, options, services):
    """The Services that kube-proxy routes to; null where some could not be read, and in ipvs mode, where they
    are not in rules."""
    counts = digest_nft_services(services) if situation.mode == "nftables" else digest(services)
    shown = heapq.nsmallest(options["max_services"], services or [], lambda service: (
        service.family or "", service.address, service.port, service.protocol))
    return {
        "services": counts["service_count"], "rules_per_service": rules_per_service(rules.rule_sets, services)
        if situation.mode == "iptables" else None, "service_rows": [
            {"family": service.family, "address": service.address, "port": service.port, "protocol": service.protocol,
             "name": service.name, "endpoints": None if service.endpoints is None else len(service.endpoints)}
            for service in shown], "service_rows_left_out": len(services or []) - len(shown),
        "networks": _networks(rules, situation, services), "digest": dict(counts, read_at=rules.read_at)}


def _networks(rules, situation, services):
    """The networks of Services and endpoints. A dump of table nat alone shows the addresses of Services; the others of
    Services without endpoints are near them."""
    found = networks_of(services)
    if services is None and situation.mode == "iptables" and rules.source == "files" and not rules.unread:
        shown = [listed for listed in map(routed_services, rules.rule_sets) if listed]
        if shown:
            partly = networks_of(_each_once(shown))
            found.update(services=partly["services"], services_left_out=partly["services_left_out"])
    return found


def _listed(rules, situation):
    """[Service] of iptables mode, each (family, address, port, protocol) once, or None."""
    if situation.mode != "iptables" or any(row["source"] != "nftables" for row in rules.unread):
        return None
    lists = _lists(rules, situation)
    return None if None in lists else _each_once([listed for listed in lists if listed])


def _lists(rules, situation):
    return [list_services(rule_set) for rule_set in rules.rule_sets
            if in_use(rule_set, rules.rule_sets, situation.used)]


def _each_once(lists):
    if len(lists) == 1:
        return lists[0]
    found = {}
    for service in itertools.chain.from_iterable(lists):
        found.setdefault(service[:4], service)
    return list(found.values())


def _askable(rules):
    """The rule sets, and for each source that could not be read a rule set with unreadable tables: chains that are not
    seen there do not count as missing."""
    missing = [source.split("_") for source, status in sorted(rules.collected.items())
               if rules.source == "live" and status not in ("ok", "absent")]
    unknown = [RuleSet("live", words[1], words[0]) for words in missing if len(words) == 2]
    for found in unknown:
        found.unreadable = list(_TABLES)
    # A kernel without any table has no chain.
    nothing = [RuleSet("live", "ipv4")] if rules.source == "live" and not rules.rule_sets and not unknown else []
    return rules.rule_sets + unknown + nothing


# Host ports in the tables that portmap writes with nft, which no iptables-save prints.
# The CNI plugin writes these tables where its configuration demands nftables, or where iptables does not work
# (containernetworking/plugins plugins/meta/portmap/portmap_nftables.go). One chain of each family is listed, which
# takes milliseconds; nft loads nothing where nf_tables is in memory.
def nft_hostports(host, rules, ports):
    """[hostport_capture] of both families; `ports` as in Setting. What could not be read goes into `rules.unread`."""
    found = []
    if rules.nf_tables != OK or not ports or host.find_binary("nft") is None:
        return found
    for family, name in _FAMILIES:
        done = host.run(["nft", "list", "chain", name, TABLE, CHAIN], LIST_SECONDS, LIST_LIMIT)
        if done.status == OK and done.rc == 0:
            rule_set = RuleSet("live", family, "nft")
            found += [observe("hostport_capture", rule_set, "%s %s" % (name, TABLE), CHAIN, text, 1,
                              captures(ports, protocol, int(port))) for text, protocol, port in _RULE.findall(done.out)
                      if (protocol, int(port)) in ports]
        elif done.status != OK or "No such file or directory" not in done.err:
            rules.miss("nft_" + family, None, "nft did not list the host ports of table %s %s" % (name, TABLE), TABLE)
    return found
