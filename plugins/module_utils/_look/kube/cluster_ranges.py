# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks that the node is in, and the range from which its API server assigns addresses to Services. PRIVATE to
the collection."""

from ..._host.host import ABSENT, OK
from ..._parse.proc.net_route import parse_proc_net_ipv6_route, parse_proc_net_route
from ..agents import of_this_network
from ..processes import find_processes, option_of
from .embedded_arguments import K3S_CONFIG, MICROK8S_ARGUMENTS, k3s_options, microk8s_arguments

NETWORKS_LIMIT, RANGES_LIMIT = 8, 4
# About 30,000 routes, as on a node that learns the routes of all other nodes.
ROUTES_LIMIT = 4 * 1024 * 1024
# Link-local and multicast, which are behind every interface.
_EVERYWHERE = ("169.254.", "224.", "fe80:", "ff00:")
# Program that is or contains the API server -> its flag.
_API_SERVERS = {"kube-apiserver": "service-cluster-ip-range", "k3s-server": "service-cidr",
                "kubelite": "service-cluster-ip-range"}


def node_networks(host):
    """(status, [{"family", "network", "interface"}]): the networks directly behind the interfaces of the default
    routes. Bridges and tunnels of pods have no default route."""
    found, statuses = [], []
    for family, path, parse in (("ipv4", "/proc/net/route", parse_proc_net_route),
                                ("ipv6", "/proc/net/ipv6_route", parse_proc_net_ipv6_route)):
        text = host.read_text(path, ROUTES_LIMIT)
        # A kernel without IPv6 has no such file.
        statuses += [text.status] if text.status != ABSENT or family == "ipv4" else []
        routes = parse(text.text) if text.ok else []
        uplinks = {route.interface for route in routes if route.network is None}
        found += [{"family": family, "network": route.network, "interface": route.interface} for route in routes
                  if route.network and route.interface in uplinks and not route.network.startswith(_EVERYWHERE)]
    return next((status for status in statuses if status != OK), OK), found[:NETWORKS_LIMIT]


def service_ranges(host):
    """(status, [range], its source or None) of an API server that runs here; `absent` where no API server runs."""
    status, processes = find_processes(host, _API_SERVERS)
    servers = of_this_network(host, processes)
    statuses = [status] if status != OK or servers else [ABSENT]
    for process in servers:
        flag = _API_SERVERS[process.name]
        read, text, source = OK, process.option(flag), "--%s of %s" % (flag, process.name)
        if not text:
            read, text, source = _in_files(host, process.name, flag)
        ranges = [part.strip() for part in (text or "").split(",") if part.strip()]
        if ranges:
            return OK, ranges[:RANGES_LIMIT], source
        statuses.append(read)
    return next((status for status in statuses if status != OK), OK), [], None


def _in_files(host, program, flag):
    """(status, text or None, its source) from the files that a program takes arguments from; a program without such
    files, and files that do not exist, are `ok`."""
    status, text, source = OK, None, None
    if program == "k3s-server":
        status, options = k3s_options(host, (flag,))
        text, source = ",".join((options or {}).get(flag, [])), "%s in %s" % (flag, K3S_CONFIG)
    elif program == "kubelite":
        status, arguments = microk8s_arguments(host, "kube-apiserver")
        text, source = option_of(arguments, flag), "%s in %s" % (flag, MICROK8S_ARGUMENTS % "kube-apiserver")
    return OK if status == ABSENT else status, text, source
