# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of kube-proxy's own chains in nftables mode that are gone, and who enforces loadBalancerSourceRanges."""

import itertools

import pytest

import kube_nft
from nft_audit import FAMILIES, ask, judged, rows, services, shown, tables
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.kube_tables import read_kube_tables

NEWER = ("1.30", "1.34", "1.36")
CHECKS = ("service-endpoints-check", "nodeport-endpoints-check", "firewall-check", "cluster-ips-check", "reject-chain")
# Without deep, as in a big table, single chains are read.
EMPTIED = [*itertools.product(NEWER, CHECKS, [True, False]), ("1.30", "mark-for-masquerade", True),
           ("1.34", "mark-for-masquerade", True)]


@pytest.mark.parametrize("layout, name, deep", EMPTIED)
@pytest.mark.parametrize("family", FAMILIES)
def test_each_emptied_chain_is_seen(layout, name, deep, family):
    made = tables(layout)
    del made[FAMILIES.index(family)].chains[name][1][:]
    row, = judged(read_kube_tables(kube_nft.answers(*made), deep, 0, True))
    assert (row["kind"], row["family"], row["chain"]) == ("emptied_chain", family, name)


def test_another_rule_is_not_the_one_that_is_gone():
    made = tables("1.34", ["ipv4"])
    made[0].chains["firewall-check"][1][:] = ["counter packets 0 bytes 0"]
    detail, = [row["detail"] for row in rows(made)]
    assert detail == "loadBalancerSourceRanges are not enforced: no rule has vmap @firewall-ips"


def test_what_an_upgrade_leaves_behind_empty_is_not_in_use():
    made = tables("1.36", ["ipv4"])
    made[0].chains["mark-for-masquerade"] = ([], [])
    assert ask(made) == ask(made, deep=False) == []


def test_rules_of_others_before_the_one_of_kube_proxy_hide_nothing():
    made = tables("1.34", ["ipv4"])
    made[0].chains["firewall-check"][1][:0] = ["counter packets 0 bytes 0"] * 60
    assert ask(made) == []


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_source_ranges_whose_chain_is_empty(layout, family):
    made = tables(layout)
    table = made[FAMILIES.index(family)]
    name = services(table, "firewall-")[0]
    del table.chains[name][1][:]
    row, = rows(made)
    assert (row["kind"], row["chain"]) == ("emptied_chain", shown(name))
    assert "loadBalancerSourceRanges of %s" % "/".join(name.split("-", 2)[2].split("/")[:2]) in row["detail"]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_source_ranges_whose_map_is_empty_are_one_finding(layout):
    made = tables(layout, ["ipv4"])
    names = services(made[0], "firewall-")
    del made[0].sets["firewall-ips"][2][:]
    row, = rows(made)
    assert (row["kind"], row["chain"], row["count"]) == ("emptied_chain", shown(sorted(names)[0]), len(names))


def test_many_source_ranges_are_enforced():
    made = tables("1.36", ["ipv4"])
    name = services(made[0], "firewall-")[0]
    networks = ", ".join("10.%d.0.0/16" % number for number in range(200))
    made[0].chains[name][1][:] = ["ip saddr != { %s } drop" % networks]
    assert ask(made) == []


@pytest.mark.parametrize("layout", ["1.29", "1.30", "1.34"])
@pytest.mark.parametrize("deep", [False, True])
def test_a_masquerade_that_lost_its_return(layout, deep):
    made = tables(layout, ["ipv4"])
    del made[0].chains["masquerading"][1][0]
    row, = judged(read_kube_tables(kube_nft.answers(*made), deep, 0, True))
    assert (row["kind"], row["chain"], row["text"]) == ("lost_match", "masquerading", "masquerade fully-random")


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_a_rule_before_the_masquerade(layout):
    made = tables(layout, ["ipv4"])
    made[0].chains["masquerading"][1].insert(0, "return")
    assert ask(made) == [("anchor_shadowed", "ipv4", "masquerading")]


def test_the_masquerade_of_marked_packets_is_gone():
    made = tables("1.36", ["ipv4"])
    del made[0].chains["masquerading"][1][0]
    assert ask(made) == [("anchor_missing", "ipv4", "masquerading")]


@pytest.mark.parametrize("layout", NEWER)
@pytest.mark.parametrize("deep", [False, True])
def test_an_empty_set_of_cluster_ips(layout, deep):
    made = tables(layout, ["ipv4"])
    del made[0].sets["cluster-ips"][2][:]
    assert ask(made, deep) == [("anchor_missing", "ipv4", "set cluster-ips")]
    # External addresses are not in it.
    elements = made[0].sets["service-ips"][2]
    elements[:] = [element for element in elements if "goto external-" in element]
    assert ask(made, deep=False) == []
