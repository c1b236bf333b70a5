# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fix writes into the findings it worked on."""

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _finding, _policy
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import outcomes
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix.work import FAILED, REFUSED, Refusal

POLICY = _policy.default_policy()


def facts(modules=None):
    return _assess.exported(healthy(POLICY.module_names, modules), POLICY, _assess.chosen_checks(None), None)


def findings(modules=None):
    return facts(modules)["node_assess_findings"]


def row(check, subject, status="fail", **changes):
    return dict(dict.fromkeys(_finding.KEYS, ""), check=check, subject=subject, status=status, severity="high",
                reason="Why.", waiver=None, problem="p", outcome=None, **changes)


def recorded(tried, after, refusals=(), **others):
    return {(each["check"], each["subject"]): (each["status"], each["outcome"])
            for each in outcomes.recorded(tried, after, refusals, **others)}


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
    again = _assess.exported(healthy(POLICY.module_names), POLICY, _assess.chosen_checks(["KMOD"]),
                             before)["node_assess_findings"]
    assert [(each["subject"], each["outcome"]) for each in again if each["outcome"]] == [("nf_conntrack", "fixed")]
    lost = _assess.exported(healthy(POLICY.module_names, {"nf_conntrack": "loadable"}), POLICY,
                            _assess.chosen_checks(["KMOD"]), before)
    assert [each["outcome"] for each in lost["node_assess_findings"]
            if each["subject"] == "nf_conntrack" and each["status"] == "fail"] == [None]


@pytest.mark.parametrize("outcome, sentence",
                         [(FAILED, "The fix was tried and failed: no room"), (REFUSED, "The fix was refused: no room")])
def test_a_refusal_is_told_with_its_reason(outcome, sentence):
    rows = outcomes.recorded([row("HOOK001", "/a")], [row("HOOK001", "/a"), row("HOOK001", "/b")],
                             [Refusal("/a", outcome, "no\nroom")])
    assert [(each["outcome"], each["reason"]) for each in rows] == [(outcome, "Why. " + sentence), (None, "Why.")]


@pytest.mark.parametrize("outcome, sentence",
                         [(FAILED, "The fix would fail: no room"), (REFUSED, "The fix was refused: no room")])
def test_check_mode_does_not_say_that_a_fix_was_tried(outcome, sentence):
    tried = [row("HOOK001", "/a")]
    rows = outcomes.recorded(tried, tried, [Refusal("/a", outcome, "no room")], check_mode=True)
    assert [(each["outcome"], each["reason"]) for each in rows] == [(outcome, "Why. " + sentence)]


def test_a_failure_outweighs_a_refusal_and_both_reasons_are_told():
    tried = [row("KMOD003", "ip_vs or ip_vs_rr")]
    rows = outcomes.recorded(tried, tried,
                             [Refusal("ip_vs", REFUSED, "blocked"), Refusal("ip_vs_rr", FAILED, "no such file")])
    assert (rows[0]["outcome"] == "failed"
            and rows[0]["reason"].endswith("The fix was tried and failed: blocked; no such file"))


def test_check_mode_says_what_would_be_fixed_and_adds_nothing():
    tried = [row("HOOK001", "/a"), row("HOOK001", "/b")]
    assert recorded(tried, tried, [Refusal("/b", REFUSED, "it stays")], check_mode=True) == {
        ("HOOK001", "/a"): ("fail", "would fix"), ("HOOK001", "/b"): ("fail", "refused")}
    assert recorded(tried, [row("HOOK001", "", "pass")], check_mode=True) == {("HOOK001", ""): ("pass", None)}


def test_what_still_fails_after_a_change_and_what_nothing_was_changed_for():
    tried = [row("CTRACK004", "nf_conntrack_max")]
    assert recorded(tried, tried) == {("CTRACK004", "nf_conntrack_max"): ("fail", "failed")}
    assert recorded(tried, tried, changed=False) == {("CTRACK004", "nf_conntrack_max"): ("fail", "refused")}


def test_what_is_no_longer_judged_is_not_called_fixed():
    tried = [row("CTRACK004", "nf_conntrack_max"), row("CTRACK004", "and 3 more")]
    for status in ("unknown", "skip"):
        assert recorded(tried, [row("CTRACK004", "", status)]) == {("CTRACK004", ""): (status, None)}
    assert recorded(tried, [row("CTRACK004", "", "pass")]) == {("CTRACK004", "nf_conntrack_max"): ("pass", "fixed")}


@pytest.mark.parametrize("others, refusals",
                         [
                             ([row("HOOK001", "", "unknown")], []), ([], [Refusal("/a", FAILED, "no room")]),
                             ([row("HOOK003", "/a")], []), ([row("HOOK002", "/a", "unknown")], []),
                         ])
def test_a_subject_is_not_fixed_where_it_is_unknown_refused_or_fails_in_another_check(others, refusals):
    found = recorded([row("HOOK001", "/a")], [row("HOOK001", "/b"), *others], refusals)
    assert ("HOOK001", "/a") not in found
    assert recorded([row("HOOK001", "/a")],
                    [row("HOOK001", "/b"), row("KMOD003", "/a")])["HOOK001", "/a"] == ("pass", "fixed")


def test_a_second_round_adds_nothing_to_a_failure_and_no_sentence_stands_twice():
    tried = [row("CTRACK015", "net.ipv4.ip_forward")]
    first = outcomes.recorded(tried, tried, [])
    assert outcomes.recorded(tried, first, [], changed=False) == first and first[0]["outcome"] == "failed"
    refused = outcomes.refused(tried[0], "it stays")
    assert outcomes.refused(refused, "it stays") == refused
    assert outcomes.refused(dict(tried[0], reason="no end"),
                            "it stays")["reason"] == "no end. The fix was refused: it stays"
