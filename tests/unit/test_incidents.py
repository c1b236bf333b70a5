# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of an incident begins with its cause: the table in tests/incidents, its states judged by all checks."""

import random
import re

import incidents
import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases import run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.judge import causes, causes_of

ROWS = incidents.incidents()
PAIRS, DRAWS = 60, 300


def test_incidents_are_many_and_have_their_own_names():
    names = [row["incident"] for row in ROWS]
    assert len(names) == len(set(names)) and len(names) >= 40
    assert {row["of"] for row in ROWS} >= {"000", "001", "002", "003", "004"}


@pytest.mark.parametrize("row", ROWS, ids=[row["incident"] for row in ROWS])
def test_the_first_line_is_the_cause(row):
    facts = incidents.facts_of(row)
    named = incidents.ids_of(facts)
    assert named == [row["first"]] * (row["first"] is not None) + row.get("also", [])
    assert row["verdict"] in incidents.verdict_of(facts) + "".join(
        "; " + cause["sentence"] for cause in facts["node_assess_causes"][:1])
    assert incidents.explained_in(facts) == incidents.failing_in(facts)
    if row["first"] is None:
        return
    first = facts["node_assess_causes"][0]
    if first["cause"]:
        assert incidents.HOST in first["fix"] and incidents.HOST in first["then"]
        assert first["class"] == row["class"] and first["effect"]
    assert not re.search(r"[{}]|None|  |: $", first["sentence"] + first["since"] + first["evidence"])
    explained = {check for check, _subject in incidents.names_of(first)}
    left = {check for check, _subject in incidents.failing_in(facts)} - explained
    assert sorted(left) == sorted(row.get("leaves", []))


# The causes that may have the findings of another cause, where both incidents are there.
_HOOKS = ("rules-flushed-by-hook", "kubelet-initialisation-flushed", "plugin-rules-flushed-by-hook")
_STALE = ("kube-proxy-without-program", "kube-proxy-without-file", "kube-proxy-stopped", "kube-proxy-slow", "lock-held",
          "lock-log", "restore-hangs", "kube-proxy-fails-by-log", "kube-proxy-never-wrote", "syncs-fail-by-log")
WITHIN = {
    "flush-waits": _HOOKS, "rules-flushed-by-hook": ("kube-proxy-without-file",), "CHAIN019": ("kube-proxy-slow",),
    "BACKEND007": ("matches-stripped",), "rules-flushed": (*_HOOKS, "kube-proxy-without-file"),
    "plugin-rules-gone": _HOOKS, "kubelet-initialisation-failed": _HOOKS,
    "kubelet-initialisation-flushed": (*_HOOKS, "kubelet-initialisation-failed", "flush-waits"),
    "syncs-fail": _STALE, "syncs-fail-by-log": _STALE, "lock-log": _STALE, "kube-proxy-slow": _STALE,
    "rules-lost": ("rules-flushed", "kube-proxy-without-file", *_HOOKS), "api-lost": ("foreign-drop",),
    "forwarding-overruled": ("forwarding-off",),
    "forwarding-off-by-file": ("forwarding-off", "forwarding-overruled"), "bridge-bypasses-iptables": (
        "modules-not-loaded", "modules-blocked", "kernel-without-module"),
    "forwarding-off-after-boot": ("forwarding-off",), "programs-of-another-backend": ("two-backends",),
    "one-service-damaged": ("rules-flushed", *_HOOKS), "conntrack-small": ("conntrack-full", "conntrack-was-full"),
    "conntrack-was-full": ("conntrack-full",), "hint-missing": ("rules-flushed", *_HOOKS),
    "modules-not-loaded": ("modules-gone-with-kernel", "modules-blocked", "module-loading-off"),
    "kernel-without-module": ("modules-gone-with-kernel",),
    "kube-proxy-gone": ("kernel-without-module", "modules-blocked", *_STALE),
    # Of a process that has ended only the log shows what it lacked.
    "kube-proxy-without-file": ("kube-proxy-fails-by-log",),
}
# `alone`: a bundle has no live node, another mode needs other modules. Two commands would meet other rules than one.
LIVE = [row for row in ROWS if row["first"] and not row.get("alone")]


@pytest.mark.parametrize("number", range(PAIRS))
def test_two_incidents_are_both_told(number):
    """The cause of each one is named, or all of its findings that still fail belong to causes that the table joins."""
    seed = kube_audit.seed()
    source = random.Random("%s %s" % (seed, number))
    one = source.choice(LIVE)
    other = source.choice([row for row in LIVE if row is not one and not ("does" in row and "does" in one)])
    try:
        both = incidents.facts_of(one, other)
    except incidents.Clash as clash:
        pytest.skip("%s and %s differ in %s" % (one["incident"], other["incident"], clash))
    named = incidents.ids_of(both)
    failing = incidents.failing_in(both)
    assert incidents.explained_in(both) == failing
    for row in (one, other):
        alone = incidents.facts_of(row)["node_assess_causes"][0]
        still = [name for name in incidents.names_of(alone) if name in failing]
        assert row["first"] in named or not still or set(named) & set(WITHIN.get(row["first"], ())), (
            "KUBENODE_SEED=%s: %s, %s: %s, not %s" % (seed, one["incident"], other["incident"], named, row["first"]))


def _failing_of_all_checks():
    """A finding of each check that fails in its cases: real texts of the real check."""
    found = []
    for check in incidents.checks():
        for case in incidents.cases_of(check.id):
            if case["expect"] == "fail":
                found += [row for row in run.findings_of(check, case) if row["status"] == "fail"]
    return found


def test_findings_at_random_are_explained_once():
    every, source = _failing_of_all_checks(), random.Random(kube_audit.seed())
    assert {row["check"] for row in every} >= {check for cause in causes() for check in cause.explains}
    evidence = incidents.state_of()[0]
    for number in range(DRAWS):
        drawn = source.sample(every, 2 if number % 2 else source.randrange(3, 60))
        drawn = list({(row["check"], row["subject"]): row for row in drawn}.values())
        explained = [name for cause in causes_of(drawn, evidence, "w01") for name in incidents.names_of(cause)]
        assert sorted(explained) == sorted((row["check"], row["subject"]) for row in drawn)


def test_the_remainder_of_a_check_is_told_with_what_it_counts():
    facts = incidents.facts_of({"does": "iptables -F; iptables -X"})
    assert any(subject.startswith("and ") for _check, subject in incidents.failing_in(facts))
    assert incidents.ids_of(facts) == ["rules-flushed"]


def test_the_process_that_keeps_the_lock_is_ended():
    holder = {"alive": False, "held_through_pid": 4712}
    facts = incidents.facts_of({"like": {"XLOCK003": "a restore that does not end"},
                                "evidence": {"node_xtables_lock": {"holder": holder}}})
    assert facts["node_assess_causes"][0]["fix"] == "on w01: kill 4712"
