# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All virtual servers: of /proc/net/ip_vs, and what netlink has besides it."""

import socket

import ip_vs
import node_tree
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.netlink_ipvs import Destination, Server
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.servers import Servers, joined, read_servers
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import (
    RealServer, VirtualServer, parse_proc_net_ip_vs)

WEB = ip_vs.four("10.96.0.3", 80) + ip_vs.real("10.244.0.7", 8080)
FOREIGN = ip_vs.four("10.0.0.9", 80) + ip_vs.real("10.0.0.10", 80)
MARK = ip_vs.mark(7, "sh") + ip_vs.real("10.244.0.8", 80)
NAMED_WEB = Server(socket.AF_INET, "tcp", "10.96.0.3", 80, None, "rr", 2)
NAMED_DNS = Server(socket.AF_INET6, "udp", "fd00:96::a", 53, None, "wlc", 4 | 1)
NAMED_MARK = Server(socket.AF_INET, None, None, None, 7, "sh", 2)


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
        "ipv6", "fd00:96::a", 53, "udp", None, "wlc", True, True, [
            RealServer("fd00:244::7", 53, "Tunnel", 1), RealServer("fd00:244::8", 53, "Masq", 0)])]


def test_real_servers_without_an_answer_make_it_unknown():
    assert joined(parse_proc_net_ip_vs(WEB)[0], [NAMED_WEB, NAMED_DNS], lambda _server: ("timeout", [])) is None


def test_what_belongs_to_another_network_namespace_goes():
    assert both(ip_vs.HEADING + FOREIGN + WEB, [NAMED_WEB]) == (parse_proc_net_ip_vs(WEB)[0], [])


def test_a_mark_may_be_one_of_each_family():
    servers, asked = both(MARK, [NAMED_MARK, NAMED_MARK._replace(family=socket.AF_INET6)])
    assert asked == [NAMED_MARK._replace(family=socket.AF_INET6)]
    assert [(server.family, server.mark, server.scheduler) for server in servers] == [(None, 7, "sh")] * 2


@pytest.mark.parametrize("tree, expected", [
    ({}, ("absent", "absent", [], True)), ({"proc/net/ip_vs": node_tree.FIFO}, ("unparsed", "unparsed", None, True)),
    ({"proc/net/ip_vs": WEB + "TCP  broken\n"}, ("ok", "unparsed", None, False)),
    ({"proc/net/ip_vs": ip_vs.HEADING + WEB}, ("ok", "ok", parse_proc_net_ip_vs(WEB)[0], True))])
def test_a_tree(tmp_path, tree, expected):
    assert read_servers(Host(node_tree.unpack(tree, tmp_path))) == Servers(*expected)


@pytest.mark.parametrize("count, whole", [(30, True), (60, False)])
def test_a_list_of_more_than_a_page_may_leave_some_out(tmp_path, count, whole):
    text = ip_vs.HEADING + WEB * count
    assert (len(text) < 4096) is whole
    assert read_servers(Host(node_tree.unpack({"proc/net/ip_vs": text}, tmp_path))).whole is whole
