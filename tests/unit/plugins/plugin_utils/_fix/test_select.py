# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings block, which can be fixed, and whether a host was assessed."""

import pytest
from fix_runs import facts

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import verdict
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import select


def blocking(known, severity, unknown, unreached, level):
    return verdict.sentences(verdict.weighed(known, severity, unknown, unreached)[0][level])


def test_waived_findings_are_not_fixed():
    waiver = {"check": "KMOD003", "reason": "r", "owner": "o", "expires": "2999-01-01"}
    known = facts({"nf_conntrack": "loadable"}, node_policy_waivers=[waiver])
    assert select.fixable(known["node_assess_findings"], "safe") == []


@pytest.mark.parametrize("fix, checks",
                         [("none", set()), ("safe", {"KMOD003"}), ("guarded", {"KMOD003", "KMOD002", "KMOD007"})])
def test_classes_include_those_before(fix, checks):
    findings = facts({"nf_conntrack": "loadable", "xt_comment": "installed_true"})["node_assess_findings"]
    assert {row["check"] for row in select.fixable(findings, fix)} == checks


@pytest.mark.parametrize("call",
                         [
                             lambda: select.fixable("x", "safe"), lambda: select.fixable([], "all"),
                             lambda: blocking([], "high", "warn", "fail", "fail"),
                             lambda: blocking({}, "worst", "warn", "fail", "fail"), lambda: select.assessed(None),
                         ])
def test_wrong_types_are_refused(call):
    with pytest.raises(BadInput):
        call()


def test_a_node_on_which_no_check_ran_does_not_pass():
    known = facts()
    known = dict(known, node_assess_findings=[], node_assess_summary=dict(known["node_assess_summary"],
                                                                          **_finding.summarise([])))
    assert blocking(known, "high", "ignore", "fail", "fail") == [
        "no check ran on the node: node_assess_sections, node_assess_checks and node_assess_skip exclude all checks"]
    assert blocking(known, "high", "ignore", "ignore", "fail") == []
