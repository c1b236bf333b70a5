# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that a compromised node invents raises no exception in judge, report or gate, and other hosts lose nothing
by it.

KUBENODE_ROBUST=1 runs the long version, KUBENODE_SEED repeats a run.
"""

import copy
import json
import os
import pathlib
import random

import pytest
import yaml
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding, _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue as _catalogue, verdict
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import migration, outcomes, restarts, select
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix.subjects import RESTARTS, SUBJECTS
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._needs import node_needs
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import render_json
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_fleet, render_node

SETTINGS = {
    subject.name: dict(policies.role_settings(subject.role, {}, lambda _name, value: value), hook_directories=[])
    for subject in SUBJECTS}
MUTATIONS = 2500 if os.environ.get("KUBENODE_ROBUST") else 150
SEED = os.environ.get("KUBENODE_SEED") or str(random.randrange(10 ** 9))
TABLES = [yaml.safe_load(path.read_text(encoding="utf-8"))
          for path in sorted((pathlib.Path(__file__).resolve().parents[3] / "checks").glob("*.yml"))]
HOSTILE = ("\x1b[2J\x1b]0;x\x07", "\u202egnp.exe", "\x9b31m", "{{ lookup('pipe', 'id') }}", "%s%(x)d{0}{subject}",
           "../../../etc/passwd", "a\nb\rc\td", "\0")
SCALARS = (
    None, True, False, 0, -1, 1, 2 ** 31, 2 ** 63, -2 ** 63, 10 ** 40, 0.0, -0.5, 1e300, float("nan"), float("inf"), "",
    "x", "ipv4", "1.2.3", "9" * 4000, "x" * 4096, "x" * 5000, "\u4e16" * 4000, "\ud800", "10.0.0.0/8", "::/0",
    "999.1.1.1/77", "ok", "denied", "legacy", "ipvs") + HOSTILE


def container(source):
    """A new list or dictionary that no schema expects; one is nested as deeply as JSON can be read."""
    return source.choice(
        (
            lambda: [], lambda: {}, lambda: [None], lambda: [[]], lambda: [{}], lambda: {"a": None},
            lambda: {"a": {"b": {"c": []}}}, lambda: {1: 2}, lambda: ["x"] * 3000,
            lambda: {str(number): number for number in range(600)}, lambda: json.loads("[" * 800 + "]" * 800)))()


def anything(source):
    return container(source) if source.random() < 0.3 else source.choice(SCALARS)


def evidence_of(source):
    """The evidence of a healthy node with the changes of a random row of a check's table, and the policy of that
    row."""
    row = source.choice(source.choice(TABLES))
    policy = policies.policy_of(row.get("policy") or {})
    return healthy(policy.module_names, row.get("modules"), row.get("evidence")), policy


def places(part):
    """[(container, key)] of everything in a value, without recursion."""
    found, left = [], [part]
    while left:
        around = left.pop()
        for key in around if isinstance(around, dict) else range(len(around)):
            found.append((around, key))
            if isinstance(around[key], (dict, list)):
                left.append(around[key])
    return found


def of_same_type(source, value):
    """Another value that the schema accepts in its place, so that it reaches the judges."""
    if isinstance(value, bool) or value is None:
        return source.choice((None, True, False))
    if isinstance(value, (dict, list)):
        return type(value)()
    return source.choice([other for other in SCALARS if other is None or type(other) is type(value)])


def mutate(source, facts):
    what = []
    for _number in range(source.choice((1, 1, 2, 4, 12))):
        part, key = source.choice(places(facts) or [(facts, "node_host")])
        how = source.choice(("type", "value", "value", "value", "key", "more"))
        what.append((how, key))
        if how == "type":
            part[key] = anything(source)
        elif how == "value":
            part[key] = of_same_type(source, part.get(key) if isinstance(part, dict) else part[key])
        elif how == "key":
            part.pop(key, None) if isinstance(part, dict) else part.pop(key)
        elif isinstance(part, dict):
            part[source.choice(("more", "node_more", "", 7))] = anything(source)
        else:
            part.append(anything(source))
    return what


def assessed(facts, policy, checks=None):
    sections, problems = validate.checked_sections(facts)
    return assess.exported(sections, policy, checks or assess.chosen_checks(None), None, problems=problems), problems


@pytest.fixture(scope="module")
def others():
    """Reports of two hosts beside the hostile one."""
    policy = policies.default_policy()
    facts = {"a": assessed(healthy(policy.module_names), policy)[0],
             "z": assessed(healthy(policy.module_names, {"xt_mark": "absent"}), policy)[0]}
    return {name: rollup.node_report(name, known, True) for name, known in facts.items()}


def told(facts):
    """All that reads the facts of one host after assess."""
    blocking = verdict.weighed(facts, "info", "fail", "fail")[0]["fail"]
    select.assessed(facts, "CTRACK")
    for subject in SUBJECTS:
        work = subject.work(facts, SETTINGS[subject.name], "disruptive")
        outcomes.recorded(work.findings, _run.findings_of(facts) or [], [])
    migration.missing(facts, "nft", facts.get("node_iptables_backend"))
    if _run.summary_of(facts):
        migration.due(facts, "nft", {"live_rules": True})
    for subject in RESTARTS:
        subject.work(facts, {}, "disruptive")
        restarts.is_proved(facts, subject.name)
    return verdict.sentences(blocking)


def shown(others, facts):
    """Everything that the report writes and shows of a batch in which one host has such facts."""
    reports = dict(others, hostile=rollup.node_report("hostile", facts, True)) if _run.summary_of(facts) else others
    fleet = rollup.roll_up(["a", "hostile", "z"], reports)
    assert [row["status"] for row in fleet["hosts"] if row["host"] != "hostile"] == ["assessed", "assessed"]
    text = [render_fleet(fleet, 80, True)] + [render_node(report, 80, True) for name, report in reports.items()
                                              if name == "hostile"]
    assert json.loads(render_json(fleet)) == fleet and all(json.loads(render_json(report)) == report
                                                           for report in reports.values())
    assert all(char.isprintable() or char in "\n\x1b" for part in text for char in part)
    assert not any(sign in part for part in text for sign in ("\x1b[2J", "\x1b]0"))


def rests_on(check, problems):
    needed = {"node_host"} | {need.partition(".")[0] for need in check.needs}
    return set(problems) & (needed | set(node_needs.SECTIONS if "requirements" in needed else ()))


@pytest.mark.robust(mutations=MUTATIONS)
def test_no_evidence_raises(others):
    catalogue, refused = _catalogue.catalogue(), 0
    for number in range(MUTATIONS):
        source = random.Random("%s %s" % (SEED, number))
        facts, policy = evidence_of(source)
        what = "KUBENODE_SEED=%s, round %d: %s" % (SEED, number, mutate(source, facts))
        try:
            known, problems = assessed(facts, policy)
            refused += bool(problems)
            assert all(line.isprintable() for line in told(known))
            shown(others, known)
        except Exception as error:
            raise AssertionError(what) from error
        # The last resort is for unforeseen evidence. No evidence that is made here may need it.
        assert known["node_assess_summary"]["reached"], "%s: %s" % (what, known["node_assess_summary"]["reason"])
        statuses = {row["check"]: row["status"] for row in known["node_assess_findings"]}
        assert all(statuses[name] in (_finding.UNKNOWN, _finding.WAIVED) for name, check in catalogue.items()
                   if rests_on(check, problems)), what
        assert not set(problems) & set(known), what
    assert MUTATIONS // 5 < refused < MUTATIONS


@pytest.mark.robust(mutations=MUTATIONS)
def test_no_damaged_facts_raise(others):
    """Other tasks write facts as well, and caches keep them: facts that are damaged after assess are not trusted, and
    do not affect other hosts."""
    policy = policies.policy_of({
        "node_policy_disabled_checks": [{"check": "KMOD010", "reason": "r"}, {"check": "XLOCK001", "reason": "s"}],
        "node_policy_waivers": [{"check": "KMOD001", "reason": "r", "owner": "o", "expires": "2999-01-01"}]})
    whole = assessed(healthy(policy.module_names, {"nf_conntrack": "loadable"}), policy)[0]
    for number in range(MUTATIONS):
        source = random.Random("%s facts %s" % (SEED, number))
        facts = copy.deepcopy(whole)
        if source.random() < 0.7:
            # Most facts are evidence. The results of judging must be mutated as well.
            mutate(source, {name: facts[name] for name in facts if name.startswith("node_assess_")})
        what = "KUBENODE_SEED=%s, round %d: %s" % (SEED, number, mutate(source, facts))
        try:
            blocked = told(facts)
            shown(others, facts)
        except Exception as error:
            raise AssertionError(what) from error
        assert blocked, what


@pytest.mark.parametrize("facts",
                         [None, [], "x", 3, {}, {"node_assess_summary": []}, {"node_assess_summary": {"run": _run.ID}}])
def test_facts_that_are_none_are_those_of_a_host_that_was_not_assessed(others, facts):
    assert (_run.summary_of(facts) is None and _run.findings_of(facts) is None
            and _run.section_of(facts, "node_host") is None)
    shown(others, facts)


def test_evidence_that_cannot_be_judged_is_none(others, monkeypatch):
    """If judging raises an exception after all, the host still has findings and a gate."""
    monkeypatch.setattr(node_needs, "resolve", lambda *_args: 1 / 0)
    known = assessed(healthy([]), policies.default_policy())[0]
    assert {row["reason"] for row in known["node_assess_findings"]} == {"the node's answer could not be judged: "
                                                                        "ZeroDivisionError"}
    assert told(known) == ["the node was not assessed: the node's answer could not be judged: ZeroDivisionError"]
    shown(others, known)
