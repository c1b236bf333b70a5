# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a batch has nothing to fix: in doubt it has."""

import pytest
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _policy
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import idle

POLICY = _policy.default_policy()


def facts(modules=None, reached=True):
    evidence = healthy(POLICY.module_names, modules) if reached else {}
    return _assess.exported(evidence, POLICY, _assess.chosen_checks(None), None,
                            not_reached=None if reached else "unreachable: x")


HEALTHY, BROKEN, LOST = facts(), facts({"nf_conntrack": "loadable"}), facts(reached=False)
# The fix of KMOD002 is guarded.
GUARDED = dict(BROKEN, node_assess_findings=[dict(row, check="KMOD002") for row in BROKEN["node_assess_findings"]
                                             if row["check"] == "KMOD003"])


@pytest.fixture(autouse=True)
def forgotten():
    idle._latest.clear()
    idle._latest_with_turn.clear()


def asked(fix="safe", own="a", **of_hosts):
    names = []

    def variables_of(host):
        names.append(host)
        return of_hosts[host]
    return idle.nothing_to_fix(sorted(of_hosts), variables_of, own, fix), names


def host(known, **variables):
    return dict(variables, ansible_facts=known)


def test_a_healthy_batch_has_nothing_to_fix_and_each_host_is_asked_once():
    assert asked(a=host(HEALTHY), b=host(HEALTHY), c=host(LOST)) == (True, ["a", "b", "c"])


def test_one_host_is_enough_and_is_asked_first_from_then_on():
    hosts = {"a": host(HEALTHY), "b": host(HEALTHY), "c": host(BROKEN)}
    assert asked(**hosts) == (False, ["a", "b", "c"])
    assert asked(own="b", **hosts) == (False, ["b", "c"])
    hosts["c"] = host(HEALTHY)
    assert asked(**hosts) == (True, ["a", "c", "b"]), "what was true of it is not believed"
    assert asked(a=host(HEALTHY)) == (True, ["a"]), "it is in another batch"


@cases
def test_the_class_that_reaches_furthest_counts(fix, variables, nothing):
    assert asked(fix, a=host(HEALTHY), b=host(GUARDED, **variables))[0] is nothing


@pytest.mark.parametrize("known", [
    None, [], {}, dict(HEALTHY, node_assess_summary=None), dict(HEALTHY, node_assess_findings=None),
    dict(HEALTHY, node_assess_summary=dict(HEALTHY["node_assess_summary"], run="20260101T000000Z-1")),
    dict(HEALTHY, node_assess_findings=[7]), dict(HEALTHY, node_assess_findings=[{"status": "fail"}]),
    dict(BROKEN, node_assess_summary=dict(HEALTHY["node_assess_summary"], place=["image"])),
])
def test_facts_that_are_not_of_this_run_or_damaged_are_work(known):
    assert asked(a=host(known))[0] is False


def test_an_image_has_work_where_a_node_has_none():
    image = dict(HEALTHY["node_assess_summary"], place="image")
    disruptive = [dict(row, check="BACKEND001") for row in GUARDED["node_assess_findings"]]
    check = _policy.default_policy().checks["BACKEND001"]
    assert check.fix["class"] == "disruptive" and check.fix["role"]
    known = dict(HEALTHY, node_assess_findings=disruptive)
    assert asked("guarded", a=host(known))[0] is True
    assert asked("guarded", a=host(dict(known, node_assess_summary=image)))[0] is False


def test_one_host_with_a_turn_is_enough_and_a_host_without_a_result_needs_none():
    def without_turns(own="a", **of_hosts):
        return idle.no_turns(sorted(of_hosts), of_hosts.__getitem__, own, "fixed")

    none, turn = {"fixed": {"turns": []}}, {"fixed": {"turns": ["restart_kubelet"]}}
    assert without_turns(a=none, b={}, c={"fixed": None}, d={"fixed": {"skipped": True}})
    assert not without_turns(a=none, b=turn) and not without_turns(own="b", a=none, b=turn)
    assert without_turns(a=none, b={"other": turn["fixed"]})
