# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a host in few values: unpacking restores the packed facts, and a damaged text is no assessment."""

import json

from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _kept, _policy, _run

SECTIONS = ("node_host", "node_kernel_modules", "node_iptables_backend", "node_conntrack", "node_kubelet")


def assessed(modules=None):
    policy = _policy.default_policy()
    return _assess.exported(healthy(policy.module_names, modules), policy, _assess.chosen_checks(None), None)


def values(item):
    """How many values Ansible copies."""
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return 1 + sum(map(values, parts))


def test_a_task_returns_few_values_and_what_was_judged_comes_back():
    facts = assessed({"xt_comment": "absent"})
    packed = _kept.packed(facts, {})
    assert values(packed) * 4 < values(facts)
    assert {row["status"] for row in packed["node_assess_findings"]} == {"fail"}
    assert not set(SECTIONS) & set(packed)
    stored = json.loads(json.dumps(packed))
    assert _run.findings_of(stored) == facts["node_assess_findings"] == _run.findings_of(facts)
    assert all(_run.section_of(stored, name) == facts[name] for name in SECTIONS)


def test_findings_that_a_fix_had_to_do_with_stay_in_the_list():
    facts = assessed()
    facts["node_assess_findings"][3]["outcome"] = "fixed"
    assert _kept.packed(facts, {})["node_assess_findings"] == [facts["node_assess_findings"][3]]


def test_a_later_look_keeps_the_sections_of_an_earlier_one():
    facts = assessed()
    later = {name: value for name, value in facts.items() if name not in ("node_host", "node_conntrack")}
    packed = _kept.packed(later, facts)
    assert _run.section_of(packed, "node_host") == facts["node_host"]


def test_all_sections_are_facts_where_they_are_asked_for():
    facts = assessed()
    packed = _kept.packed(facts, {}, sections=False)
    assert all(packed[name] == facts[name] for name in SECTIONS)
    assert _run.findings_of(packed) == facts["node_assess_findings"]


def test_unpacking_twice_changes_nothing():
    once = _kept.unpacked(_kept.packed(assessed(), {}))
    assert _kept.unpacked(once) == once


@cases
def test_a_damaged_text_is_no_assessment(text):
    facts = dict(_kept.packed(assessed(), {}), node_assess_kept=text)
    assert _run.findings_of(facts) is None and _run.summary_of(facts) is None
    assert _run.section_of(facts, "node_host") is None


def test_a_text_sets_no_other_fact():
    text = json.dumps({"findings": [], "sections": {"ansible_connection": "local", "node_assess_summary": {}}})
    assert set(_kept.unpacked({"node_assess_kept": text, "node_assess_findings": []})) == {"node_assess_findings"}
