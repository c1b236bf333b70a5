# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of another mode, of older versions, and in the other backend."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.leftovers import (ask_backends,
                                                                                                 ask_other_mode,
                                                                                                 in_both, in_use)

IPVS = texts.small("nat", "KUBE-LOAD-BALANCER KUBE-MARK-MASQ KUBE-NODE-PORT KUBE-POSTROUTING KUBE-SERVICES",
                   [texts.TO_SERVICES]) + texts.small(
                       "filter", "KUBE-FORWARD KUBE-IPVS-FILTER KUBE-IPVS-OUT-FILTER KUBE-NODE-PORT "
                                 "KUBE-PROXY-FIREWALL KUBE-SOURCE-RANGES-FIREWALL", [])


def ask(text, **known):
    rule_set = texts.read(text)
    return [(row["table"], row["chain"], row["count"])
            for row in ask_other_mode(rule_set, texts.setting(rule_set, **known))]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("kubernetes", [(1, 20), (1, 30), None])
def test_the_mode_that_runs_leaves_nothing(family, kubernetes):
    assert ask(texts.healthy(family), kubernetes=kubernetes) == []
    assert ask(IPVS, mode="ipvs", kubernetes=kubernetes) == []


@pytest.mark.parametrize("text", [texts.healthy(), IPVS])
def test_without_a_mode_nothing_is_left_over(text):
    assert ask(text, mode=None) == []


def test_ipvs_chains_in_iptables_mode():
    text = texts.adding(texts.adding(texts.healthy(), "nat", ":KUBE-LOAD-BALANCER - [0:0]", ":KUBE-NODE-PORT - [0:0]"),
                        "filter", ":KUBE-IPVS-FILTER - [0:0]")
    assert ask(text) == [("filter", "KUBE-IPVS-FILTER", 1), ("nat", "KUBE-LOAD-BALANCER", 2)]


def test_kube_firewall_of_nat_is_of_ipvs_mode():
    assert ask(texts.adding(texts.healthy(), "nat", ":KUBE-FIREWALL - [0:0]")) == [("nat", "KUBE-FIREWALL", 1)]


def test_iptables_chains_in_ipvs_mode():
    rows = {table: (chain, count) for table, chain, count in ask(texts.healthy(), mode="ipvs")}
    assert rows == {"filter": ("KUBE-EXTERNAL-SERVICES", 4), "mangle": ("KUBE-PROXY-CANARY", 1),
                    "nat": ("KUBE-EXT-AAAAAAAAAAAAAAAA", 9)}


def test_iptables_chains_in_nftables_mode():
    tables = [row[0] for row in ask(texts.healthy(), mode="nftables")]
    assert sorted(set(tables)) == ["filter", "mangle", "nat"]


@pytest.mark.parametrize("kubernetes, count", [((1, 27), 0), (None, 0), ((1, 28), 1)])
def test_what_kubelet_makes_too_is_no_leftover(kubernetes, count):
    text = texts.small("nat", "KUBE-MARK-DROP KUBE-MARK-MASQ KUBE-POSTROUTING KUBE-KUBELET-CANARY",
                       [texts.TO_POSTROUTING])
    assert len(ask(text, mode="nftables", kubernetes=kubernetes)) == count


def test_a_change_to_nftables_mode_leaves_kube_firewall_behind():
    rest = texts.small("mangle", "", []) + texts.small(
        "filter", "KUBE-FIREWALL", ["-A INPUT -j KUBE-FIREWALL", "-A OUTPUT -j KUBE-FIREWALL", texts.LOCALNET])
    assert ask(rest, mode="nftables", kubelet=None) == [("filter", "KUBE-FIREWALL", 1)]
    rule_set = texts.read(rest)
    # What does no harm is an observation of its own, so that it is no more than information.
    assert [row["kind"] for row in ask_other_mode(rule_set, texts.setting(rule_set, mode="nftables",
                                                                          kubelet=None))] == ["idle_leftover"]
    assert ask(rest, mode="nftables", kubelet=True) == [], "kubelet makes it too"
    assert ask(rest.replace(":PRE", ":KUBE-IPTABLES-HINT - [0:0]\n:PRE", 1), mode="nftables",
               kubelet=None) == [], "kubelet was here"
    assert ask(rest, mode="iptables", kubelet=None) == []
    assert ask(texts.small("filter", "KUBE-FIREWALL", [])[:-70], mode="nftables", kubelet=None) == []


@pytest.mark.parametrize("kubernetes, count", [((1, 23), 0), (None, 0), ((1, 24), 1)])
def test_kube_xlb_ended_with_1_24(kubernetes, count):
    text = texts.adding(texts.healthy(), "nat", ":KUBE-XLB-AAAAAAAAAAAAAAAA - [0:0]",
                        ":KUBE-XLB-BBBBBBBBBBBBBBBB - [0:0]")
    assert ask(text, kubernetes=kubernetes) == count * [("nat", "KUBE-XLB-AAAAAAAAAAAAAAAA", 2)]


