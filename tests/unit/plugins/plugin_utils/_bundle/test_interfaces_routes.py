# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes in pasted sessions, as the files of the kernel."""

import bundles
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._names import BUNDLE_SOME_ROUTES
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.network_files import (
    parse_proc_net_ipv6_route, parse_proc_net_route,
)
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import interfaces

IP = ("default via 192.168.12.1 dev ens3 proto dhcp src 192.168.12.22 metric 100\n"
      "192.168.12.0/24 dev ens3 proto kernel scope link src 192.168.12.22 metric 100\n"
      "10.244.2.0/24 dev cni0 proto kernel scope link src 10.244.2.1\n"
      "10.244.3.0/24 via 10.244.3.0 dev flannel.1 onlink\n"
      "blackhole 10.244.9.0/26 proto bird\n172.17.0.0/16 dev docker0 proto kernel scope link src 172.17.0.1 linkdown\n")
NUMERIC = ("Kernel IP routing table\n"
           "Destination     Gateway         Genmask         Flags Metric Ref    Use Iface\n"
           "0.0.0.0         192.168.12.1    0.0.0.0         UG    100    0        0 ens3\n"
           "10.244.2.0      0.0.0.0         255.255.255.0   U     0      0        0 cni0\n"
           "10.244.3.0      10.244.3.0      255.255.255.0   UG    0      0        0 flannel.1\n"
           "10.244.9.0      -               255.255.255.192 !     0      -        0 -\n"
           "172.17.0.0      0.0.0.0         255.255.0.0     U     0      0        0 docker0\n"
           "192.168.12.0    0.0.0.0         255.255.255.0   U     100    0        0 ens3\n")
SIX = ("::1 dev lo proto kernel metric 256 pref medium\nfd00:12::/64 dev ens3 proto ra metric 100 pref medium\n"
       "fe80::/64 dev ens3 proto kernel metric 1024 pref medium\n"
       "default via fe80::1 dev ens3 proto ra metric 100 pref medium\n")
OTHER = IP.replace("192.168.", "172.16.")
POD = "default via 10.244.2.1 dev eth0\n10.244.2.0/24 dev eth0 scope link  src 10.244.2.7\n"

PROMPT = "root@w2:~# %s\n%s"
POLICY = {"pod_ranges": ["192.168.0.0/16"]}


@pytest.mark.parametrize("text", [IP, NUMERIC, NUMERIC.replace("Metric Ref    Use", "  MSS Window  irtt")])
def test_routes_of_ipv4(text):
    content = interfaces.routes_of_text(text, True)["/proc/net/route"]
    assert {(route.network, route.interface) for route in parse_proc_net_route(content)} == {
        (None, "ens3"), ("192.168.12.0/24", "ens3"), ("10.244.2.0/24", "cni0"), ("172.17.0.0/16", "docker0")}
    assert ("10.244.3.0/24", "flannel.1") in parse_proc_net_route(content, gateways=True)
    assert set(interfaces.routes_of_text(text, False)) == {BUNDLE_SOME_ROUTES + "/route"}


def test_routes_of_ipv6():
    content = interfaces.routes_of_text(SIX, True)["/proc/net/ipv6_route"]
    assert [(route.network, route.interface) for route in parse_proc_net_ipv6_route(content)] == [
        ("::1/128", "lo"), ("fd00:12::/64", "ens3"), ("fe80::/64", "ens3"), (None, "ens3")]


@pytest.mark.parametrize("text", [
    POD, "192.168.12.1 dev ens3 lladdr fa:16:3e:00:00:01 REACHABLE\n", "192.168.12.9 dev ens3 FAILED\n",
    "10.96.0.1 via 192.168.12.1 dev ens3 src 192.168.12.22 uid 0\n    cache\n",
    "local 192.168.12.22 dev ens3 table local proto kernel scope host src 192.168.12.22\n",
    "fa:16:3e:00:00:01 dev flannel.1 dst 192.168.12.23 self permanent\n", "999.1.1.1/24 dev ens3\n", "/99 dev x\n"])
def test_what_is_no_route_of_the_node(text):
    assert interfaces.routes_of_text(text, True) == {}


def test_a_default_route_over_several_gateways():
    text = ("default proto static metric 20\n\tnexthop via 10.1.1.1 dev ens9 weight 1\n"
            "\tnexthop via 10.1.2.1 dev ens10 weight 1\n")
    content = interfaces.routes_of_text(text, True)["/proc/net/route"]
    assert [route.interface for route in parse_proc_net_route(content) if not route.network] == ["ens9", "ens10"]


@pytest.mark.parametrize("text, status", [
    (PROMPT % ("ip route", IP), "fail"), (PROMPT % ("sudo route -n", NUMERIC), "fail"),
    (PROMPT % ("netstat -rn", NUMERIC), "fail"), (PROMPT % ("ip r | grep ens3", IP), "fail"), (IP, "fail"),
    (PROMPT % ("ip r", OTHER) + PROMPT % ("ip -6 r", SIX), "pass"), (PROMPT % ("ip r", OTHER), "pass"),
    # Another network may follow where a listing is cut.
    (PROMPT % ("ip r | head -2", OTHER), "skip"), ("The routes:\n" + OTHER, "skip"),
    # Pods may have addresses of the nodes' network on purpose, where no interface shows the contrary.
    (PROMPT % ("ip r", IP.replace("flannel.1", "azv0123456789").replace("cni0", "docker1")), "skip"),
    (PROMPT % ("kubectl exec web-0 -- ip route", IP), "skip"), (PROMPT % ("ip route", POD), "skip"),
    (PROMPT % ("kubectl exec -it web -- sh", "") + PROMPT % ("exit", "") + PROMPT % ("ip route", IP), "fail")])
def test_pods_in_the_network_of_nodes(tmp_path, text, status):
    found, _evidence = bundles.judged(bundles.folder(tmp_path, {"node.txt": text + "root@w2:~# \n"}), **POLICY)
    assert {finding["status"] for finding in found["CNI002"]} == {status}
