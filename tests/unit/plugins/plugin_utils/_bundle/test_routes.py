# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listings of routes become the file of the kernel, those of a pod do not."""

import bundles
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.network_files import parse_proc_net_route
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.routes import routes

NODE = """\
default via 192.168.33.1 dev enp0s8 proto static
10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink
192.168.33.0/24 dev enp0s8 proto kernel scope link src 192.168.33.11
blackhole 192.168.91.64/26 proto bird
"""
TABLE = """\
Kernel IP routing table
Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
0.0.0.0         192.168.33.1    0.0.0.0         UG    100    0        0 enp0s8
10.244.2.0      10.244.2.0      255.255.255.0   UG    0      0        0 flannel.1
192.168.33.0    0.0.0.0         255.255.255.0   U     0      0        0 enp0s8
"""
POD = """\
default via 10.244.1.1 dev eth0
10.244.0.0/16 via 10.244.1.1 dev eth0
10.244.1.0/24 dev eth0 proto kernel scope link src 10.244.1.5
"""
PROXY = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clusterCIDR: %s
mode: iptables
"""


@pytest.mark.parametrize("text", [NODE, TABLE])
def test_routes_of_a_node(text):
    found = parse_proc_net_route(routes(text)["/proc/net/route"])
    assert [tuple(row) for row in found] == [(None, "enp0s8"), ("192.168.33.0/24", "enp0s8")]


@pytest.mark.parametrize("text", [
    POD, NODE.split("\n", 1)[1], "", NODE.replace("flannel.1", "azv0123456789"), NODE.replace("flannel.1", "docker0")])
def test_other_routes(text):
    assert routes(text) == {}


@pytest.mark.parametrize("text, pods, status", [
    (NODE, "192.168.0.0/16", "fail"), (TABLE, "192.168.0.0/16", "fail"), (NODE, "10.244.0.0/16", "pass"),
    (POD, "10.244.0.0/16", "skip")])
def test_ranges_of_pods_are_compared_with_pasted_routes(text, pods, status, tmp_path):
    folder = bundles.folder(tmp_path, {"ip-route.txt": text, "kube-proxy.yaml": PROXY % pods})
    found = bundles.judged(folder, cni="flannel")[0]
    assert {row["status"] for row in found["CNI002"]} == {status}
