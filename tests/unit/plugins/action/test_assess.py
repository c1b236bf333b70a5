# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action assess: a mistake of the user fails it before anything connects, and a node never fails it."""

import time
import tracemalloc
from unittest import mock

import pytest
from action_runs import plugin_of
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.action import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls import looking
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

EVIDENCE = healthy(policies.default_policy().module_names)


@pytest.fixture
def run(monkeypatch):
    """Calls the action with arguments and variables; `run.node` stands for the module on the node."""
    node = mock.Mock(return_value={"ansible_facts": EVIDENCE, "changed": False})

    def call(arguments=None, **variables):
        plugin = plugin_of(assess, arguments)
        monkeypatch.setattr(plugin, "_execute_module", node)
        return plugin.run(task_vars=variables)

    call.node = node
    return call


def facts_of(result):
    """What later tasks know of the host."""
    return result["ansible_facts"]


def test_a_healthy_node(run):
    result = run()
    facts = facts_of(result)
    assert result["changed"] is False
    assert facts["node_assess_summary"]["fail"] == 0 and facts["node_assess_summary"]["reached"]
    assert facts["node_host"] == EVIDENCE["node_host"]
    assert {row["subject"] for row in facts["node_assess_required_modules"]} >= {"nf_conntrack", "xt_comment"}
    sent = run.node.call_args[1]["module_args"]
    assert sent["modules"] == policies.default_policy().module_names
    assert set(sent["gather_subset"]) == {
        "host", "kernel_modules", "iptables_backend", "iptables_chains", "xtables_lock", "flush_hooks", "conntrack",
        "ipvs", "kubelet", "kube_proxy", "cni", "logs"}
    assert sent["hook_directories"] == ["/usr/local/bin", "/usr/local/sbin"]
    assert "root" not in sent


def test_printed_commands_of_kubectl_take_the_name_of_the_node_in_the_cluster(run):
    proxy = EVIDENCE["node_kube_proxy"]
    proxy = dict(proxy, collected=dict(proxy["collected"], metrics="timeout", healthz="timeout"))
    run.node.return_value = {"ansible_facts": dict(EVIDENCE, node_kube_proxy=proxy), "changed": False}
    for variables, name in (({}, "10.0.0.5"), ({"repair_node_name": "w01"}, "w01")):
        cause, = facts_of(run(inventory_hostname="10.0.0.5", **variables))["node_assess_causes"]
        assert cause["cause"] == "kube-proxy-stopped" and cause["fix"].endswith(" spec.nodeName=" + name)
        assert " -l 10.0.0.5" in cause["then"]


def test_options_reach_the_node(run):
    run({"root": "/srv/image", "place": "image", "kernel": "6.1", "gather_subset": ["host"], "timeout": "5"})
    sent = run.node.call_args[1]["module_args"]
    assert (sent["root"], sent["place"], sent["kernel"],
            sent["gather_subset"]) == ("/srv/image", "image", "6.1", ["host"])


@cases
def test_a_mistake_fails_before_anything_connects(run, arguments, variables, words):
    with pytest.raises(AnsibleActionFail) as caught:
        run(arguments, **variables)
    assert words in str(caught.value)
    run.node.assert_not_called()


def _starting(why):
    chains = dict(EVIDENCE["node_iptables_chains"], starting=why)
    return {"ansible_facts": dict(EVIDENCE, node_iptables_chains=chains), "changed": False}


def _status(result, check):
    return next(row["status"] for row in facts_of(result)["node_assess_findings"] if row["check"] == check)


def test_a_kube_proxy_that_starts_is_looked_at_again(run, monkeypatch):
    """Each pause advances a fake clock, so the test does not wait."""
    clock = [1000.0]
    monkeypatch.setattr(looking, "time", mock.Mock(
        monotonic=lambda: clock[0], sleep=lambda seconds: clock.__setitem__(0, clock[0] + seconds)))
    answers = [_starting("kube-proxy has run for only 4 seconds and has not written its rules yet")] * 2 + [
        _starting(None)] * 9
    run.node.side_effect = list(answers)
    assert _status(run({"settle": 60}), "CHAIN001") == "pass" and run.node.call_count == 3 and clock[0] == 1010.0
    # If the rules are still missing at the end, the finding is unknown. The last look happens when the time is over,
    # not before.
    run.node.side_effect = answers[:1] * 99
    run.node.reset_mock()
    assert _status(run({"settle": 12}), "CHAIN001") == "unknown" and run.node.call_count == 4 and clock[0] == 1022.0


