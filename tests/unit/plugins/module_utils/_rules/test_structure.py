# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps into nothing, chains without a jump, chains that lead back to themselves, rules that are there twice."""

import chain_texts as texts
import pytest
from case_rows import cases
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.duplicates import ask_duplicates
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.structure import (
    LARGE_CLUSTER, ask_loops, ask_structure,
)

# Jumps into nothing, and chains without a jump.

ask = texts.asking(ask_structure, "kind table chain")


def test_in_a_large_cluster_stale_services_may_wait():
    many = [":KUBE-SEP-%016d - [0:0]" % number for number in range(LARGE_CLUSTER + 1)]
    assert ask(texts.adding(texts.healthy(), "nat", *many)) == []
    found = ask(texts.adding(texts.healthy(), "nat", ":KUBE-SVC-ZZZZZZZZZZZZZZZZ - [0:0]", *many))
    assert found == [("unsettled_chain", "nat", "KUBE-SVC-ZZZZZZZZZZZZZZZZ")]
    # A Service that lost its rule looks the same, and is never silently right.
    lost = "\n".join(line for line in texts.healthy().split("\n")
                     if not line.startswith("-A KUBE-SERVICES -d 10.96.0.2/32"))
    assert ask(texts.adding(lost, "nat", *many)) == [("unsettled_chain", "nat", texts.OTHER_SVC)]


def test_of_a_damaged_dump_nothing_is_said():
    unreadable = texts.instead(texts.healthy(), ":KUBE-FORWARD - [0:0]", ':KUBE-FORWARD" -')
    assert "filter" not in [table for _kind, table, _chain in ask(unreadable)]


# Chains that lead back to themselves.

def circles(text):
    return [(chain, detail.split()[-1]) for chain, detail in texts.asking(ask_loops, "chain detail")(text)]


def graph(*jumps):
    names = sorted({name for jump in jumps for name in jump})
    return texts.small("filter", " ".join(name for name in names if name != "INPUT"),
                       ["-A %s -j %s" % tuple(jump) for jump in jumps])


@cases
def test_a_circle_is_told_once(jumps, closing):
    assert sorted(circles(graph(*jumps))) == closing


def test_it_may_be_as_deep_as_the_dump():
    chain = [("C%05d" % number, "C%05d" % (number + 1)) for number in range(5000)]
    assert circles(graph(*chain)) == []
    assert circles(graph(*(chain + [("C05000", "C00000")]))) == [("C00000", "C00001")]


@given(st.lists(st.tuples(st.sampled_from("ABCDE"), st.sampled_from("ABCDE")), max_size=12))
def test_it_is_found_exactly_where_there_is_one(jumps):
    reach = set(jumps)
    for _round in range(5):
        reach |= {(one, other) for one, middle in reach for start, other in jumps if start == middle}
    is_there = any((name, name) in reach for name in "ABCDE")
    assert bool(circles(graph(*jumps) if jumps else texts.healthy())) == is_there


# Rules that are there twice, and rules that may be.

twice = texts.asking(ask_duplicates, "table chain text count")


def test_a_folded_service_rule_three_times():
    line = next(line for line in texts.healthy().split("\n") if line.startswith("-A KUBE-SERVICES -d"))
    assert twice(texts.adding(texts.healthy(), "nat", line, line)) == [("nat", "KUBE-SERVICES", line, 2)]


@cases
def test_repetition_that_has_a_meaning(table, rules):
    chains = "MINE MARKS OTHER KUBE-POD-FW-AAAAAAAAAAAAAAAA KUBE-NODEPORTS KUBE-EXT-AAAAAAAAAAAAAAAA KUBE-MARK-MASQ"
    assert twice(texts.small(table, chains, rules)) == []


@pytest.mark.parametrize("at", range(0, len(texts.healthy()), 101))
def test_what_was_read_of_a_table_that_is_cut_off_is_judged(at):
    start = texts.healthy()[:at]
    table = start.rpartition("\n*")[2].partition("\n")[0] if "\n*" in start else None
    begun = table in ("filter", "mangle", "nat") and "COMMIT" not in start.rpartition("\n*")[2]
    expected = [(table, "KUBE-FIREWALL", "-A KUBE-FIREWALL -j X", 2)] if begun else []
    assert twice(start + "\n" + "-A KUBE-FIREWALL -j X\n" * 3) == expected


@pytest.mark.parametrize("limit", [0, 2, 1000])
def test_of_many_repeated_rules_all_copies_are_counted(limit, monkeypatch):
    monkeypatch.setattr(save_lines, "REPEATED_LIMIT", limit)
    rules = ["-A FORWARD -s 192.0.2.%d/32 -j ACCEPT" % number for number in range(5)]
    rules.append("-A FORWARD -m limit --limit 5/min -j ACCEPT")
    jumps = ["-A FORWARD -s 192.0.2.%d/32 -j MINE" % number for number in range(5)]
    rows = twice(texts.adding(texts.healthy(), "filter", ":MINE - [0:0]", *(2 * (rules + jumps) + rules)))
    assert sum(count for _table, _chain, _text, count in rows) == 15
    assert len([text for _table, _chain, text, _count in rows if text]) == min(limit, 10)


@cases
def test_a_rule_of_marks_again_with_the_same_mark(between, copies):
    for rule in ("-A MINE -m mark --mark 0x1 -j RETURN", "-A MINE -j MARK --set-xmark 0x4/0x4"):
        text = texts.small("nat", "MINE OTHER", [rule] + between + [rule, rule])
        assert twice(text) == [("nat", "MINE", rule, copies)]
