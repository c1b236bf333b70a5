# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that differ from most nodes, or from a baseline, and when nothing is said."""

import random

import pytest
from kube_audit import seed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._outliers import outlier_text, outliers


def reports(kernels, **others):
    summaries = [dict(others, reached=True, kernel=kernel and "kernel " + kernel) for kernel in kernels]
    return [{"host": "n%d" % number, "summary": summary} for number, summary in enumerate(summaries)]


def test_one_node_with_another_kernel():
    found = outliers(reports(["6.1", "6.1", "6.12"], iptables="1.8.9 (nft)"))
    assert found == [{"by": "kernel", "usual": "6.1", "nodes": 2, "others": {"n2": "6.12"}}]
    assert outlier_text(found[0], None, ", ".join) == "kernel is 6.1 on 2 nodes: 6.12 on n2"


@pytest.mark.parametrize("kernels", [[], ["6.1"], ["6.1", "6.12"], ["6.1", "6.1"], ["6.1", "6.1", "6.12", "6.12"],
                                     ["6.1", "6.12", "7.2"], ["6.1", "6.1", None], [None, None, "6.1"]])
def test_where_no_value_is_the_usual_one_nothing_is_said(kernels):
    assert outliers(reports(kernels)) == []


def test_a_host_that_was_not_reached_differs_from_none():
    lost = [{"host": "lost", "summary": {"reached": False, "kernel": "kernel 5.10"}}]
    assert outliers(reports(["6.1", "6.1"]) + lost) == []


def test_a_baseline():
    found = outliers(reports(["6.1", "6.1", "6.12"]), "n2")
    assert found == [{"by": "kernel", "usual": "6.12", "nodes": 1, "others": {"n0": "6.1", "n1": "6.1"}}]
    assert outlier_text(found[0], "n2", ", ".join) == "kernel is 6.12 on n2 (baseline): 6.1 on n0, n1"
    assert outliers(reports(["6.1", "6.12", None]), "n2") == [], "nothing is known of the baseline"


def test_each_node_is_usual_other_or_unknown():
    source = random.Random(seed())
    for _number in range(300):
        kernels = [source.choice(["6.1", "6.12", "7.2", None]) for _node in range(source.randint(0, 9))]
        for row in outliers(reports(kernels)):
            assert row["nodes"] + len(row["others"]) + kernels.count(None) == len(kernels)
            assert row["nodes"] > len(row["others"]) and row["usual"] not in row["others"].values()
