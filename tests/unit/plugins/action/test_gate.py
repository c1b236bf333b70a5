# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action gate: a verdict for each host, from its facts and four settings."""

import re

import fix_runs
import pytest
from action_runs import plugin_of
from ansible.errors import AnsibleActionFail
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.action import gate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.action import Failed
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.looking import LookingAction, sections_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import render_json


def judged(arguments, denied=(), waivers=(), variables=(), others=None, facts=None, **modules):
    """What the gate of web-1 answers; with `others`, {host: facts}, that of a task that runs once for all of them."""
    policy = policies.policy_of({"node_policy_waivers": list(waivers)} if waivers else {})
    evidence = healthy(policy.module_names, modules)
    if denied:
        evidence["node_host"]["as_root"] = False
        evidence["node_conntrack"]["collected"].update(dict.fromkeys(denied, "denied"))
    if facts is None:
        facts = assess.exported(evidence, policy, assess.chosen_checks(None), None) if modules else {}
    plugin = plugin_of(gate, arguments, run_once=others is not None)
    hosts = {"web-1": {"ansible_facts": facts}, **{name: {"ansible_facts": of} for name, of in (others or {}).items()}}
    try:
        return plugin.run(task_vars=dict(variables, ansible_facts=facts, inventory_hostname="web-1", hostvars=hosts,
                                         ansible_play_batch=list(hosts)))
    except Failed as error:
        if "gate" not in error.result:
            raise
        return dict(error.result, failed=True, msg=str(error))


def facts_of(**modules):
    return fix_runs.facts(modules)


ABSENT = "the kernel lacks a required module"


def test_a_host_fails_with_its_verdict_and_what_programs_need(tmp_path):
    result = judged({}, xt_comment="absent", xt_mark="unknown")
    assert set(result) == {"changed", "failed", "gate", "msg"}
    assert result["failed"] and result["msg"].startswith("web-1 is not fit for traffic: " + ABSENT)
    assert result["gate"] == {"blocked": True, "state": "blocked", "checks": ["KMOD001", "KMOD014"]}


def test_ansible_prints_the_sentence_once():
    """ansible-core 2.19 and later print `[ERROR]: Task failed: Action failed` for an exception in the result."""
    with pytest.raises(Failed) as caught:
        judged({"mode": "stop"})
    assert caught.value.omit_exception_key and "exception" not in caught.value.result


def test_an_option_that_is_left_out_is_that_of_the_role():
    variables = {"node_gate_mode": "never", "node_gate_severity": "high"}
    result = judged({}, variables=variables, xt_comment="absent")
    assert result["gate"]["blocked"] and not result.get("failed") and result["msg"] == ""
    assert judged({"mode": "fail"}, variables=variables, xt_comment="absent")["failed"]
    with pytest.raises(AnsibleActionFail, match="node_gate_mode"):
        judged({}, variables={"node_gate_mode": "sometimes"}, xt_comment="absent")


@cases
def test_what_a_gate_answers(arguments, modules, answer, message):
    """The message is a regular expression."""
    result = judged(arguments, **modules)
    assert {key: dict(result, **result["gate"]).get(key) for key in answer} == answer
    assert re.fullmatch(message, result["msg"])


def test_what_is_unknown_for_want_of_root_is_one_sentence():
    result = judged({}, denied=["sysctls"], xt_mark="")
    assert re.fullmatch(r"web-1 is not known: \d+ checks could not look \(not root\)", result["msg"])
    assert result["warnings"] == [result["msg"]] and result["gate"]["state"] == "not_known"
    blocked = judged({"unknown": "fail"}, denied=["sysctls"], xt_mark="")
    assert blocked["failed"] and blocked["gate"]["checks"] == result["gate"]["warned"]


def test_the_file_of_the_host_is_named_where_it_is_there(tmp_path):
    (tmp_path / "nodes").mkdir()
    assert "report" not in judged({"folder": str(tmp_path)})["gate"]
    (tmp_path / "nodes" / "web-1.json").write_text("{}")
    result = judged({"folder": str(tmp_path)})
    assert result["gate"]["report"] == "%s/nodes/web-1.json" % tmp_path
    assert result["msg"] == "web-1 is not known: this run has not assessed it"


def test_a_host_that_passes_is_ok_and_warns_of_what_is_unknown():
    result = judged({}, xt_mark="unknown")
    assert not result["changed"] and not result.get("failed") and not result.get("skipped")
    assert result["gate"]["state"] == "not_known" and not result["gate"]["checks"] and result["gate"]["warned"]
    assert result["warnings"] == [result["msg"]]
    assert judged({}, xt_mark="")["warnings"] == []


def test_of_many_hosts_a_warning_is_the_same_text_for_all_once_a_report_names_them(tmp_path):
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "web-1.json").write_text("{}")

    def warnings(hosts, **arguments):
        names = ["web-%d" % number for number in range(1, hosts + 1)]
        return judged(dict(arguments, mode="warn"), variables={"ansible_play_hosts_all": names}, xt_comment="absent",
                      xt_mark="unknown")["warnings"]

    many, few, unreported = warnings(6, folder=str(tmp_path)), warnings(5, folder=str(tmp_path)), warnings(6)
    assert many[0].startswith("a host is not fit for traffic: " + ABSENT) and len(many) > 1
    assert few[0] == many[0].replace("a host", "web-1") and few == unreported
    assert few[1:] == ["web-1: " + text for text in many[1:]]