@pytest.mark.parametrize("section, fields", [
    ("node_kube_proxy", {"starting": "kube-proxy has run for only 4 seconds"}),
    ("node_kubelet", {"initialisation": dict(EVIDENCE["node_kubelet"]["initialisation"], families=[
        dict(EVIDENCE["node_kubelet"]["initialisation"]["families"][0], state="starting")])})])
def test_a_first_minute_is_waited_for(section, fields, run, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(looking, "time", mock.Mock(
        monotonic=lambda: clock[0], sleep=lambda seconds: clock.__setitem__(0, clock[0] + seconds)))
    fresh = {"ansible_facts": dict(EVIDENCE, **{section: dict(EVIDENCE[section], **fields)}), "changed": False}
    run.node.side_effect = [fresh, _starting(None)]
    run({"settle": 60})
    assert run.node.call_count == 2


def test_nobody_waits_unasked(run, monkeypatch):
    monkeypatch.setattr(looking.time, "sleep", mock.Mock(side_effect=AssertionError))
    run.node.return_value = _starting("kube-proxy has run for only 4 seconds and has not written its rules yet")
    assert _status(run(), "CHAIN001") == "unknown" and run.node.call_count == 1
    run.node.return_value = {"unreachable": True, "msg": "gone"}
    assert run({"settle": 60})["ansible_facts"]["node_assess_summary"]["reached"] is False


def test_a_traceback_keeps_its_last_line(run):
    run.node.return_value = {"failed": True,
                             "module_stderr": "Traceback:" + " File x, line 1" * 50 + "\nOSError: no room"}
    reason = run()["ansible_facts"]["node_assess_summary"]["reason"]
    assert (reason.startswith("the module failed: Traceback:") and reason.endswith("OSError: no room")
            and len(reason) < 350)


@cases
def test_a_lost_node_is_a_warning_only_where_nothing_else_shows_it(run, capsys, arguments, variables, warns):
    run.node.return_value = {"unreachable": True, "msg": "no route"}
    run(arguments, inventory_hostname="web-%d" % id(variables), **variables)
    assert ("was not assessed" in " ".join(capsys.readouterr().err.split())) == warns


def test_a_lost_node_fails_only_where_that_is_asked_for(run, capsys):
    run.node.return_value = {"unreachable": True, "msg": "no\x1b[2Jroute"}
    run(inventory_hostname="web-1")
    assert "web-1 was not assessed: unreachable: no\\x1b[2Jroute" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(AnsibleActionFail, match="web-1 was not assessed: unreachable: no"):
        run({"unreachable": "fail"}, inventory_hostname="web-1")


@pytest.mark.parametrize("answer, words", [
    (AnsibleConnectionFailure("no route\nto host"), "unreachable: "),
    (AnsibleError("no interpreter"), "the module could not be run: "),
    ({"failed": True, "msg": "MODULE FAILURE", "module_stderr": "Traceback: x"},
     "the module failed: MODULE FAILURE; Traceback: x"),
    ({"unreachable": True, "msg": "gone"}, "unreachable: gone"),
    ({}, "the module failed: it returned nothing"),
    ({"ansible_facts": ["node_host"]}, "the module failed: it returned nothing"),
    ({"ansible_facts": {"node_gate_mode": "never"}}, "the module failed: it returned nothing"),
    (RecursionError("maximum recursion depth exceeded while decoding"),
     "the module could not be run: maximum recursion"),
    (ValueError("Exceeds the limit (4300 digits)"), "the module could not be run: Exceeds"),
    ({"failed": True, "msg": {"a": ["x"]}, "module_stdout": "\x9b2J\u202e"},
     "the module failed: msg is not a text; \\x9b2J\\u202e")])
def test_a_node_never_fails_the_task(run, answer, words):
    if isinstance(answer, Exception):
        run.node.side_effect = answer
    else:
        run.node.return_value = answer
    facts = facts_of(run())
    assert facts["node_assess_summary"]["reached"] is False
    assert {row["status"] for row in facts["node_assess_findings"]} == {"unknown"}
    assert facts["node_assess_findings"][0]["reason"].startswith(words)
    assert "\n" not in facts["node_assess_findings"][0]["reason"]


def test_a_node_that_hangs_is_left(run):
    run.node.side_effect = lambda **_options: time.sleep(30)
    facts = facts_of(run({"timeout": 1}))
    assert facts["node_assess_findings"][0]["reason"].startswith("the node did not answer within 1 seconds; ")


def test_a_section_that_does_not_fit_is_unknown_with_the_reason(run):
    run.node.return_value = {"ansible_facts": dict(EVIDENCE, node_cni=dict(EVIDENCE["node_cni"], plugins="bridge"))}
    facts = facts_of(run())
    why = "the node's answer does not fit the documentation: node_cni.plugins must be a list"
    assert (facts["node_assess_summary"]["reached"] and "node_cni" not in facts
            and facts["node_host"] == EVIDENCE["node_host"])
    found = {row["check"]: row for row in facts["node_assess_findings"]}
    assert (found["KMOD001"]["status"], found["KMOD001"]["reason"]) == ("unknown", why)
    assert found["XLOCK003"]["status"] == "skip" and found["BACKEND001"]["status"] == "pass"


def test_a_huge_text_is_never_copied(run):
    huge = "\u4e16" * (20 << 20)
    run.node.return_value = {"ansible_facts": dict(EVIDENCE, node_host=dict(EVIDENCE["node_host"], place=huge),
                                                   **{huge: huge})}
    tracemalloc.start()
    try:
        facts = facts_of(run())
        run.node.return_value = {"failed": True, "msg": huge}
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 << 20 and "node_host" not in facts


def test_sections_keep_the_other_findings_of_this_run(run):
    first = run()["ansible_facts"]
    run.node.return_value = {"ansible_facts": {name: EVIDENCE[name] for name in EVIDENCE if name != "node_conntrack"}}
    again = facts_of(run({"sections": ["KPROXY"]}, ansible_facts=first))
    assert again["node_assess_numbers"] == first["node_assess_numbers"]
    assert again["node_assess_findings"] and len(again["node_assess_findings"]) == len(first["node_assess_findings"])
    stale = dict(first, node_assess_summary=dict(first["node_assess_summary"], run="another"))
    alone = facts_of(run({"sections": ["KPROXY"]}, ansible_facts=stale))
    assert {"KPROXY001", "KPROXY002"} <= {row["check"] for row in alone["node_assess_findings"]}
    assert {row["check"][:6] for row in alone["node_assess_findings"]} == {"KPROXY"}
    assert first["node_assess_numbers"]["conntrack_limit"] and not alone["node_assess_numbers"]["conntrack_limit"]


def test_chosen_checks_are_judged_and_what_they_need_is_collected(run):
    facts = facts_of(run({"checks": ["XLOCK*"], "skip": ["XLOCK005"]}))
    assert {row["check"] for row in facts["node_assess_findings"]} == {"XLOCK001", "XLOCK002", "XLOCK003", "XLOCK004"}
    assert run.node.call_args[1]["module_args"]["gather_subset"] == ["host", "xtables_lock"]
    facts = facts_of(run({"checks": ["*001"], "sections": ["KMOD", "HOOK"]}))
    assert {row["check"] for row in facts["node_assess_findings"]} == {"KMOD001", "HOOK001"}


def test_a_role_whose_checks_were_all_left_out_looks_and_has_nothing_to_judge(run):
    first = run({"checks": ["HOOK*"]})["ansible_facts"]
    again = facts_of(run({"checks": ["HOOK*"], "sections": ["KMOD"]}, ansible_facts=first))
    assert again["node_assess_findings"] == first["node_assess_findings"] != []
    assert {row["state"] for row in again["node_assess_required_modules"]} == {"loaded"}


def test_kube_proxy_is_judged_again_with_its_chains_where_this_run_has_judged_it(run):
    first = run({"sections": ["CHAIN", "KPROXY"]})["ansible_facts"]
    run({"sections": ["CHAIN", "BACKEND"]}, ansible_facts=first)
    assert "kube_proxy" in run.node.call_args[1]["module_args"]["gather_subset"]
    again = facts_of(run({"sections": ["HOOK", "CHAIN"]}))
    assert not any(row["check"].startswith("KPROXY") for row in again["node_assess_findings"])
    without = run({"sections": ["HOOK"]})["ansible_facts"]
    later = facts_of(run({"sections": ["CHAIN"]}, ansible_facts=without))
    assert {row["check"].rstrip("0123456789") for row in later["node_assess_findings"]} == {"HOOK", "CHAIN"}
