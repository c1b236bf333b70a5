# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that lead back to themselves."""

import chain_texts as texts
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.loops import ask_loops


def ask(text):
    rule_set = texts.read(text)
    return [(row["chain"], row["detail"].split()[-1]) for row in ask_loops(rule_set, texts.setting(rule_set))]


def graph(*jumps):
    names = sorted({name for jump in jumps for name in jump})
    return texts.small("filter", " ".join(name for name in names if name != "INPUT"),
                       ["-A %s -j %s" % jump for jump in jumps])


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_healthy_node_has_none(family):
    assert ask(texts.healthy(family)) == []


@pytest.mark.parametrize(
    "jumps, closing", [
        ([("A", "A")], [("A", "A")]), ([("A", "B"), ("B", "A")], [("A", "B")]),
        ([("A", "B"), ("B", "C"), ("C", "B")], [("B", "C")]),
        ([("C", "D"), ("D", "C"), ("B", "C"), ("A", "A"), ("D", "A")], [("A", "A"), ("C", "D")]),
        ([("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")], []), ([("INPUT", "A"), ("A", "B"), ("A", "B")], []),
    ])
def test_a_circle_is_told_once(jumps, closing):
    assert sorted(ask(graph(*jumps))) == closing


@pytest.mark.parametrize("rule", ["-A KUBE-MARK-MASQ -j KUBE-SERVICES", "-A %s -j KUBE-SERVICES" % texts.SVC,
                                  "-A %s -s 10.0.0.0/8 -j %s" % (texts.SVC, texts.EXT),
                                  "-A %s -s 10.0.0.0/8 -j KUBE-NODEPORTS" % texts.SVC.replace("SVC", "SEP")])
def test_a_circle_through_folded_service_rules(rule):
    assert len(ask(texts.adding(texts.healthy(), "nat", rule))) == 1


def test_a_circle_through_a_chain_of_somebody_else():
    assert len(ask(texts.adding(texts.healthy(), "nat", ":MINE - [0:0]", "-A KUBE-MARK-MASQ -j MINE",
                                "-A MINE -j KUBE-SERVICES"))) == 1


def test_it_may_be_as_deep_as_the_dump():
    chain = [("C%05d" % number, "C%05d" % (number + 1)) for number in range(5000)]
    assert ask(graph(*chain)) == []
    assert ask(graph(*(chain + [("C05000", "C00000")]))) == [("C00000", "C00001")]


@given(st.lists(st.tuples(st.sampled_from("ABCDE"), st.sampled_from("ABCDE")), max_size=12))
def test_it_is_found_exactly_where_there_is_one(jumps):
    reach = set(jumps)
    for _round in range(5):
        reach |= {(one, other) for one, middle in reach for start, other in jumps if start == middle}
    assert bool(ask(graph(*jumps) if jumps else texts.healthy())) == any((name, name) in reach for name in "ABCDE")
