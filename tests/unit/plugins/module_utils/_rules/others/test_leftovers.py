# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of another mode, of older versions, and in the other backend."""

import chain_texts as texts

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.leftovers import (
    ask_backends, ask_other_mode, in_both, in_use)

ask = texts.asking(ask_other_mode, "table chain count")


def test_iptables_chains_in_another_mode():
    rows = {table: (chain, count) for table, chain, count in ask(texts.healthy(), mode="ipvs")}
    assert rows == {"filter": ("KUBE-EXTERNAL-SERVICES", 4), "mangle": ("KUBE-PROXY-CANARY", 1),
                    "nat": ("KUBE-EXT-AAAAAAAAAAAAAAAA", 9)}
    assert {row[0] for row in ask(texts.healthy(), mode="nftables")} == {"filter", "mangle", "nat"}


def test_full_sets_in_both_are_told_of_the_one_without_the_hint():
    hinted, bare_legacy = texts.healthy(), texts.healthy("ipv4", "legacy")
    for line in (":KUBE-IPTABLES-HINT - [0:0]", ":KUBE-KUBELET-CANARY - [0:0]"):
        bare_legacy = texts.without(bare_legacy, line)
    sets = [texts.read(hinted), texts.read(bare_legacy)]
    row, = ask_backends(sets)
    assert row["backend"] == "legacy"
    assert row["detail"] == "chains of kube-proxy with rules, while kube-proxy has rules in nft, too"
    assert {row["backend"] for row in ask_backends(sets, "legacy")} == {"nft"}


def test_the_iptables_that_kube_proxy_runs_says_which_backend_is_left_over():
    both = [texts.read(texts.healthy()), texts.read(texts.healthy("ipv4", "legacy"))]
    for used, left in (("legacy", "nft"), ("nft", "legacy")):
        assert [row["backend"] for row in ask_backends(both, used)] == [left]
        assert [in_use(rule_set, both, used) for rule_set in both] == [used == "nft", used == "legacy"]
    assert in_both(both) and not in_both(both[:1])
    assert not in_both([both[0], texts.read(texts.healthy("ipv6", "legacy"))])


def test_where_neither_tells_no_backend_is_named():
    bare = texts.without(texts.healthy(), ":KUBE-IPTABLES-HINT - [0:0]", *[":KUBE-KUBELET-CANARY - [0:0]"] * 3)
    for nft, legacy in ((texts.healthy(), texts.healthy("ipv4", "legacy")),
                        (bare, bare.replace("nft-save", "save").replace(" (nf_tables)", ""))):
        both = [texts.read(nft), texts.read(legacy)]
        row, = ask_backends(both)
        assert row["backend"] == "nft and legacy"
        assert row["detail"].startswith("kube-proxy has rules in nft and in legacy;")
        assert [in_use(rule_set, both) for rule_set in both] == [True, True]


def test_where_kube_proxy_works():
    sets = [texts.read(text) for text in (texts.healthy(), texts.small("nat", "KUBE-SERVICES", [], backend="legacy"),
                                          texts.healthy("ipv6", "legacy"))]
    assert [in_use(rule_set, sets) for rule_set in sets] == [True, False, True]
    assert in_use(texts.read(texts.small("nat", "", [])), [])


def test_any_number_of_left_over_chains_that_refuse_packets_is_a_short_sentence():
    chains = ["KUBE-SVC-%016d" % number for number in range(500)]
    rows = ["-A %s -j DROP" % chain for chain in chains] + ["-A %s -p udp -j DROP" % chains[1]]
    rule_set = texts.read(texts.small("nat", " ".join(chains), rows))
    row, = ask_other_mode(rule_set, texts.setting(rule_set, mode="ipvs"))
    assert "; 2 rules of %s refuse" % chains[1] in row["detail"] and row["detail"].endswith("and 497 more chains do")
    assert len(row["detail"]) < 400
