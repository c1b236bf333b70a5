# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables beside kube-proxy's, made by the real nft: what refuses, redirects or marks traffic of Services,
and what looks like it."""

import pytest
import kube_nft
from native_tables import CLUSTER, HARMFUL, PODS, SILENT, WEB, chain, looks
from node_processes import needs_root

pytestmark = needs_root


@pytest.mark.parametrize("mode", ["nftables", "iptables"])
def test_what_meets_traffic_of_services(mode):
    looked = zip(HARMFUL, looks(mode, *[table for _kind, table in HARMFUL]))
    assert [(table, found) for (kind, table), found in looked
            if [(row[0], row[1].split(" ")[1]) for row in found] != [(kind, "guard")]] == []


@pytest.mark.parametrize("mode", ["nftables", "iptables"])
def test_what_only_looks_like_it(mode):
    assert [(table, found) for table, found in zip(SILENT, looks(mode, *SILENT)) if found] == []


def test_what_cannot_be_judged_has_the_name_of_its_table():
    tables = [chain("forward", 0, "meta mark 0x77 drop"), chain("forward", 0, 'iifname "eth7" drop'),
              chain("forward", 0, "meta skuid 77 drop"),
              chain("forward", 0,
                    *["ip saddr 198.51.100.%d tcp dport %d drop" % (number % 250, number) for number in range(1, 700)]),
              # One of the rules that are not read may accept it.
              chain("forward", 0, *["ip saddr 198.51.100.%d accept" % (number % 250) for number in range(1, 700)],
                    policy="drop")]
    for found in looks("nftables", *tables):
        assert [row[:3] for row in found] == [["unjudged_table", "inet guard", ""]] and "own" in found[0][4], found


def test_more_tables_than_are_judged():
    found = looks("nftables", "".join("table inet t%02d { chain own { type filter hook forward priority 0; } }\n"
                                      % number for number in range(18)))[0]
    assert [row[:2] for row in found] == [["unjudged_table", "inet t16"], ["unjudged_table", "inet t17"]]


def test_rules_of_others_in_the_chains_of_kube_proxy():
    rules = [("services", "ip daddr %s tcp dport 80 drop" % WEB.address, "unexpected_drop"),
             ("filter-forward", "ip saddr %s accept" % PODS, "anchor_shadowed"),
             ("nat-prerouting", "tcp dport 30080 redirect to :80", "anchor_shadowed"),
             ("cluster-ips-check", "ip daddr 10.96.0.0/24 drop", "unexpected_drop"),
             ("nat-postrouting", "meta mark set 0x1", "mark_cleared"),
             ("filter-input", "tcp dport 10250 reject", "unexpected_drop")]
    found = looks("nftables", *["insert rule ip kube-proxy %s %s" % rule[:2] for rule in rules])
    for (name, text, kind), rows in zip(rules, found):
        assert [(row[0], row[2]) for row in rows] == [(kind, name)], (text, rows)


def test_a_rule_of_others_in_the_chain_of_a_service():
    name = next(name for name in kube_nft.table(CLUSTER).chains if name.startswith("service-") and "/" in name)
    rows = looks("nftables", 'insert rule ip kube-proxy %s ip saddr %s drop' % (name, PODS))[0]
    assert [row[0] for row in rows] == ["unexpected_drop"] and name.startswith(rows[0][2].rstrip("."))
