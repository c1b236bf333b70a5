# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of chains as nft prints them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.rules import (base_chain, leads_to,
                                                                                          without_quoted)

PIECES = ["jump ", "goto ", "dnat ", "to ", "numgen random mod 2 map { ", "0 : 10.0.0.1 . 80", ", ", " }", "\"", "[",
          "]:", "80", "a/b", " "]


@pytest.mark.parametrize("line, expected", [
    ("type filter hook prerouting priority dstnat - 10; policy accept;", ("filter", "prerouting", -110, "accept")),
    ("type filter hook output priority -90; policy drop;", ("filter", "output", -90, "drop")),
    ("type filter hook input priority filter; policy accept;", ("filter", "input", 0, "accept")),
    ("type nat hook postrouting priority srcnat + 1; policy accept;", ("nat", "postrouting", 101, "accept")),
    ("type filter hook ingress device \"eth0\" priority -500; policy accept;", ("filter", "ingress", -500, "accept")),
    ("type filter hook ingress devices = { \"eth0\", \"eth1\" } priority filter;", ("filter", "ingress", 0, None)),
    ("type filter hook prerouting priority out;", ("filter", "prerouting", None, None)),
    ("type nonsense", None), ("type filter hook input priority ;", None), ("", None),
])
def test_base_chains(line, expected):
    assert base_chain(line) == expected


@pytest.mark.parametrize("line, targets, endpoints",
                         [
                             ("jump services", ("services",), ()),
                             ("ct state new jump firewall-check", ("firewall-check",), ()),
                             ("ip daddr . meta l4proto . th dport vmap @service-ips", (), ()),
                             ("numgen random mod 2 vmap { 0 : goto endpoint-A-n/s/tcp/__10.1.1.1/80, 1 : goto "
                              "endpoint-B-n/s/tcp/__10.1.1.2/80 }",
                              ("endpoint-A-n/s/tcp/__10.1.1.1/80", "endpoint-B-n/s/tcp/__10.1.1.2/80"), ()),
                             ("ip saddr @affinity-A goto endpoint-A", ("endpoint-A",), ()),
                             ("meta l4proto tcp dnat to 10.180.0.1:80", (), ("10.180.0.1:80",)),
                             ("meta l4proto tcp dnat ip to 10.180.0.1:80", (), ("10.180.0.1:80",)),
                             ("meta l4proto tcp dnat to [fd00::5]:80", (), ("[fd00::5]:80",)),
                             ("meta l4proto udp dnat ip to numgen random mod 2 map { 0 : 10.244.1.5 . 8080, 1 : "
                              "10.244.1.6 . 8081 }", (), ("10.244.1.5:8080", "10.244.1.6:8081")),
                             ("meta l4proto udp dnat ip6 addr . port to numgen random mod 1 map { 0 : fd00::6 . 53 }",
                              (), ("[fd00::6]:53",)),
                             ("fib saddr type local meta mark set meta mark | 0x00004000 comment \"goto nowhere dnat "
                              "to 1.2.3.4:5\"", (), ()),
                             ("masquerade fully-random", (), ()),
                         ])
def test_where_rules_lead(line, targets, endpoints):
    assert leads_to(without_quoted(line)) == (targets, endpoints)


@settings(print_blob=True)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_hostile_rules_raise_nothing(line):
    plain = without_quoted(line)
    targets, endpoints = leads_to(plain)
    assert all(target in plain for target in targets) and all(isinstance(endpoint, str) for endpoint in endpoints)
