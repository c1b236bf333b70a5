# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_ipvs of large nodes and on this machine, all virtual servers of /proc/net/ip_vs and netlink, and the
Services among them; the rest is in tests/looks/ipvs."""

import socket

import ip_vs
import node_tree
import pytest
from fake_tools import LIVE, LOADED, script, tools, unpacked
from node_manifests import merged

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.netlink import Destination, Server
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.ipvs import collect_ipvs, ipvs_services
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.servers import joined, read_servers
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import (
    RealServer, VirtualServer, parse_proc_net_ip_vs,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service


def look(tmp_path, sets, **files):
    tree = {"proc/net/" + name: text for name, text in files.items()}
    ipset = {"usr/sbin/ipset": script('cat "${0%/*}/sets"'), "usr/sbin/sets": sets, "sys/module/ip_set/x": ""}
    return collect_ipvs(unpacked(tmp_path, tree, ipset), {"place": "live"})


def test_a_large_node_stays_small(tmp_path):
    count = 5000
    addresses = ["10.%d.%d.%d" % (96 + index // 65536, index // 256 % 256, index % 256) for index in range(count)]
    servers = ip_vs.HEADING + "".join(ip_vs.four(address, 80) + (ip_vs.real("10.244.0.9", 80) * 4 if index % 2 else "")
                                      for index, address in enumerate(addresses))
    local = "Local:\n" + "".join("     |-- %s\n        /32 host LOCAL\n" % address for address in addresses[:-7])
    sets = "".join("Name: KUBE-CLUSTER-IP%d\nNumber of entries: 1\n\n" % index for index in range(500))
    section = look(tmp_path, sets, ip_vs=servers, dev="kube-ipvs0: 0\n", fib_trie=local)
    assert (section["virtual_servers"], section["real_servers"],
            section["without_real_servers_count"]) == (count, count // 2 * 4, count // 2)
    assert (section["dummy_interface"]["missing_addresses"] == 7 and len(section["without_real_servers"]) == 5
            and len(section["ipsets"]) == 40)


def test_of_very_many_sets_only_those_of_kube_proxy_are_kept(tmp_path):
    """The program prints in pieces that end anywhere, and no empty line ends the last set."""
    others = "".join("Name: cali40s:%d\nType: hash:ip\n\n" % number for number in range(9000))
    text = "Name: KUBE-CLUSTER-IP\nType: hash:ip\n\n" + others + "Name: KUBE-6-LOOP-BACK\nType: hash:ip\n\n"
    section = look(tmp_path, text + others + "Name: KUBE-EXTERNAL-IP\nType: hash:ip")
    assert [row["name"] for row in section["ipsets"]] == ["KUBE-6-LOOP-BACK", "KUBE-CLUSTER-IP", "KUBE-EXTERNAL-IP"]


# Virtual servers of /proc/net/ip_vs, and what netlink has besides it.

WEB = ip_vs.four("10.96.0.3", 80) + ip_vs.real("10.244.0.7", 8080)
FOREIGN = ip_vs.four("10.0.0.9", 80) + ip_vs.real("10.0.0.10", 80)
MARK = ip_vs.mark(7, "sh") + ip_vs.real("10.244.0.8", 80)
NAMED_WEB = Server(socket.AF_INET, "tcp", "10.96.0.3", 80, None, "rr")
NAMED_DNS = Server(socket.AF_INET6, "udp", "fd00:96::a", 53, None, "wlc")
NAMED_MARK = Server(socket.AF_INET, None, None, None, 7, "sh")


def both(text, named):
    """(what `joined` makes of the file and netlink, which servers it asked for)."""
    asked = []

    def destinations_of(server):
        asked.append(server)
        return "ok", [Destination("fd00:244::7", 53, 0x102, 1), Destination("fd00:244::8", 53, 0, 0)]
    return joined(parse_proc_net_ip_vs(text)[0], named, destinations_of), asked


def test_what_the_file_leaves_out_comes_over_netlink():
    servers, asked = both(ip_vs.HEADING + WEB, [NAMED_WEB, NAMED_DNS])
    assert asked == [NAMED_DNS]
    assert servers == parse_proc_net_ip_vs(WEB)[0] + [VirtualServer(
        "ipv6", "fd00:96::a", 53, "udp", None, "wlc", [
            RealServer("fd00:244::7", 53, "Tunnel", 1), RealServer("fd00:244::8", 53, "Masq", 0)])]


def test_real_servers_without_an_answer_make_it_unknown():
    assert joined(parse_proc_net_ip_vs(WEB)[0], [NAMED_WEB, NAMED_DNS], lambda _server: ("timeout", [])) is None


def test_what_belongs_to_another_network_namespace_goes():
    assert both(ip_vs.HEADING + FOREIGN + WEB, [NAMED_WEB]) == (parse_proc_net_ip_vs(WEB)[0], [])


def test_a_mark_may_be_one_of_each_family():
    servers, asked = both(MARK, [NAMED_MARK, NAMED_MARK._replace(family=socket.AF_INET6)])
    assert asked == [NAMED_MARK._replace(family=socket.AF_INET6)]
    assert [(server.family, server.mark, server.scheduler) for server in servers] == [(None, 7, "sh")] * 2


@pytest.mark.parametrize("count, whole", [(30, True), (60, False)])
def test_a_list_of_more_than_a_page_may_leave_some_out(tmp_path, count, whole):
    text = ip_vs.HEADING + WEB * count
    assert (len(text) < 4096) is whole
    assert read_servers(Host(node_tree.unpack({"proc/net/ip_vs": text}, tmp_path))).whole is whole


# Services of ipvs mode: virtual servers whose addresses are on the dummy interface.

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