def test_an_answer_without_a_key_or_a_section_blocks_until_a_later_look_replaces_it():
    policy, evidence = policies.default_policy(), healthy(policies.default_policy().module_names)
    del evidence["node_conntrack"]["max"], evidence["node_ipvs"]
    sections, problems, _reason = sections_of({"ansible_facts": evidence}, ["conntrack", "ipvs", "host"])
    looker = LookingAction.__new__(LookingAction)
    looker._templated = lambda _name, value: value
    looker._earlier_conntrack, looker._keeps_all = lambda _variables: {}, lambda *_arguments: False
    looker._gate = assess.default_gate()
    facts = looker.judged((sections, problems, None), assess.chosen_checks(None), policy, {}, {})
    blocked = judged({}, facts=facts)
    said = ("the node's answer does not fit the documentation: node_conntrack.max is missing (and 1 more section); "
            "assess the node again, and if the answer stays so, look on the node for what changes it, or report a bug of "
            "this collection")
    assert blocked["failed"] and blocked["msg"] == "web-1 is not fit for traffic: " + said
    assert "web-1: " + said in judged({"unreached": "warn"}, facts=facts)["warnings"]
    again = looker.judged(({"node_host": evidence["node_host"], "node_ipvs": healthy([])["node_ipvs"]}, {}, None),
                          assess.chosen_checks(["IPVS"]), policy, {}, facts)
    assert [row["section"] for row in again["node_assess_summary"]["unusable"]] == ["node_conntrack"]


@cases
def test_one_sentence(arguments, words):
    with pytest.raises(AnsibleActionFail) as caught:
        judged(arguments)
    assert words in str(caught.value)


def kept(tmp_path, facts):
    """The options of a gate with a baseline that has these facts of web-1."""
    path = tmp_path / "web-1.json"
    path.write_text(render_json(dict(rollup.node_report("web-1", facts), run="20261121T090000Z-9")))
    return {"baseline": str(path), "baseline_expires": "2999-01-31", "baseline_owner": "net"}


def test_what_a_baseline_has_does_not_block(tmp_path):
    options = kept(tmp_path, facts_of(xt_comment="absent", ip_vs="absent"))
    passed = judged(options, facts=facts_of(xt_comment="absent"))
    assert not passed["gate"]["blocked"] and passed["gate"]["checks"] == [] and passed["gate"]["known"] == 2
    assert passed["msg"] == "web-1 is fit for traffic (2 findings of the baseline)" and passed["warnings"] == []
    blocked = judged(options, facts=facts_of(xt_comment="absent", xt_mark="absent"))
    assert blocked["failed"] and "xt_mark" in blocked["msg"] and blocked["gate"]["checks"] == ["KMOD001"]
    assert judged({}, facts=facts_of(xt_comment="absent"))["gate"].get("known") is None
    # The option of the task and the variable of the role are one.
    variables = {"node_gate_" + name: value for name, value in options.items()}
    assert judged({}, variables=variables, facts=facts_of(xt_comment="absent"))["gate"] == passed["gate"]


def test_a_baseline_that_has_ended_is_told_of(tmp_path):
    options = dict(kept(tmp_path, facts_of(xt_comment="absent")), baseline_expires="2026-01-31")
    blocked = judged(options, facts=facts_of(xt_comment="absent"))
    assert blocked["failed"] and blocked["msg"].endswith(
        "; the baseline %s expired on 2026-01-31 (owner: net) and counts no more" % options["baseline"])
    soon = dict(options, baseline_expires=_run.STARTED.date().isoformat())
    assert judged(soon, facts=facts_of(xt_comment="absent"))["warnings"] == [
        "web-1: the baseline %s ends today (owner: net)" % options["baseline"]]


WAIVER = {"check": "KMOD001", "reason": "old kernel", "owner": "net", "expires": "2999-01-31"}


def test_waived_findings_block_where_they_are_to():
    waivers = [WAIVER, dict(WAIVER, check="KMOD014")]
    assert not judged({}, waivers=waivers, xt_comment="absent")["gate"]["blocked"]
    warned = judged({"waived": "warn"}, waivers=waivers, xt_comment="absent")
    assert not warned["gate"]["blocked"]
    assert "web-1: KMOD001 (high) is waived until 2999-01-31: old kernel (net)" in warned["warnings"]
    blocked = judged({"waived": "fail"}, waivers=waivers, xt_comment="absent")
    assert blocked["failed"] and blocked["gate"]["checks"] == ["KMOD001", "KMOD014"]


@pytest.mark.parametrize("classes, blocks", [
    (["safe", "guarded", "disruptive"], ["KMOD001", "KMOD003", "KMOD014"]), (["safe"], ["KMOD003"]),
    (["guarded"], [])])
def test_a_finding_blocks_by_the_class_of_its_fix(classes, blocks):
    result = judged({"classes": classes}, xt_comment="absent", nf_conntrack="loadable")
    assert sorted(result["gate"]["checks"]) == blocks
    assert ("warned" in result["gate"]) == (not blocks)
    assert blocks or {"KMOD001", "KMOD003"} <= set(result["gate"]["warned"])


def test_one_host_does_not_answer_for_others():
    assert judged({}, others={}, xt_comment="absent")["gate"]["blocked"], "alone it is judged as ever"
    with pytest.raises(AnsibleActionFail, match="run_once would judge one of 2 hosts; leave it out"):
        judged({"mode": "never"}, others={"web-2": facts_of()}, xt_mark="")
