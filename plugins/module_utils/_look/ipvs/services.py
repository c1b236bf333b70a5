# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Services kube-proxy's ipvs mode has programmed, in the form of those of iptables mode. PRIVATE to the collection.

Their addresses are on the interface kube-ipvs0 (kubernetes pkg/proxy/ipvs/proxier.go); a virtual server with another
address is a NodePort, or somebody else's.
"""

from ..._parse.proc.net_ip_vs import parse_proc_net_ip_vs
from ..._rules.services.services import Service
from .ipvs import PROC_LIMIT, own_addresses


def ipvs_services(host):
    """[Service] of both families, None where they could not be read."""
    listed = host.read_text("/proc/net/ip_vs", PROC_LIMIT)
    if not listed.ok:
        return None
    own = own_addresses(host)
    if own is None:
        return None
    return [_service(server) for server in parse_proc_net_ip_vs(listed.text)[0] if server.address in own]


def _service(server):
    endpoints = tuple((real.address, real.port, server.protocol) for real in server.real_servers if real.weight)
    return Service(server.family, server.address, server.port, server.protocol, "", endpoints, bool(endpoints), None)
