# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnel of the network plugin between nodes. PRIVATE to the collection."""

from ... import _names
from ..._parse.proc.network_files import parse_proc_net_route

_LINKS, _ROUTES = "/sys/class/net", "/proc/net/route"
_LIMIT = 4 << 20


def tunnel_between_nodes(host, rules):
    """`Setting.tunnel()`; a firewall that refuses packets to the node asks for it."""
    if rules.source != "live" and not rules.of_tree:
        return None
    from ..._rules.others.node_packets import tunnel_of
    listed = host.read_text("/proc/net/dev").text
    names = {line.partition(":")[0].strip() for line in listed.splitlines() if ":" in line}
    routed = {interface for _network, interface in _routes(host)}
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
    paths = [_ROUTES] + ([_names.BUNDLE_SOME_ROUTES + "/route"] if host.root != "/" else [])
    return [tuple(route) for path in paths
            for route in parse_proc_net_route(host.read_text(path, _LIMIT).text, gateways=True)]
