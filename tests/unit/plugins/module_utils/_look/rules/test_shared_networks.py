# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks of interfaces in which the API server has an address, and its Service, too."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.shared_networks import shared_networks
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import routes

ROUTES = ("default via 10.0.2.2 dev eth0\n10.0.2.0/24 dev eth0 scope link\n%s dev eth1 scope link\n"
          "10.200.2.0/24 via 10.32.0.22 dev eth1\n")


def kubernetes(address, *servers, name="default/kubernetes:https"):
    return Service("ipv4", address, 443, "tcp", name, [(server, 6443, "tcp") for server in servers], True, True)


@pytest.mark.parametrize("network, service, shares", [
    ("10.32.0.0/24", kubernetes("10.32.0.1", "10.32.0.10", "10.32.0.11"), True),
    ("10.32.0.0/16", kubernetes("10.32.0.1", "10.32.7.10"), True),
    ("192.168.7.0/24", kubernetes("10.32.0.1", "192.168.7.10"), False),
    # The API server is elsewhere, or a load balancer, or the network is that of a whole company.
    ("10.32.0.0/24", kubernetes("10.32.0.1", "172.16.0.10"), False), ("10.32.0.0/24", kubernetes("10.32.0.1"), False),
    ("10.0.0.0/8", kubernetes("10.32.0.1", "10.4.0.10"), False),
    # Only a route through a gateway leads there.
    ("192.168.7.0/24", kubernetes("10.200.2.1", "10.200.2.10"), False),
    # MetalLB gives addresses of the nodes' network.
    ("10.32.0.0/24", kubernetes("10.32.0.200", "10.32.0.21", name="shop/web:http"), False),
    ("10.32.0.0/24", kubernetes("nodeport", "10.32.0.21"), False)])
def test_a_network_with_the_api_server_and_its_service(tmp_path, network, service, shares):
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/route").write_text(routes.of_text(ROUTES % network, True)["/proc/net/route"])
    found = shared_networks(Host(str(tmp_path)), [service], [])
    assert found == ([{"network": network, "interface": "eth1", "address": "10.32.0.1",
                       "server": service.endpoints[0][0]}] if shares else [])


def test_a_node_whose_routes_are_not_known(tmp_path):
    assert shared_networks(Host(str(tmp_path), False), [kubernetes("10.32.0.1", "10.32.0.10")], []) == []
