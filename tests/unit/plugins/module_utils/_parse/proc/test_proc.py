# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of /proc/net, and those of /proc about processes, locks and modules."""

import fcntl
import os
import subprocess
import sys

import pytest
from case_rows import cases
from hypothesis import example, given, strategies as st
from ip_vs import four, HEADING
from node_processes import needs_root

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.holder import device_of, parse_proc_locks
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.module_files import parse_proc_modules
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.cgroup import Place, parse_cgroup
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_ip_vs import parse_proc_net_ip_vs
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.network_files import (
    Route, parse_net_tcp, parse_nf_conntrack_stat, parse_proc_net_fib_trie, parse_proc_net_if_inet6,
    parse_proc_net_ipv6_route, parse_proc_net_route,
)

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
TAIL = " 00000000:00000000 00:00000000 00000000     0        0"
# Pod and container of a process, from /proc/PID/cgroup.
UID = "a5c1f8d5-1919-434d-add7-4afaafdaef89"
BARS, STATIC = UID.replace("-", "_"), "c9b2a5f0d31e4b7a8f60e1d2c3b4a596"
ID = "5eed917563583925ffdbd40a64efb2aaffe58638e57add8becaf460fe74f5b1c"
OTHER = "9" * 64
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
OF_IPV6 = "%s %s %s 00 %s 00000400 00000001 00000000 %s     eth0\n"


def fib_trie(text):
    addresses, networks = parse_proc_net_fib_trie(text)
    return sorted(addresses), [str(network) for network in networks]


PARSERS = {"fib_trie": fib_trie, "if_inet6": parse_proc_net_if_inet6, "ip_vs": parse_proc_net_ip_vs,
           "route": parse_proc_net_route, "ipv6_route": parse_proc_net_ipv6_route, "tcp": parse_net_tcp,
           "stat/nf_conntrack": parse_nf_conntrack_stat, "cgroup": parse_cgroup, "locks": parse_proc_locks,
           "locks of inode 1467": lambda text: parse_proc_locks(text, 1467),
           "locks of inode 467": lambda text: parse_proc_locks(text, 467), "modules": parse_proc_modules}


@cases
def test_what_is_read(parser, text, found):
    if parser == "tcp" and sys.byteorder != "little":
        pytest.skip("the text is of a little endian machine")
    assert PARSERS[parser](text) == found


def in_namespace(script):
    return subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")


@needs_root
def test_addresses_and_routes_of_the_kernel():
    """The interface is down, as kube-ipvs0 is."""
    assert fib_trie(in_namespace(
        "ip link set lo up && ip link add v0 type veth && ip addr add 10.96.0.1/32 dev v0 && ip route add local "
        "10.97.0.0/16 dev lo && cat /proc/net/fib_trie")) == (
            ["10.96.0.1", "127.0.0.1"], ["10.97.0.0/16", "127.0.0.0/8"])
    assert parse_proc_net_if_inet6(in_namespace(
        "ip link add v0 type veth && ip addr add fd00:10:96::a/128 dev v0 && cat /proc/net/if_inet6")) == {
            "fd00:10:96::a": "v0"}
    text = in_namespace(SCRIPT)
    assert set(parse_proc_net_route(text)) == {Route(None, "eth0"), Route("192.168.2.0/23", "eth0"),
                                               Route("10.128.0.1/32", "eth0"), Route("10.244.1.0/24", "cni0")}
    assert {route for route in parse_proc_net_ipv6_route(text) if route.network not in EVERYWHERE} == {
        Route(None, "eth0"), Route("fd00:1::/64", "eth0"), Route("fd00:10:244:1::/64", "cni0")}


@given(st.text())
@example("  |-- 999.0.0.1\n  /8 host LOCAL\n")
@example("  |-- 10.0.0.1\n  /99 host LOCAL\n")
@example("  /32 host LOCAL\n")
@example("eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FF00FF\t0\t0\t0\n")
@example(OF_IPV6 % ("fd" + "0" * 30, "ff", "0" * 32, "0" * 32, "00000001"))
@example("eth0\tFFFFFFFF\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n")
def test_any_text(text):
    addresses, networks = parse_proc_net_fib_trie(text)
    assert all(address in text for address in addresses) and (not networks or "host LOCAL" in text)
    assert all(interface in text for interface in parse_proc_net_if_inet6(text).values())
    for route in parse_proc_net_route(text) + parse_proc_net_ipv6_route(text):
        assert route.interface in text
    parse_nf_conntrack_stat(text)
    parse_nf_conntrack_stat("entries drop\n" + text)


@cases
def test_a_line_that_cannot_be_read_is_told(line):
    assert parse_proc_net_ip_vs(HEADING + four("10.96.0.1", 80) + line + "\n")[1] == [line]


@given(st.text())
@example("  -> 0A000001:0050      Masq    1      0          0")
def test_no_line_is_lost(text):
    servers, unread = parse_proc_net_ip_vs(text)
    lines = [line for line in text.split("\n") if line.strip()
             and not line.startswith(("IP Virtual Server version ", "Prot ", "  -> RemoteAddress:Port "))]
    assert len(servers) + sum(len(server.real_servers) for server in servers) + len(unread) == len(lines)


@pytest.mark.parametrize("form", ["0::%s\n", "12:freezer:%s\n11:cpu,cpuacct:/\n1:name=systemd:%s\n0::/\n",
                                  "3:cpuset:/\n2:memory:%s"])
@cases
def test_names_of_groups(path, uid, container, form):
    assert parse_cgroup(form.replace("%s", path)) == Place(uid, container)


@given(st.text())
@example("0::/pod" + "a" * 32)
def test_any_text_gives_a_sound_place_or_none(text):
    place = parse_cgroup(text)
    assert place is None or (place != Place(None, None) and len(place.container_id or ID) == 64
                             and len(place.pod_uid or UID) in (32, 36))


def test_the_list_of_this_kernel(tmp_path):
    with open(str(tmp_path / "lock"), "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        found = os.fstat(stream.fileno())
        with open("/proc/locks") as listed:
            locks, unread = parse_proc_locks(listed.read(), found.st_ino)
    assert unread == [] and os.getpid() in [lock.pid for lock in locks if lock.kind == "FLOCK"]


@given(st.text())
@example("1: FLOCK  ADVISORY  WRITE 4711 00:19:1467 0 EO")
@example("7: -> FLOCK  ADVISORY  WRITE 1 00:19:1467 0 EOF\x0b8: FLOCK")
@example("a b c d Dead 0x0")
def test_no_line_of_locks_and_modules_is_lost(text):
    locks, unread = parse_proc_locks(text)
    assert len(locks) + len(unread) == len([line for line in text.splitlines() if line.strip()])
    states, unread = parse_proc_modules(text)
    for line in text.splitlines():
        assert not line.split() or line in unread or line.split()[0] in states


@given(st.integers(0, 2 ** 31 - 1), st.integers(0, 2 ** 31 - 1))
def test_numbers_of_devices(major, minor):
    assert device_of(os.makedev(major, minor)) == (major, minor)
