# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of /proc/net."""

import ipaddress
import subprocess
import sys

import pytest
from hypothesis import example, given, strategies as st
from ip_vs import HEADING, four, mark, real, six
from node_processes import needs_root
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_fib_trie import parse_proc_net_fib_trie
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_if_inet6 import parse_proc_net_if_inet6
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import (
    RealServer, VirtualServer, parse_proc_net_ip_vs)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_route import (
    Route, parse_proc_net_ipv6_route, parse_proc_net_route)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_tcp import parse_net_tcp
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.nf_conntrack_stat import (
    parse_nf_conntrack_stat)


# Parser of /proc/net/fib_trie.

SAMPLE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.96.0.0/28 2 0 2
        |-- 10.96.0.1
           /32 host LOCAL
        |-- 10.96.0.10
           /32 host LOCAL
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /32 link BROADCAST
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
     |-- 192.168.1.255
        /32 link BROADCAST
"""


def test_what_the_kernel_takes_for_its_own():
    assert parse_proc_net_fib_trie(SAMPLE) == ({"10.96.0.1", "10.96.0.10", "127.0.0.1"},
                                               [ipaddress.IPv4Network("127.0.0.0/8")])


@needs_root
def test_against_the_kernel():
    script = ("ip link set lo up && ip link add v0 type veth && ip addr add 10.96.0.1/32 dev v0 && ip route add local "
              "10.97.0.0/16 dev lo && cat /proc/net/fib_trie")
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    # The interface is down, as kube-ipvs0 is.
    assert parse_proc_net_fib_trie(text) == ({"10.96.0.1", "127.0.0.1"}, [ipaddress.IPv4Network("10.97.0.0/16"),
                                                                          ipaddress.IPv4Network("127.0.0.0/8")])


@given(st.text())
@example("  |-- 999.0.0.1\n  /8 host LOCAL\n")
@example("  |-- 10.0.0.1\n  /99 host LOCAL\n")
@example("  /32 host LOCAL\n")
def test_any_text(text):
    addresses, networks = parse_proc_net_fib_trie(text)
    assert all(address in text for address in addresses) and (not networks or "host LOCAL" in text)


@given(st.sets(st.integers(0, 2 ** 32 - 1)))
def test_addresses_are_read_back(numbers):
    addresses = {str(ipaddress.IPv4Address(number)) for number in numbers}
    text = "Local:\n" + "".join("     |-- %s\n        /32 host LOCAL\n" % address for address in sorted(addresses))
    assert parse_proc_net_fib_trie(text) == (addresses, [])


# Parser of /proc/net/if_inet6.

SAMPLE_NET_IF_INET6 = """\
00000000000000000000000000000001 01 80 10 80       lo
fd00001000960000000000000000000a 1f 80 00 c0 kube-ipvs0
fe80000000000000a8bbccfffedd0001 103 40 20 80     eth0
"""


def test_addresses_and_their_interfaces():
    assert parse_proc_net_if_inet6(SAMPLE_NET_IF_INET6) == {
        "::1": "lo", "fd00:10:96::a": "kube-ipvs0", "fe80::a8bb:ccff:fedd:1": "eth0"}


@needs_root
def test_against_the_kernel_net_if_inet6():
    script = "ip link add v0 type veth && ip addr add fd00:10:96::a/128 dev v0 && cat /proc/net/if_inet6"
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    assert parse_proc_net_if_inet6(text) == {"fd00:10:96::a": "v0"}


@given(st.text())
def test_any_text_net_if_inet6(text):
    assert all(interface in text for interface in parse_proc_net_if_inet6(text).values())


@given(st.sets(st.integers(0, 2 ** 128 - 1)))
def test_addresses_are_read_back_net_if_inet6(numbers):
    text = "".join("%032x 02 80 00 80 %8s\n" % (number, "dummy0") for number in numbers)
    assert parse_proc_net_if_inet6(text) == {str(ipaddress.IPv6Address(number)): "dummy0" for number in numbers}


# Parser of /proc/net/ip_vs. The samples have the kernel's own blanks (net/netfilter/ipvs/ip_vs_ctl.c
# ip_vs_info_seq_show()).

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


@cases
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


# Parsers of /proc/net/route and /proc/net/ipv6_route.

# A bridge of pods, pods of another node behind a gateway, a route that refuses, and a single neighbour without a
# network.
SCRIPT = """\
set -e
ip link set lo up; ip link add eth0 type veth peer name p0; ip link set eth0 up; ip link set p0 up; ip link add cni0 type bridge; ip link set cni0 up
ip addr add 192.168.2.15/23 dev eth0; ip addr add 10.244.1.1/24 dev cni0; ip route add default via 192.168.2.1
ip route add 10.244.2.0/24 via 192.168.2.16; ip route add blackhole 10.9.0.0/16; ip route add 10.128.0.1/32 dev eth0
ip -6 addr add fd00:1::15/64 dev eth0 nodad; ip -6 addr add fd00:10:244:1::1/64 dev cni0 nodad; ip -6 route add default via fd00:1::1
ip -6 route add fd00:10:244:2::/64 via fd00:1::16; ip -6 route add unreachable fd77::/16
cat /proc/net/route /proc/net/ipv6_route
"""
EVERYWHERE = ("fe80::/64", "ff00::/8")


@needs_root
def test_against_the_kernel_net_route():
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", SCRIPT]).decode("ascii")
    assert set(parse_proc_net_route(text)) == {
        Route(None, "eth0"), Route("192.168.2.0/23", "eth0"), Route("10.128.0.1/32", "eth0"),
        Route("10.244.1.0/24", "cni0")}
    assert {route for route in parse_proc_net_ipv6_route(text) if route.network not in EVERYWHERE} == {
        Route(None, "eth0"), Route("fd00:1::/64", "eth0"), Route("fd00:10:244:1::/64", "cni0")}


OF_IPV6 = "%s %s %s 00 %s 00000400 00000001 00000000 %s     eth0\n"


@given(st.text())
@example("eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FF00FF\t0\t0\t0\n")
@example(OF_IPV6 % ("fd" + "0" * 30, "ff", "0" * 32, "0" * 32, "00000001"))
@example("eth0\tFFFFFFFF\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n")
def test_any_text_net_route(text):
    for route in parse_proc_net_route(text) + parse_proc_net_ipv6_route(text):
        assert route.interface in text


def test_a_mask_with_holes_is_no_network():
    assert parse_proc_net_route("eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FF00FF\t0\t0\t0\n") == []
    assert parse_proc_net_ipv6_route(OF_IPV6 % ("fd" + "0" * 30, "ff", "0" * 32, "0" * 32, "00000001")) == []


# /proc/net/tcp and /proc/net/tcp6.

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   %d: %s 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 %s 1 0000 100 0 0 10 0\n"


@pytest.mark.skipif(sys.byteorder != "little", reason="the text is of a little endian machine")
def test_rows():
    text = HEAD + ROW % (0, "0100007F:2809", "0A",
                         "18404") + ROW % (1, "00000000000000000000000000000000:2810", "0A", "7")
    text += ROW % (2, "B80D0120000000000000000007000000:2810", "01", "8")
    text += ROW % (3, "00000000000000000000000001000000:2810", "02", "9") + ROW % (4, "070200C0:2810", "06", "0")
    assert [tuple(row) for row in parse_net_tcp(text)] == [
        ("127.0.0.1", 10249, "LISTEN", 18404), ("::", 10256, "LISTEN", 7),
        ("2001:db8:0:0:0:0:0:7", 10256, "ESTABLISHED", 8), ("::1", 10256, "SYN_SENT", 9),
        ("192.0.2.7", 10256, "OTHER", 0)]


@cases
def test_what_is_no_row(text):
    assert parse_net_tcp(text) == []


# Parser of /proc/net/stat/nf_conntrack: hexadecimal, by the names of the header, and the total once.

# As Linux 6.18 prints it on two processors.
HEADER = ("entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop "
          "icmp_error  expect_new expect_create expect_delete search_restart\n")
OF_618 = HEADER + """\
0000004a  00000002 00000000 00000000 00000003 00000012 00000000 00000001 00000000 00000005 000000ff 00000010 00000000  00000000 00000000 00000000 00000006
0000004a  00000001 00000000 00000000 00000001 00000002 00000000 00000000 00000000 00000001 00000001 0000000f 00000000  00000000 00000000 00000000 0000000a
"""
# Before 5.10 and in it the columns have other names.
OF_54 = ("entries  searched found new invalid ignore delete delete_list insert insert_failed drop early_drop\n"
         "00000010  " + " ".join(["00000001"] * 11) + "\n")


def test_columns_are_summed_over_processors_and_the_total_is_taken_once():
    assert parse_nf_conntrack_stat(OF_618) == {
        "entries": 0x4a, "clashres": 3, "found": 0, "new": 0, "invalid": 4, "ignore": 0x14, "delete": 0,
        "chainlength": 1, "insert": 0, "insert_failed": 6, "drop": 256, "early_drop": 31, "icmp_error": 0,
        "expect_new": 0, "expect_create": 0, "expect_delete": 0, "search_restart": 16}


def test_other_kernels_have_other_columns():
    sums = parse_nf_conntrack_stat(OF_54)
    assert (sums["entries"], sums["drop"], sums["delete_list"]) == (16, 1, 1) and "chainlength" not in sums


@cases
def test_what_is_no_such_table_is_none(text):
    assert parse_nf_conntrack_stat(text) is None


@given(st.integers(1, 600), st.lists(st.integers(0, 0xffffffff), min_size=3, max_size=3))
def test_any_number_of_processors(cpus, values):
    text = "entries  drop early_drop\n" + ("%08x  %08x %08x\n" % tuple(values)) * cpus
    assert parse_nf_conntrack_stat(text) == {"entries": values[0], "drop": values[1] * cpus,
                                             "early_drop": values[2] * cpus}


@given(st.text())
def test_any_text_is_read_without_an_exception(text):
    parse_nf_conntrack_stat(text)
    parse_nf_conntrack_stat("entries drop\n" + text)
