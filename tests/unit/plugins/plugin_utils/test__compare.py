# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing what nodes serve."""

import random

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._compare import compare


def digest(services, minute, endpoints="e"):
    return {"services": services, "endpoints": endpoints, "read_at": "2026-11-21T10:%02d:00Z" % minute}


def test_nodes_that_serve_the_same():
    compared = compare({"a": digest("x", 0), "b": digest("x", 9), "c": digest("x", 3)})
    assert compared["services"] == {"most": "x", "hosts": 3, "unknown": 0, "differs": [], "moving": []}


def test_a_node_that_was_read_between_others_differs():
    compared = compare({"a": digest("x", 0), "b": digest("y", 1), "c": digest("x", 2)})
    assert (compared["services"]["differs"], compared["services"]["moving"]) == (["b"], [])
    assert compared["endpoints"]["hosts"] == 3


@pytest.mark.parametrize("minute", [0, 9])
def test_a_node_read_before_or_after_all_others_may_have_met_a_change(minute):
    compared = compare({"a": digest("x", 3), "b": digest("y", minute), "c": digest("x", 5)})
    assert (compared["services"]["differs"], compared["services"]["moving"]) == ([], ["b"])


def test_a_rollout_in_the_middle_is_no_difference():
    changed = {"node%d" % minute: digest("old" if minute < 6 else "new", minute) for minute in range(10)}
    assert compare(changed)["services"]["differs"] == []
    assert len(compare(changed)["services"]["moving"]) == 4


def test_what_is_not_known_is_counted_and_takes_no_part():
    compared = compare({"a": digest("x", 0), "b": None, "c": digest("x", 1, None), "d": digest(None, 2, None)})
    assert (compared["services"]["hosts"], compared["services"]["unknown"], compared["endpoints"]) == (2, 2, None)
    assert compare({"a": digest("x", 0)}) == {"services": None, "endpoints": None}
    assert compare({}) == {"services": None, "endpoints": None}


def test_the_order_of_hosts_does_not_matter():
    hosts = [("n%d" % number, digest(random.choice("xy"), random.randrange(60))) for number in range(12)]
    print("hosts:", hosts)
    expected = compare(dict(hosts))
    random.shuffle(hosts)
    assert compare(dict(hosts)) == expected
