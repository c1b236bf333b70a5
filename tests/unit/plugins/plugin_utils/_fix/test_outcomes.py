# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings can be fixed, what a fix writes into those it worked on, and what a user reads of it."""

import pytest
from case_rows import cases
from fix_runs import facts
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, verdict
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import outcomes, select, subjects
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix.outcomes import Refusal
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

POLICY = policies.default_policy()


def findings(modules=None):
    return facts(modules)["node_assess_findings"]


def row(check, subject, status="fail", **changes):
    return dict(dict.fromkeys(_finding.KEYS, ""), check=check, subject=subject, status=status, severity="high",
                reason="Why.", waiver=None, problem="p", outcome=None, **changes)


def test_what_was_fixed_stays_as_findings_that_pass():
    before = findings({"nf_conntrack": "loadable", "xt_mark": "loadable"})
    tried = [each for each in before if each["status"] == "fail"]
    assert {each["check"] for each in tried} == {"KMOD003", "KMOD004"}
    rows = outcomes.recorded(tried, findings(), [])
    fixed = [each for each in rows if each["outcome"] == "fixed"]
    assert {(each["check"], each["subject"], each["status"], each["problem"]) for each in fixed} == {
        (each["check"], each["subject"], "pass", None) for each in tried}
    assert {(each["check"], each["subject"]) for each in findings()} - {
        (each["check"], each["subject"]) for each in rows} == {("KMOD003", ""), ("KMOD004", "")}
    assert all(_finding.is_finding(each)
               for each in rows) and rows == sorted(rows, key=lambda each: (each["check"], each["subject"]))


def test_a_later_look_keeps_what_was_fixed_while_it_passes():
    tried = [each for each in findings({"nf_conntrack": "loadable"}) if each["status"] == "fail"]
    before = outcomes.recorded(tried, findings(), [])
    again = assess.exported(healthy(POLICY.module_names), POLICY, assess.chosen_checks(["KMOD"]),
                            before)["node_assess_findings"]
    assert [(each["subject"], each["outcome"]) for each in again if each["outcome"]] == [("nf_conntrack", "fixed")]
    lost = assess.exported(healthy(POLICY.module_names, {"nf_conntrack": "loadable"}), POLICY,
                           assess.chosen_checks(["KMOD"]), before)
    assert [each["outcome"] for each in lost["node_assess_findings"]
            if each["subject"] == "nf_conntrack" and each["status"] == "fail"] == [None]


@cases
def test_outcomes_and_reasons(tried, after, refusals, others, found):
    """Rows are check, subject and status, and of a finding also the outcome and the reason."""
    before, now = ([row(*each) for each in rows] for rows in (tried, after))
    recorded = outcomes.recorded(before, now, [Refusal(*each) for each in refusals], **others)
    assert [[each[key] for key in ("check", "subject", "status", "outcome", "reason")][:len(wanted)]
            for each, wanted in zip(recorded, found)] == found and len(recorded) == len(found)


def test_a_second_round_adds_nothing_to_a_failure_and_no_sentence_stands_twice():
    tried = [row("CTRACK015", "net.ipv4.ip_forward")]
    first = outcomes.recorded(tried, tried, [])
    assert outcomes.recorded(tried, first, [], changed=False) == first and first[0]["outcome"] == "failed"
    refused = outcomes.refused(tried[0], "it stays")
    assert outcomes.refused(refused, "it stays") == refused
    assert outcomes.refused(dict(tried[0], reason="no end"),
                            "it stays")["reason"] == "no end. The fix was refused: it stays"


@pytest.mark.parametrize("changed, kind, rows, lines", [
    (subjects.modules_changed, "modules", [("a", "missing", "loaded"), ("b", "missing", "builtin"),
                                           ("c", "loaded", "loaded"), ("d", "missing", "blocked")],
     ["load a", "load b"]),
    (subjects.settings_changed, "settings", [("a", 1, 2), ("b", 1, 1), ("c", 1, None)], ["a: 1 -> 2"]),
    (subjects.groups_changed, "groups", [("a", "legacy", "nft"), ("b", "nft", "nft")], ["a: legacy -> nft"]),
    (subjects.files_changed, "files", [], [])])
def test_what_changed(changed, kind, rows, lines):
    result = {"files": ["/etc/x", "/var/lib/kubenode-netfilter/record"]}
    result.setdefault(kind, [{"name": name, "key": name, "before": before, "after": after}
                             for name, before, after in rows])
    assert changed(result) == lines + ["/etc/x"] and changed({kind: None}) == []


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


@pytest.mark.parametrize("call", [
    lambda: select.fixable("x", "safe"), lambda: select.fixable([], "all"),
    lambda: blocking([], "high", "warn", "fail", "fail"),
    lambda: blocking({}, "worst", "warn", "fail", "fail"), lambda: select.assessed(None)])
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
