# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One observation, small questions asked of one rule, and whose chains go."""

import shlex

import chain_texts as texts
import pytest
from case_rows import cases
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import rules, tables
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.observation import (
    KINDS, PLACES_LIMIT, ROWS_LIMIT, TEXT_LIMIT, Tally, cut, merged, observe, place_of, with_repair,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import since

# The dict of one observation, its limits and its order.

RULES = texts.read(texts.healthy())


@given(st.text())
def test_a_cut_text_is_the_start_of_it(text):
    assert len(cut(text)) <= TEXT_LIMIT
    assert cut(text) == text or (cut(text).endswith("...") and text.startswith(cut(text)[:-3]))


def test_what_a_dump_holds_stays_within_limits():
    row = observe("dangling_jump", RULES, "nat", "A" * 5000, "-A " + "x" * 5000)
    assert (len(row["chain"]), len(row["text"])) == (64, 200)


def test_equal_ones_are_added_up_and_the_most_telling_is_first():
    rows = [observe("duplicate_rule", RULES, "nat", "A", count=2), observe("orphan_chain", RULES, "nat", "B"),
            observe("anchor_missing", RULES, "nat", "C"), observe("duplicate_rule", RULES, "nat", "A", count=3),
            observe("duplicate_rule", RULES, "nat", "Z", count=9)]
    assert [(row["kind"], row["chain"], row["count"]) for row in merged(rows)] == [
        ("anchor_missing", "C", 1), ("duplicate_rule", "Z", 9), ("duplicate_rule", "A", 5), ("orphan_chain", "B", 1)]


def test_the_order_does_not_hang_on_the_order_of_the_questions():
    rows = [observe(kind, RULES, table, "X", count=number) for kind in KINDS for table in ("nat", "filter")
            for number in (1, 2)]
    assert merged(rows) == merged(rows[::-1])


def test_a_dump_of_unknown_family_has_its_place():
    unknown = texts.read("*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n")
    assert [row["family"] for row in merged([observe("chain_loop", RULES, "nat", "A"),
                                             observe("chain_loop", unknown, "nat", "A")])] == [None, "ipv4"]


def test_of_very_many_only_some_are_kept_and_all_are_counted():
    rows = [observe("dangling_jump", RULES, "filter", "FORWARD" if number % 2 else "INPUT", "-A X -j %d" % number)
            for number in range(3 * ROWS_LIMIT)]
    tally = Tally(rows + rows[:10])
    assert len(tally.rows()) == ROWS_LIMIT and sum(row["count"] for row in tally.rows()) == ROWS_LIMIT + 10
    assert tally.more == {place_of(rows[0]): ROWS_LIMIT, place_of(rows[1]): ROWS_LIMIT}
    assert [row["count"] for row in tally.rows()[:11]] == [2] * 10 + [1], "a repeated one is found again"


def test_what_has_no_detail_is_only_counted():
    tally = Tally([observe("duplicate_rule", RULES, "nat", "A", "", 7, None)])
    assert tally.rows() == [] and list(tally.more.values()) == [7]


def test_a_missing_anchor_is_ranked_by_what_it_breaks():
    ranked = [("nat", "OUTPUT", "KUBE-SERVICES"), ("nat", "PREROUTING", "KUBE-SERVICES"),
              ("nat", "POSTROUTING", "KUBE-POSTROUTING"), ("nat", "KUBE-SERVICES", "KUBE-NODEPORTS"),
              ("nat", "KUBE-SVC-AAAAAAAAAAAAAAAA", None), ("filter", "FORWARD", "KUBE-FORWARD"),
              ("filter", "FORWARD", "KUBE-SERVICES"), ("filter", "INPUT", "KUBE-EXTERNAL-SERVICES"),
              ("filter", "FORWARD", "KUBE-PROXY-FIREWALL"), ("filter", "INPUT", "KUBE-FIREWALL")]
    rows = [observe("anchor_missing", RULES, table, chain, "-A %s -j %s" % (chain, target) if target else "")
            for table, chain, target in ranked]
    told = [(row["table"], row["chain"], row["text"].split()[-1] if row["text"] else None)
            for row in merged(rows[::-1])]
    assert told == ranked


def test_of_very_many_chains_what_sort_they_are_is_told():
    tally = Tally(observe("dangling_jump", RULES, "nat", "KUBE-SVC-%d" % number)
                  for number in range(ROWS_LIMIT + PLACES_LIMIT + 500))
    assert len(tally.more) == PLACES_LIMIT + 1 and sum(tally.more.values()) == PLACES_LIMIT + 500
    assert tally.more[place_of(observe("dangling_jump", RULES, "nat", "KUBE-SVC-"))] == 500


# The command that repairs it: exact, and safe to paste.

@cases
def test_repairs(row, repair):
    row = dict({"kind": "lost_match", "family": "ipv4", "backend": "nft", "table": "filter", "chain": "KUBE-FIREWALL",
                "text": "-A KUBE-FIREWALL -j DROP", "count": 1, "detail": ""}, **row)
    assert with_repair(row, {("ipv6", "legacy"): "ip6tables"})["repair"] == repair


@given(st.text(alphabet=st.sampled_from("aZ0 -!\"'$`\\;&|<>()*?[]{}~#=\n\tü"), max_size=30))
def test_a_shell_passes_on_each_word_of_a_repair(comment):
    text = '-A KUBE-FIREWALL -m comment --comment "%s" -j DROP' % comment
    repair = with_repair(observe("lost_match", RULES, "filter", "KUBE-FIREWALL", text), {})["repair"]
    built = repair.startswith("iptables-nft -w 5 -t filter -D")
    if set(comment) <= set("aZ0 -="):
        assert built and shlex.split(repair)[6:] == ["KUBE-FIREWALL", "-m", "comment", "--comment", comment, "-j",
                                                     "DROP"]
    assert not built or set(comment) <= set('aZ0 -="')


# Small questions asked of one rule, and which tables may be judged.

def rule(words):
    return texts.read(texts.small("filter", "A", ["-A A " + words])).tables["filter"].chains["A"].rules[0]


@cases
def test_destination_ports(words, ranges):
    assert rules.port_ranges(rule(words)) == ranges


@pytest.mark.parametrize("words, states",
                         [
                             ("-m conntrack --ctstate NEW,RELATED", {"NEW", "RELATED"}),
                             ("-m state --state INVALID", {"INVALID"}), ("-m conntrack ! --ctstate INVALID", set()),
                             ("-m comment --comment \"--ctstate NEW\"", set()), ("-s 192.0.2.1/32", set()),
                         ])
def test_connection_states(words, states):
    assert rules.states(rule(words)) == states


def test_other_matches():
    some = rule("! -s 192.0.2.1/32 -d 192.0.2.2/32 -m addrtype --dst-type LOCAL -j ACCEPT")
    assert (rules.plain_value(some, "-s"), rules.plain_value(some, "-d"),
            rules.plain_value(some, "-i")) == (None, "192.0.2.2/32", None)
    assert rules.to_local(some) and rules.uses(some, "addrtype") and not rules.uses(some, "mark")
    assert (not rules.to_local(rule("-m addrtype ! --dst-type LOCAL"))
            and not rules.to_local(rule("-m addrtype --src-type LOCAL")))


def test_versions():
    known = texts.setting(kubernetes=(1, 27))
    assert (since(known, (1, 27)), since(known, (1, 28)),
            since(texts.setting(kubernetes=None), (1, 20))) == (True, False, None)


def test_what_a_table_lacks_is_told_if_it_was_printed_to_the_end():
    whole = texts.healthy()
    cut = texts.read(whole[:whole.index("-A FORWARD")])
    assert [name for name, _table in tables.readable(texts.read(whole))] == ["filter", "mangle", "nat"]
    assert [name for name, _table in tables.readable(cut)] == ["filter", "mangle"]
    assert (tables.table_of(cut, "filter").complete, tables.chains_of(cut, "filter"),
            tables.chains_of(cut, "nat")) == (False, None, None)


def test_what_a_live_reading_does_not_print_is_not_there():
    nat = texts.small("nat", "", [])
    assert (tables.chains_of(texts.read(nat), "mangle"),
            tables.chains_of(texts.read(nat, "nat.txt"), "mangle")) == ({}, None)
    incompatible = texts.read(nat + "# Table `mangle' is incompatible, use 'nft' tool.\n")
    assert tables.chains_of(incompatible, "mangle") is None