@pytest.mark.parametrize("kubernetes, count", [((1, 19), 0), (None, 0), ((1, 20), 1), ((1, 30), 1)])
def test_the_jump_from_input_ended_with_1_20(kubernetes, count):
    text = texts.adding(texts.healthy(), "filter",
                        "-A INPUT -m conntrack --ctstate NEW %s-j KUBE-SERVICES" % texts.PORTALS)
    assert ask(text, kubernetes=kubernetes) == count * [("filter", "INPUT", 1)]


def backends(*dumps):
    return [(row["backend"], row["chain"], row["count"]) for row in ask_backends([texts.read(text) for text in dumps])]


def bare(*chains):
    """A node whose legacy tables hold these chains of nat, each with a rule."""
    return texts.small("nat", " ".join(chains), ["-A %s -s 192.0.2.1/32 -j RETURN" % chain for chain in chains],
                       backend="legacy")


KUBELET = texts.small("mangle", "KUBE-IPTABLES-HINT KUBE-KUBELET-CANARY", [])


@pytest.mark.parametrize(
    "dumps", [
        (texts.healthy(),), (texts.healthy(), texts.healthy("ipv6", "legacy")), (texts.healthy(), bare()),
        (texts.healthy(), bare("DOCKER", "ufw-user", "MINE")), (KUBELET, bare("CNI-HOSTPORT-DNAT")),
        (texts.healthy(), texts.small("nat", "KUBE-SERVICES CNI-DN-1", [], backend="legacy")),
        (texts.without(texts.healthy("ipv4", "legacy"), ":KUBE-IPTABLES-HINT - [0:0]"), texts.small("mangle", "", [])),
    ])
def test_one_backend_only(dumps):
    assert backends(*dumps) == []


def test_kube_proxy_left_rules_in_the_other_backend():
    assert backends(texts.healthy(),
                    bare("KUBE-SERVICES", "KUBE-MARK-MASQ", "DOCKER")) == [("legacy", "KUBE-MARK-MASQ", 2)]


def test_the_pod_network_writes_to_the_other_backend():
    assert backends(texts.healthy(), bare("cali-PREROUTING", "FLANNEL-POSTRTG",
                                          "CNI-HOSTPORT-DNAT")) == [("legacy", "CNI-HOSTPORT-DNAT", 3)]


def test_kubelet_writes_to_the_other_backend():
    legacy = texts.healthy("ipv4", "legacy")
    for line in (":KUBE-IPTABLES-HINT - [0:0]", ":KUBE-KUBELET-CANARY - [0:0]"):
        legacy = texts.without(legacy, line)
    assert backends(legacy, KUBELET) == [("nft", "KUBE-IPTABLES-HINT", 1)]


def test_full_sets_in_both_are_told_of_the_one_without_the_hint():
    hinted, bare_legacy = texts.healthy(), texts.healthy("ipv4", "legacy")
    for line in (":KUBE-IPTABLES-HINT - [0:0]", ":KUBE-KUBELET-CANARY - [0:0]"):
        bare_legacy = texts.without(bare_legacy, line)
    rows = ask_backends([texts.read(hinted), texts.read(bare_legacy)])
    assert [(row["backend"], row["detail"])
            for row in rows] == [("legacy", "chains of kube-proxy with rules, while kube-proxy has rules in nft, too")]
    assert {row["backend"] for row in ask_backends([texts.read(hinted), texts.read(bare_legacy)], "legacy")} == {"nft"}


def test_the_iptables_that_kube_proxy_runs_says_which_backend_is_left_over():
    both = [texts.read(texts.healthy()), texts.read(texts.healthy("ipv4", "legacy"))]
    for used, left in (("legacy", "nft"), ("nft", "legacy")):
        assert [row["backend"] for row in ask_backends(both, used)] == [left]
        assert [in_use(rule_set, both, used) for rule_set in both] == [used == "nft", used == "legacy"]
    assert in_both(both) and not in_both(both[:1]) and not in_both([both[0],
                                                                    texts.read(texts.healthy("ipv6", "legacy"))])


def test_where_neither_tells_no_backend_is_named():
    bare = texts.without(texts.healthy(), ":KUBE-IPTABLES-HINT - [0:0]", *[":KUBE-KUBELET-CANARY - [0:0]"] * 3)
    for nft, legacy in ((texts.healthy(), texts.healthy("ipv4", "legacy")),
                        (bare, bare.replace("nft-save", "save").replace(" (nf_tables)", ""))):
        both = [texts.read(nft), texts.read(legacy)]
        rows = ask_backends(both)
        assert [(row["backend"], row["detail"].partition(";")[0])
                for row in rows] == [("nft and legacy", "kube-proxy has rules in nft and in legacy")]
        assert [in_use(rule_set, both) for rule_set in both] == [True, True]


def test_each_family_by_itself():
    rows = ask_backends([texts.read(text)
                         for text in (texts.healthy(), bare("KUBE-SERVICES"), texts.healthy("ipv6", "legacy"))])
    assert [(row["family"], row["backend"]) for row in rows] == [("ipv4", "legacy")]


def test_where_kube_proxy_works():
    sets = [texts.read(text) for text in (texts.healthy(), texts.small("nat", "KUBE-SERVICES", [], backend="legacy"),
                                          texts.healthy("ipv6", "legacy"))]
    assert [in_use(rule_set, sets) for rule_set in sets] == [True, False, True]
    assert in_use(texts.read(texts.small("nat", "", [])), [])
