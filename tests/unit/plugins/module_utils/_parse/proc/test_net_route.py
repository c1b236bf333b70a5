# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of /proc/net/route and /proc/net/ipv6_route."""

import subprocess

from hypothesis import example, given
from hypothesis import strategies as st

from node_processes import needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_route import (
    Route,
    parse_proc_net_ipv6_route,
    parse_proc_net_route)

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
def test_against_the_kernel():
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
def test_any_text(text):
    for route in parse_proc_net_route(text) + parse_proc_net_ipv6_route(text):
        assert route.interface in text


def test_a_mask_with_holes_is_no_network():
    assert parse_proc_net_route("eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FF00FF\t0\t0\t0\n") == []
    assert parse_proc_net_ipv6_route(OF_IPV6 % ("fd" + "0" * 30, "ff", "0" * 32, "0" * 32, "00000001")) == []
