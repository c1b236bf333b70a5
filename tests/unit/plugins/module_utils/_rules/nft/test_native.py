# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables of a dump that shows no Service. The tables of test_nft_native.py are made by the real nft."""

import time

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.listing import ListingReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.nft.native import (judge_forwarding,
                                                                                           judge_table)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service

BASE = ["type filter hook forward priority 0; policy drop;"]


WEB = Service("ipv4", "10.96.0.2", 80, "tcp", "shop/web:http",
              frozenset([("10.244.1.2", 8080, "tcp"), ("10.244.2.2", 8080, "tcp")]), True, True)


def table(family="inet", **chains):
    """A table with these chains, each a list of its lines."""
    reader = ListingReader(texts=(500, 2000))
    blocks = ["chain %s {\n%s\n}" % (name, "\n".join(lines)) for name, lines in chains.items()]
    reader.feed(("table %s guard {\n%s\n}\n" % (family, "\n".join(blocks))).encode())
    return reader.close()[family, "guard"]


def kinds(**chains):
    """The kinds of the observations on a table."""
    return [row[0] for row in judge_forwarding(table(**chains))]


@pytest.mark.parametrize("interface, routed, rows, doubts", [
    ("lxcbr0", (), 0, False), ("lxc12ab", (), 1, False), ("wg0", (), 0, True), ("wg0", ("wg0",), 1, False),
    ("tailscale0", ("wg0",), 0, True)])
def test_whose_interface_a_rule_names(interface, routed, rows, doubts):
    """LXC's bridge carries no pods, Cilium's interfaces do; a tunnel may be the network of the nodes."""
    chain = ["type filter hook forward priority -5; policy accept;", 'iifname "%s" drop' % interface]
    found, doubt = judge_table(table(base=chain), [WEB], (), lambda: routed)
    assert (len(found), bool(doubt)) == (rows, doubts)


@pytest.mark.parametrize("rules, zone, expected", [
    ([], [], ["unexpected_drop"]), (["accept"], [], []),
    (['iifname "eth1" oifname "eth0" accept'], [], ["unexpected_drop"]),
    (['iifname "eth1" oifname { "enp1s0", "enp2s0" } jump zone'], ["accept"], ["unexpected_drop"]),
    (['iifname "cni0" oifname "eth0" accept'], [], []), (['iifname "eth1" oifname != "eth0" accept'], [], []),
    (['iifname "eth1" accept'], [], []), (['iifname { "eth1", "cni0" } oifname "eth0" accept'], [], []),
    (['iifname "eni0a1" oifname "eth0" accept'], [], []), (['iifname @inner oifname "eth0" accept'], [], []),
    (["jump zone"], ["accept"], []),
    (["jump zone"], ['iifname "eth0" return'], ["unexpected_drop"]),
    (["jump zone"], ["jump zone"], [])])
def test_what_drops_all_forwarded_traffic(rules, zone, expected):
    assert kinds(base=BASE + rules, zone=zone) == expected


OWN = ["ip saddr 10.244.2.0/24 ct state established,related,new accept"]
REPLIES = "ip daddr 10.244.2.0/24 ct state established,related accept"


@pytest.mark.parametrize("rules, expected", [
    ([REPLIES], 1), (["counter " + REPLIES, 'log prefix "no " drop'], 1), (["ip daddr 10.244.2.0/24 accept"], 0),
    ([REPLIES, "ip saddr 10.244.0.0/16 accept"], 0), ([REPLIES, 'iifname "flannel.1" accept'], 0),
    ([REPLIES, 'iifname "eth1" accept'], 0), ([REPLIES, "ip saddr @nodes accept"], 0)])
def test_a_table_that_lets_only_pods_of_this_node_connect(rules, expected):
    """With the endpoints of Services, and with the network of the node's pods as kubectl printed it; the first network
    may be that of the only node."""
    chains = table("ip", base=BASE + OWN + rules)
    known = WEB._replace(endpoints=frozenset([("10.244.1.2", 8080, "tcp"), ("10.244.2.2", 8080, "tcp")]))
    alone = WEB._replace(endpoints=frozenset([("10.244.2.2", 8080, "tcp"), ("10.244.2.3", 8080, "tcp"),
                                              ("172.20.0.5", 6443, "tcp")]))
    assert [len(judge_table(chains, [service])[0]) for service in (known, alone)] == [expected, 0]
    assert [len(judge_forwarding(chains, pods)) for pods in (["10.244.2.0/24", "fd00:7a1:0:2::/64"], [])] == [
        expected, 0]
    first = table("ip", base=[line.replace("10.244.2.", "10.244.0.") for line in BASE + OWN + rules])
    assert judge_forwarding(first, ["10.244.0.0/24"]) == []


@pytest.mark.parametrize("condition, last", [
    ("", "return"), ("", 'iifname "eth7" drop'), ('iifname "eth7" ', 'iifname "eth7" drop')])
def test_chains_that_jump_to_each_other_many_times(condition, last):
    chains = {"c%d" % number: [condition + "jump c%d" % (number + 1)] * 40 for number in range(15)}
    begun = time.process_time()
    found = kinds(base=BASE + ["jump c0"], c15=[last], **chains)
    assert time.process_time() - begun < 5 and set(found) <= {"unexpected_drop", "unjudged_table"}
