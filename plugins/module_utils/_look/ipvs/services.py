# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Services that kube-proxy has programmed in ipvs mode, in the same form as in iptables mode.

Their addresses are on the interface kube-ipvs0 (kubernetes pkg/proxy/ipvs/proxier.go); a virtual server with another
address is a NodePort, or belongs to another program."""

from ..._host.host import OK
from ..._rules.services.services import Service
from .ipvs import own_addresses
from .servers import read_servers


def ipvs_services(host):
    """[Service] of both families, None where they could not be read."""
    servers = read_servers(host)
    if servers.file != OK or servers.found is None:
        return None
    own = own_addresses(host)
    if own is None:
        return None
    return [_service(server) for server in servers.found if server.address in own]


def _service(server):
    endpoints = tuple((real.address, real.port, server.protocol) for real in server.real_servers if real.weight)
    return Service(server.family, server.address, server.port, server.protocol, "", endpoints, bool(endpoints), None)
