# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that are unknown because the look did not run as root, and checks that are unknown for other reasons although
it did not run as root."""

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, unknowns
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies


def summary(as_root, **collected):
    """The summary of a node whose sections could not read the sources named."""
    policy = policies.default_policy()
    evidence = healthy(policy.module_names, {"xt_mark": "unknown"})
    evidence["node_host"]["as_root"] = as_root
    for section, sources in collected.items():
        evidence[section]["collected"].update(sources)
    return assess.exported(evidence, policy, assess.chosen_checks(None), None)["node_assess_summary"]


def test_checks_that_rest_on_what_was_denied_need_root():
    found = summary(False, node_conntrack={"sysctls": "denied", "stat": "denied"})
    assert found["needs_root"] and {check[:6] for check in found["needs_root"]} == {"CTRACK"}
    assert len(found["needs_root"]) < found["unknown"], "the unknown kernel module is no matter of root"


@pytest.mark.parametrize("as_root, status", [(True, "denied"), (None, "denied"), (False, "timeout"), (False, "ok")])
def test_nothing_else_needs_root(as_root, status):
    assert summary(as_root, node_conntrack={"sysctls": status, "stat": status})["needs_root"] == []


def test_one_check_is_counted_as_one():
    row = {"check": "A001", "status": _finding.UNKNOWN, "reason": "r"}
    assert unknowns.by_cause([row], ["A001"]) == [([row], "not run as root: 1 check unknown, use --become")]
    assert unknowns.by_cause([row, dict(row, status=_finding.FAIL)], []) == [([row], None)]


@pytest.mark.parametrize("severity, words", [("medium", "medium or higher"), ("high", "high")])
def test_checks_below_a_severity_are_counted(severity, words):
    row, two, low = ({"check": check, "status": _finding.UNKNOWN, "reason": "r"} for check in ("A001", "A002", "A003"))
    assert unknowns.by_cause([row, two], ["A001", "A002", "A003"], [low], severity) == [
        ([row, two], "not run as root: 2 of 3 unknown checks are %s, use --become" % words)]
    assert unknowns.by_cause([row], ["A001", "A003"], [low], severity) == [
        ([row], "not run as root: 1 of 2 unknown checks is %s, use --become" % words)]
    assert unknowns.by_cause([row, two], [], [low, dict(low, reason="another")], severity) == [
        ([row, two], "2 of 3 unknown checks are %s (A001, A002): r" % words)]
    assert unknowns.by_cause([row], [], [low], severity) == [([row], None)], "it is named alone"
