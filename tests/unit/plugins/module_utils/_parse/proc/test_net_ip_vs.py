# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of /proc/net/ip_vs. The samples have the kernel's own blanks (net/netfilter/ipvs/ip_vs_ctl.c
ip_vs_info_seq_show())."""

import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ip_vs import HEADING, four, mark, real, six
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import (RealServer,
                                                                                               VirtualServer,
                                                                                               parse_proc_net_ip_vs)

PORTS = st.integers(0, 65535)
FLAGS = st.tuples(st.booleans(), st.booleans())
SCHEDULERS = st.sampled_from(["rr", "wrr", "lc", "mh", "none"])
FOURS = st.integers(0, 2 ** 32 - 1).map(lambda number: str(ipaddress.IPv4Address(number)))
SIXES = st.integers(0, 2 ** 128 - 1).map(lambda number: str(ipaddress.IPv6Address(number)))


def test_a_list_as_the_kernel_prints_it():
    text = HEADING + (
        "TCP  0A600001:01BB rr  \n"
        "  -> C0A80002:192B      Masq    1      0          0         \n"
        "  -> C0A80003:192B      Masq    0      12         3         \n"
        "UDP  [fd00:0010:0096:0000:0000:0000:0000:000a]:0035 rr \n"
        "  -> [fd00:0010:0244:0000:0000:0000:0000:0007]:0035      Masq    1      0          0         \n"
        "SCTP  0A600002:0050 wlc ops  persistent 10800000 FFFFFFFF\n"
        "TCP  0A600003:0050 sh  persistent 10800000 FFFFFFFF\n"
        "FWM  0000001F wlc \n"
        "  -> 0A000001:0000      Route   1      0          0         \n")
    assert parse_proc_net_ip_vs(text) == (
        [
            VirtualServer("ipv4", "10.96.0.1", 443, "tcp", None, "rr", False, False,
                          [RealServer("192.168.0.2", 6443, "Masq", 1), RealServer("192.168.0.3", 6443, "Masq", 0)]),
            VirtualServer("ipv6", "fd00:10:96::a", 53, "udp", None, "rr", False, False,
                          [RealServer("fd00:10:244::7", 53, "Masq", 1)]),
            VirtualServer("ipv4", "10.96.0.2", 80, "sctp", None, "wlc", True, True, []),
            VirtualServer("ipv4", "10.96.0.3", 80, "tcp", None, "sh", True, False, []),
            VirtualServer(None, None, None, None, 31, "wlc", False, False, [RealServer("10.0.0.1", 0, "Route", 1)]),
        ], [])


def test_an_empty_list():
    assert parse_proc_net_ip_vs(HEADING) == ([], [])
    assert parse_proc_net_ip_vs("") == ([], [])


@pytest.mark.parametrize(
    "line", [
        "TCP  0A600001:01BB", "TCP  0A6001:01BB rr  ", "TCP  [fd00::a]:0035 rr ",
        "TCP  [gggg:0010:0096:0000:0000:0000:0000:000a]:0035 rr ",
        "TCP  [1111111111111111111111111111111111111:a]:0035 rr ", "  -> C0A80002:192B      Masq    1 ", "FWM  1F rr",
        "TCP  0A600001:01BB rr  persistent", "\x1b[2J", "TCP  0A600001:01BB rr  something",
    ])
def test_a_line_that_cannot_be_read_is_told(line):
    assert parse_proc_net_ip_vs(HEADING + four("10.96.0.1", 80) + line + "\n")[1] == [line]


def test_a_real_server_without_a_virtual_one_is_told():
    line = real("10.0.0.1", 80)
    assert parse_proc_net_ip_vs(HEADING + line) == ([], [line.rstrip("\n")])


@given(st.text())
@example("  -> 0A000001:0050      Masq    1      0          0")
def test_no_line_is_lost(text):
    servers, unread = parse_proc_net_ip_vs(text)
    lines = [line for line in text.split("\n") if line.strip()
             and not line.startswith(("IP Virtual Server version ", "Prot ", "  -> RemoteAddress:Port "))]
    assert len(servers) + sum(len(server.real_servers) for server in servers) + len(unread) == len(lines)


@given(st.lists(st.tuples(FOURS, PORTS, SCHEDULERS, FLAGS, st.lists(st.tuples(FOURS, PORTS, st.integers(0, 65535))))),
       st.lists(st.tuples(SIXES, PORTS, SCHEDULERS, FLAGS, st.lists(st.tuples(SIXES, PORTS, st.integers(0, 65535))))),
       st.lists(st.tuples(st.integers(1, 2 ** 32 - 1), SCHEDULERS, FLAGS)))
def test_what_the_kernel_prints_is_read_back(fours, sixes, marks):
    text, expected = HEADING, []
    for address, port, scheduler, (persistent, ops), reals in fours:
        text += four(address, port, scheduler, persistent, ops) + "".join(real(*place) for place in reals)
        expected.append(VirtualServer("ipv4", address, port, "tcp", None, scheduler, persistent, ops,
                                      [RealServer(place[0], place[1], "Masq", place[2]) for place in reals]))
    for address, port, scheduler, (persistent, _ops), reals in sixes:
        text += six(address, port, scheduler, persistent) + "".join(real(*place) for place in reals)
        expected.append(VirtualServer("ipv6", address, port, "tcp", None, scheduler, persistent, False,
                                      [RealServer(place[0], place[1], "Masq", place[2]) for place in reals]))
    for number, scheduler, (persistent, ops) in marks:
        text += mark(number, scheduler, persistent, ops)
        expected.append(VirtualServer(None, None, None, None, number, scheduler, persistent, ops, []))
    assert parse_proc_net_ip_vs(text) == (expected, [])
