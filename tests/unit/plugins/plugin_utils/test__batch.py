# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a gate has nothing to say of a batch: in doubt it has."""

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _batch, _kept, _policy, _run

WAIVER = {"check": "KMOD003", "reason": "being replaced", "owner": "net", "expires": "2099-12-31"}


def facts(modules=None, reached=True, waivers=(), checks=None):
    policy = _policy.policy_of({"node_policy_waivers": list(waivers)} if waivers else {})
    evidence = healthy(policy.module_names, modules) if reached else {}
    known = _assess.exported(evidence, policy, _assess.chosen_checks(checks), None,
                             not_reached=None if reached else "unreachable: x")
    return _kept.packed(known, {})


HEALTHY = facts()


@pytest.fixture(autouse=True)
def forgotten():
    _batch._latest.clear()


def nothing_blocks(**of_hosts):
    return _batch.nothing_blocks(sorted(of_hosts), lambda name: {"ansible_facts": of_hosts[name]}, "a")


def test_hosts_whose_findings_all_pass_or_are_skipped():
    assert nothing_blocks(a=HEALTHY, b=facts(), c=facts(checks=["KMOD"]))
    assert _batch.passes(HEALTHY)


@pytest.mark.parametrize("known", [
    facts({"nf_conntrack": "loadable"}), facts({"xt_mark": "unknown"}),
    facts({"nf_conntrack": "loadable"}, waivers=[WAIVER]), facts(reached=False),
], ids=["fail", "unknown", "waived", "not reached"])
def test_one_host_of_which_something_may_be_said(known):
    assert not nothing_blocks(a=HEALTHY, b=known) and not _batch.passes(known)
    assert not nothing_blocks(a=known)


@pytest.mark.parametrize("known", [
    None, [], {}, dict(HEALTHY, node_assess_summary=None), dict(HEALTHY, node_assess_findings=None),
    dict(HEALTHY, node_assess_summary=dict(HEALTHY["node_assess_summary"], run="20260101T000000Z-1")),
    dict(HEALTHY, node_assess_summary=dict(HEALTHY["node_assess_summary"], reached="yes")),
    dict(HEALTHY, node_assess_summary=dict(HEALTHY["node_assess_summary"], skip=0, **{"pass": 0})),
    dict(HEALTHY, node_assess_findings=[7]), dict(HEALTHY, node_assess_findings=[{}]),
])
def test_facts_that_are_not_of_this_run_or_damaged_may_block(known):
    assert not nothing_blocks(a=HEALTHY, b=known)


@pytest.mark.parametrize("kept", [None, "", "{}", '{"findings": [], "sections": {}}'])
def test_findings_that_are_gone_do_not_pass(kept):
    known = dict(HEALTHY, **{_kept.FACT: kept})
    assert _run.summary_of(known) is None and not _batch.passes(known)
    assert not nothing_blocks(a=HEALTHY, b=known)


def test_the_host_that_was_told_last_is_asked_first():
    asked = []

    def variables_of(name):
        asked.append(name)
        return {"ansible_facts": {} if name == "c" else HEALTHY}
    for own in "ab":
        assert not _batch.nothing_blocks(["a", "b", "c"], variables_of, own)
    assert asked == ["a", "b", "c", "b", "c"]
