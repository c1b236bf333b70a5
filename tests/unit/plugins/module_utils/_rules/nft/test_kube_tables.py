# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observations in tables of nftables mode: none in healthy tables, and exactly the damage in a damaged one."""

import pytest

import kube_cluster
import kube_nft
from nft_audit import FAMILIES, ask, rows, services, setting, shown, tables
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.kube_tables import (
    KubeTables, read_kube_tables)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.nft.kube_tables import ask_nftables

# Versions with which each layout must be healthy; patch releases of 1.31 to 1.33 have the layout of 1.34.
VERSIONS = {"1.29": (None, (1, 29)), "1.30": (None, (1, 30), (1, 31), (1, 33)),
            "1.34": (None, (1, 31), (1, 34), (1, 35)), "1.36": (None, (1, 36))}
HEALTHY = [(layout, version) for layout in kube_nft.LAYOUTS for version in VERSIONS[layout]]
NEWER = ("1.30", "1.34", "1.36")


@pytest.mark.parametrize("layout, version", HEALTHY)
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("all_addresses", [False, True])
def test_a_healthy_node_has_nothing(layout, version, deep, all_addresses):
    assert ask(tables(layout, all_addresses=all_addresses), deep, kubernetes=version) == []
    assert ask(tables(layout, all_addresses=all_addresses), deep, mode=None, kubernetes=version) == []


def test_every_observation_has_its_keys():
    made = tables()
    del made[0].chains["nat-output"]
    assert rows(made)[0] == {"kind": "anchor_missing", "family": "ipv4", "backend": "nft", "table": "ip kube-proxy",
                             "chain": "nat-output", "text": "", "count": 1, "detail": "this base chain does not exist"}


# Tables that are missing, or should be.

def test_no_table_at_all():
    assert ask([]) == [("anchor_missing", "ipv4", "table ip kube-proxy")]
    assert ask([], others="table ip6 mangle {\n}\n") == [
        ("anchor_missing", "ipv4", "table ip kube-proxy"), ("anchor_missing", "ipv6", "table ip6 kube-proxy")]
    assert ask([], mode="iptables") == ask([], mode=None) == []


def test_one_family_repaired_after_a_flush():
    """kube-proxy 1.31 and newer repairs only the family in which a Service changes."""
    row, = rows(tables(families=["ipv6"]))
    assert (row["kind"], row["family"]) == ("anchor_missing", "ipv4") and "while the one of ipv6 does" in row["detail"]
    # A node without IPv6 has no such table, and no ip6 table of any other program.
    only = tables(families=["ipv4"])
    assert ask(only) == []
    assert ask(only, others="table ip6 mangle {\n}\n") == [("anchor_missing", "ipv6", "table ip6 kube-proxy")]


@pytest.mark.parametrize("mode", ["iptables", "ipvs"])
def test_left_over_by_another_mode(mode):
    made = tables(families=["ipv4"])
    made[0].chains["nat-output"] = ([], [])
    row, = rows(made, mode=mode)
    assert (row["kind"], row["text"], row["count"]) == ("other_mode", "table ip kube-proxy", len(made[0].chains))


# Anchors.

def anchors(layout):
    return [name for name in tables(layout, ["ipv4"])[0].chains if "/" not in name and name != "mark-for-masquerade"]


@pytest.mark.parametrize("layout, name", [(layout, name) for layout in NEWER for name in anchors(layout)])
@pytest.mark.parametrize("deep", [False, True])
def test_each_missing_chain_is_seen(layout, name, deep):
    made = tables(layout)
    del made[1].chains[name]
    found = ask(made, deep)
    assert ("anchor_missing", "ipv6", name) in found
    # Where jumps to the chain are known, they are dangling now.
    assert set(found) <= {("anchor_missing", "ipv6", name), ("dangling_jump", "ipv6", name)}


@pytest.mark.parametrize("name", ["service-ips", "service-nodeports", "no-endpoint-services", "no-endpoint-nodeports",
                                  "cluster-ips", "firewall-ips"])
@pytest.mark.parametrize("layout", NEWER)
def test_each_missing_map_is_seen(layout, name):
    made = tables(layout)
    del made[0].sets[name]
    assert ask(made, deep=False) == [("anchor_missing", "ipv4", name)]


def test_versions_decide_where_the_table_does_not():
    bare = tables("1.29", ["ipv4"])
    assert ask(bare) == ask(bare, kubernetes=(1, 30)) == []
    assert ("anchor_missing", "ipv4", "cluster-ips-check") in ask(bare, kubernetes=(1, 31))


@cases
def test_a_chain_at_the_wrong_hook(header):
    made = tables()
    made[0].chains["nat-prerouting"] = (header, made[0].chains["nat-prerouting"][1])
    assert ask(made, deep=False) == [("anchor_missing", "ipv4", "nat-prerouting")]


def test_a_dormant_table():
    made = tables()
    made[0].flags = ["dormant"]
    assert ask(made) == [("anchor_missing", "ipv4", "flags dormant")]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
