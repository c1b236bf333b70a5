# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that differ from most nodes, or from a baseline, and when nothing is said."""

import random

import pytest
from case_rows import cases
from kube_audit import seed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet.outliers import (baseline_texts, outlier_texts,
                                                                                         outliers)


def reports(kernels, **others):
    summaries = [dict(others, reached=True, kernel=kernel and "kernel " + kernel) for kernel in kernels]
    return [{"host": "n%d" % number, "summary": summary} for number, summary in enumerate(summaries)]


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
    assert outlier_texts(found, "n2", ", ".join) == ["kernel is 6.12 on n2 (baseline): 6.1 on n0, n1"]
    assert outliers(reports(["6.1", "6.12", None]), "n2") == [], "nothing is known of the baseline"


def test_each_node_is_usual_other_or_unknown():
    source = random.Random(seed())
    for _number in range(300):
        kernels = [source.choice(["6.1", "6.12", "7.2", None]) for _node in range(source.randint(0, 9))]
        for row in outliers(reports(kernels)):
            assert row["nodes"] + len(row["others"]) + kernels.count(None) == len(kernels)
            assert row["nodes"] > len(row["others"]) and row["usual"] not in row["others"].values()


def with_items(kernels, kind, *items):
    rows = reports(kernels, os="Debian 12")
    return [dict(report, items={kind: each}) for report, each in zip(rows, items)]


def texts(fleet, baseline=None):
    return outlier_texts(outliers(fleet, baseline), baseline, ", ".join)


LOADED = {"ip_vs": "loaded", "ip_vs_rr": "loaded"}


@cases
def test_lines_of_differences(kernels, kind, items, baseline, lines):
    assert texts(with_items(kernels, kind, *items), baseline) == lines


def test_a_module_that_is_not_loaded_and_a_file_that_is_missing_in_the_roll_up():
    fleet = with_items(["6.1"] * 4, "modules", LOADED, LOADED, {"wireguard": "loaded"}, LOADED)
    assert outliers(fleet)[0] == {"by": "kernel module ip_vs", "usual": "loaded", "nodes": 3,
                                  "others": {"n2": "not loaded"}}
    assert outliers(with_items(["6.1"] * 3, "hooks", {"/x": "y"}, {}, {}))[0]["usual"] == "none", "fleet.json keeps it"


def test_many_differences_are_counted():
    fleet = with_items(["6.1"] * 3, "hooks", {"/%d" % number: str(number) for number in range(60)}, {}, {})
    assert len(outliers(fleet)) == 60
    assert texts(fleet)[20:] == ["and 40 more differences between nodes"]


def test_a_report_of_an_earlier_release_and_hostile_items():
    fleet = with_items(["6.1"] * 3, "hooks", {"none": "none"}, {}, {"\x1b": "none"})
    del fleet[1]["items"]
    assert outliers(fleet) == []


def test_each_node_has_the_usual_item_or_another_one():
    source = random.Random(seed())
    for _number in range(200):
        hosts = source.randint(0, 7)
        known = [source.choice([None, {key: source.choice("xy") for key in source.sample("abc", source.randint(0, 3))}])
                 for _host in range(hosts)]
        baseline = source.choice([None] + ["n%d" % number for number in range(hosts)])
        for row in outliers(with_items(["6.1"] * hosts, "hooks", *known), baseline):
            key = row["by"].rpartition(" ")[2]
            values = {"n%d" % number: items.get(key, "none") for number, items in enumerate(known) if items is not None}
            assert row["others"] == {host: value for host, value in values.items() if value != row["usual"]}
            assert row["nodes"] == len(values) - len(row["others"])


def test_a_baseline_of_which_nothing_is_known_is_named():
    hosts = [{"host": "a", "status": "assessed"}, {"host": "lost", "status": "not_reached"}]
    words = ["lost (baseline) was not assessed, so no host is compared with it"]
    assert baseline_texts({"hosts": hosts, "baseline": "lost"}) == words
    assert baseline_texts({"hosts": hosts, "baseline": "a"}) == baseline_texts({"hosts": hosts, "baseline": None}) == []
