# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of ipvs mode: virtual servers whose addresses are on the dummy interface."""

import ip_vs
import pytest

from fake_tools import LIVE, LOADED, script, tools, unpacked
from node_manifests import merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.services import ipvs_services
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service

SERVERS = (ip_vs.HEADING + ip_vs.four("10.96.0.10", 53, protocol="UDP") + ip_vs.real("10.244.1.2", 53)
           + ip_vs.real("10.244.1.3", 53, weight=0) + ip_vs.four("192.0.2.11", 30080) + ip_vs.real("10.244.1.2", 8080)
           + ip_vs.mark(7) + ip_vs.six("fd00:10:96::1", 443))
ADDRESSES = """echo '7: kube-ipvs0    inet 10.96.0.10/32 scope global kube-ipvs0\\       valid_lft forever preferred_lft forever'
echo '7: kube-ipvs0    inet6 fd00:10:96::1/128 scope global \\       valid_lft forever preferred_lft forever'"""
NODE = {"proc/net/ip_vs": SERVERS, "usr/sbin/ip": script(ADDRESSES)}


def test_what_is_on_the_dummy_interface(tmp_path):
    assert ipvs_services(unpacked(tmp_path, NODE)) == [
        Service("ipv4", "10.96.0.10", 53, "udp", "", (("10.244.1.2", 53, "udp"),), True, None),
        Service("ipv6", "fd00:10:96::1", 443, "tcp", "", (), False, None)]


@pytest.mark.parametrize("node", [{}, {"proc/net/ip_vs": SERVERS}, {"usr/sbin/ip": script(ADDRESSES)},
                                  {"proc/net/ip_vs": SERVERS, "usr/sbin/ip": script("exit 1")}])
def test_what_nobody_can_tell(node, tmp_path):
    assert ipvs_services(unpacked(tmp_path, node)) is None


DUMP = """*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:MINE - [0:0]
-A INPUT -j MINE
-A MINE -d 10.96.0.0/12 -p udp -j DROP
COMMIT
"""


@pytest.mark.parametrize("mode, drops", [("ipvs", 1), ("iptables", 0)])
def test_a_firewall_that_keeps_packets_from_ipvs(mode, drops, tmp_path):
    host = unpacked(tmp_path, LOADED,
                    merged(tools('case $name in iptables*) cat "${0%/*}/dump";; esac'), {"usr/sbin/dump": DUMP}), NODE)
    section = collect_iptables_chains(host, LIVE, {"proxy_mode": mode}, {"mode": None, "version": None},
                                      {"running": False, "version": None, "version_source": None})
    assert section["observed"].get("unexpected_drop", 0) == drops