@pytest.mark.parametrize("deep", [False, True])
def test_nft_flush_table_leaves_chains_and_maps(layout, deep):
    made = tables(layout, ["ipv4"])
    for _header, rules in made[0].chains.values():
        del rules[:]
    found = ask(made, deep)
    assert ("anchor_missing", "ipv4", "nat-prerouting") in found and ("anchor_missing", "ipv4", "services") in found
    kinds = ["anchor_missing", "empty_service_chain"] if deep else ["anchor_missing"]
    assert sorted({kind for kind, _family, _name in found}) == kinds


JUMPS = [(layout, name, index) for layout in NEWER
         for name, (_header, rules) in tables(layout, ["ipv4"])[0].chains.items()
         if name.startswith(("nat-", "filter-")) for index in range(len(rules))]


@pytest.mark.parametrize("layout, name, index", JUMPS)
def test_each_lost_jump_is_seen(layout, name, index):
    made = tables(layout)
    del made[0].chains[name][1][index]
    assert ask(made) == [("anchor_missing", "ipv4", name)]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_lost_lookups_are_seen_without_deep(layout):
    made = tables(layout)
    rules = made[0].chains["services"][1]
    rules[:] = [rule for rule in rules if "@service-ips" not in rule]
    assert ask(made, deep=False) == [("anchor_missing", "ipv4", "services")]


@pytest.mark.parametrize("rule", ["accept", "return", "counter packets 0 bytes 0 accept", 'accept comment "oops"'])
def test_a_rule_in_front(rule):
    made = tables()
    made[0].chains["nat-prerouting"][1].insert(0, rule)
    made[0].chains["services"][1].append(rule)
    assert ask(made, deep=False) == [("anchor_shadowed", "ipv4", "nat-prerouting")]


# Refusals.

@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_a_policy_of_drop(layout):
    made = tables(layout)
    (header,), rules = made[1].chains["filter-forward"]
    made[1].chains["filter-forward"] = ([header.replace("accept", "drop")], rules)
    assert ask(made, deep=False) == [("unexpected_drop", "ipv6", "filter-forward")]


@cases
def test_a_rule_that_refuses_everything(rule):
    made = tables()
    made[0].chains["filter-forward"][1].append(rule)
    assert ask(made) == [("unexpected_drop", "ipv4", "filter-forward")]


def test_served_and_refused_at_once():
    made = tables()
    key = made[0].sets["service-ips"][2][0].partition(" : ")[0]
    made[0].sets["no-endpoint-services"][2].append("%s : goto reject-chain" % key)
    assert ask(made, deep=False) == [("unexpected_drop", "ipv4", key)]


# Services.

def test_nothing_is_said_of_what_is_not_there():
    for layout in kube_nft.LAYOUTS:
        assert ask([kube_nft.table(kube_cluster.cluster(family, []), layout) for family in FAMILIES]) == []
    assert ask_nftables(KubeTables(), setting()) == []


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_chains_kube_proxy_emptied_and_will_delete_are_normal(layout):
    made = tables(layout)
    for name in ("service-ABCDEFGH-default/gone/tcp/", "endpoint-ABCDEFGI-default/gone/tcp/__10.244.0.9/80",
                 "firewall-ABCDEFGH-default/gone/tcp/"):
        made[0].chains[name] = ([], [])
    assert ask(made) == ask(made, deep=False) == []


def test_an_endpoint_that_translates_nothing_or_two():
    for rules in (["meta l4proto tcp accept"],
                  ["meta l4proto tcp dnat to 10.1.1.1:80", "meta l4proto tcp dnat to 10.1.1.2:80"]):
        made = tables("1.30")
        name = services(made[0], "endpoint-")[0]
        made[0].chains[name] = ([], rules)
        assert ask(made) == [("unsound_endpoint", "ipv4", shown(name))]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
@pytest.mark.parametrize("emptied", [True, False])
def test_each_chain_of_a_service_emptied_or_taken_away(layout, family, emptied):
    """The kernel does not allow the latter, but a listing that was tampered with can contain it."""
    table = tables(layout, [family])[0]
    kinds = ("service-", "local-", "external-", "endpoint-")
    for name in [name for kind in kinds for name in services(table, kind)[:1]]:
        made = tables(layout, [family])
        kind = "unsound_endpoint" if name.startswith("endpoint-") else "empty_service_chain"
        if emptied:
            del made[0].chains[name][1][:]
        else:
            kind = "dangling_jump"
            del made[0].chains[name]
        assert [row for row in ask(made, mode=None) if row[0] != "orphan_chain"] == [(kind, family, shown(name))]


def test_what_is_not_judged_is_told_once():
    made = tables(families=["ipv4"])
    row, = ask_nftables(read_kube_tables(kube_nft.answers(*made), False, 0), setting(mode=None))
    assert (row["kind"], row["family"], row["table"], row["chain"],
            row["count"]) == ("unjudged_table", "ipv4", "ip kube-proxy", "", 1)
    why = "the rules inside the chains of Services are not judged: the table has %d chains, " % len(made[0].chains)
    assert row["detail"].startswith(why)


def test_a_chain_that_came_while_the_table_was_listed_is_not_empty():
    """`nft list chains` runs a second time, and does not print the rules of the chains that it lists."""
    made = tables(families=["ipv4"])
    found = read_kube_tables(kube_nft.answers(*made))
    found.tables["ipv4"].chains[services(made[0], "service-")[0]].rules = None
    assert "empty_service_chain" not in [row["kind"] for row in ask_nftables(found, setting(mode=None))]
