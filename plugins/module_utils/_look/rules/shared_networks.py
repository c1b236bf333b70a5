# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks of this node's interfaces in which Services have addresses, too.

The Service default/kubernetes has the first address of the range of Services, and its endpoints have addresses of nodes
(kubernetes pkg/controlplane). Where a network has both, a Service may get the address of a node. Other Services may
have addresses of the nodes' network on purpose, from a load balancer."""

import ipaddress
import re

from ..._names import BUNDLE_SOME_ROUTES
from ..._parse.proc.network_files import parse_proc_net_ipv6_route, parse_proc_net_route
from ..._rules.services.networks import API_SERVER
from ..._rules.services.reached import Reached
from ..._rules.services.services import NODE_PORT, addressed_jumps

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
