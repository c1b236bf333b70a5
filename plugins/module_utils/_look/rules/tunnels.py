# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnel of the network plugin between nodes."""

from ... import _names
from ..._parse.proc.network_files import parse_proc_net_ipv6_route, parse_proc_net_route

_LINKS, _ROUTES, _ROUTES_IPV6 = "/sys/class/net", "/proc/net/route", "/proc/net/ipv6_route"
_LIMIT = 4 << 20
_OF_ALL = "fe80:", "ff"


def tunnel_between_nodes(host, rules):
    """`Setting.tunnel()`; a firewall that refuses packets to the node asks for it."""
    if rules.source != "live" and not rules.of_tree:
        return None
    from ..._rules.others.node_packets import tunnel_of
    listed = host.read_text("/proc/net/dev").text
    names = {line.partition(":")[0].strip() for line in listed.splitlines() if ":" in line}
    routed = {interface for _network, interface in _routes(host)} | _routed_ipv6(host)
    if rules.of_tree:
        # People show single interfaces, or routes.
        names.update(routed, host.list_dir(_LINKS)[1])
    return tunnel_of(names, routed)


def networks_behind(host, tunnel):
    """The networks of pods that a tunnel leads to."""
    return [network for network, interface in _routes(host) if network and interface == tunnel[0]]


def single_routes(host):
    """`Setting.single_routes()`."""
    return sorted({interface for network, interface in _routes(host) if network and network.endswith("/32")})


def _routes(host):
    """[(network, interface)]; people may show some of all routes."""
    return [tuple(route) for path in _paths(host, _ROUTES)
            for route in parse_proc_net_route(host.read_text(path, _LIMIT).text, gateways=True)]


def _routed_ipv6(host):
    """The names of interfaces with routes of IPv6, other than the link-local and multicast ones that the kernel gives
    every interface (net/ipv6/addrconf.c)."""
    return {interface for path in _paths(host, _ROUTES_IPV6)
            for network, interface in parse_proc_net_ipv6_route(host.read_text(path, _LIMIT).text, gateways=True)
            if network and not network.startswith(_OF_ALL)}


def _paths(host, path):
    return [path] + ([_names.BUNDLE_SOME_ROUTES + path[len("/proc/net"):]] if host.root != "/" else [])
