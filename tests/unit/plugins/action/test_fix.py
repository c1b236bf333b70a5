# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action fix: what it decides, in which order it calls the modules, and what it tells."""

import copy
import json

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from case_rows import cases
from fix_runs import POLICY, Node, facts, look, outcomes_of, runner

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess

BROKEN = {"nf_conntrack": "loadable"}
MODULES = {"changed": True,
           "files": ["/var/lib/kubenode-netfilter/record", "/etc/modules-load.d/kubenode-netfilter.conf"], "modules": [
               {"name": "nf_conntrack", "module": "nf_conntrack", "before": "loadable", "after": "loaded",
                "loaded": True, "persisted": True, "blocked": [], "failed": False, "msg": ""}],
           "diff": [{"before": "", "after": "nf_conntrack\n"}]}
SETTINGS = {"changed": True, "files": [], "advice": None, "unfinished": False,
            "settings": [
                {"key": "net.ipv4.ip_forward", "wanted": 1, "before": 0, "after": 1, "at_boot": 1,
                 "after_kube_proxy": 1, "persisted": True, "failed": False, "msg": ""}]}
FORWARD = {"node_conntrack": {"of_keys": {"net.ipv4.ip_forward": {"now": 0}}}}


@pytest.fixture
def run(monkeypatch):
    return runner(monkeypatch)


def test_a_safe_finding_is_fixed_and_looked_at_in_one_call(run):
    node = Node(kernel_modules=MODULES, node_facts=look())
    result = run(node, facts(BROKEN), arguments={"up_to": "safe"}, node_assess_root="/mnt", node_assess_timeout=7)
    assert node.called() == ["kernel_modules", "node_facts"] and result["changed"] and not result.get("failed")
    assert outcomes_of(result) == {("KMOD003", "nf_conntrack"): ("pass", "fixed")}
    assert result["ansible_facts"]["node_assess_summary"]["fail"] == 0 and result["diff"] == MODULES["diff"]
    assert result["subjects"] == [{"subject": "kernel_modules", "changed": True, "failed": False, "reasons": [],
                                   "changes": ["load nf_conntrack", "/etc/modules-load.d/kubenode-netfilter.conf"]}]
    assert run.shown == ["  node: changed: load nf_conntrack, /etc/modules-load.d/kubenode-netfilter.conf"]
    sent = node.calls[1][1]
    assert node.together == [["kernel_modules"]] and (sent["root"], sent["timeout"]) == ("/mnt", 7)
    assert sent["modules"] == POLICY.module_names
    assert {"kernel_modules"} <= set(sent["gather_subset"]) < set(assess.SUBSETS), "only the sections that changed"


@pytest.mark.parametrize("looked", [None, "{}", 7, '{"node_kernel_modules": "x"}', "[]", "{", 100000 * "["])
def test_a_call_that_could_not_look_is_followed_by_a_look(run, looked):
    answer = {"changed": True, "results": [{"module": "kernel_modules", "result": json.dumps(MODULES)}],
              "looked": looked, "look_failed": "the look took longer than 180 seconds"}
    node = Node(node_changes=answer, node_facts=look())
    result = run(node, facts(BROKEN), arguments={"up_to": "safe"})
    assert node.called() == ["node_changes", "node_facts"]
    assert outcomes_of(result) == {("KMOD003", "nf_conntrack"): ("pass", "fixed")}


def test_facts_that_nobody_asked_for_are_not_judged(run):
    rows = [{"module": "kernel_modules", "result": json.dumps(MODULES)},
            {"module": "conntrack", "result": json.dumps(SETTINGS)}]
    node = Node(node_changes={"changed": True, "results": rows, "looked": json.dumps(look()["ansible_facts"])})
    result = run(node, facts(BROKEN, FORWARD), check_mode=True, arguments={"up_to": "safe"})
    assert {status for status, _outcome in outcomes_of(result).values()} == {"fail"}
    assert "look" not in node.calls[0][1]


def test_check_mode_says_what_would_change_and_does_not_look_again(run):
    node = Node(kernel_modules=MODULES)
    result = run(node, facts(BROKEN), check_mode=True, arguments={"up_to": "safe"})
    assert node.called() == ["kernel_modules"] and outcomes_of(result) == {("KMOD003",
                                                                            "nf_conntrack"): ("fail", "would fix")}
    assert run.shown == ["  node: would change: load nf_conntrack, /etc/modules-load.d/kubenode-netfilter.conf"]


@pytest.mark.parametrize("arguments, known", [
    ({"up_to": "guarded"}, facts()), ({"up_to": "none"}, facts(BROKEN)),
    ({"up_to": "safe"}, facts({"xt_comment": "installed_true"})),
    ({"up_to": "safe"}, facts(reached=False)), ({}, facts())])
def test_a_host_with_nothing_to_fix_is_not_contacted(run, arguments, known):
    node = Node()
    result = run(node, known, arguments=arguments)
    assert (node.calls == [] and result["changed"] is False and result["migration"] is None and not result.get("failed")
            and run.shown == [])
    assert result.get("skipped") or arguments == {}


def test_one_host_does_not_work_for_others(run):
    run.run_once = True
    node = Node()
    with pytest.raises(AnsibleActionFail, match="run_once would fix one of 2 hosts"):
        run(node, facts(BROKEN), arguments={"up_to": "safe"}, ansible_play_batch=["node", "other"])
    assert node.calls == []
    alone = run(Node(kernel_modules=MODULES, node_facts=look()), facts(BROKEN), arguments={"up_to": "safe"},
                ansible_play_batch=["node"])
    assert alone["changed"]


def test_subjects_go_in_the_order_of_dependence_and_share_one_look(run):
    node = Node(kernel_modules=MODULES, conntrack=SETTINGS, node_facts=look())
    result = run(node, facts(BROKEN, FORWARD), arguments={"up_to": "safe", "subjects": ["conntrack", "kernel_modules"]})
    assert node.called() == ["kernel_modules", "conntrack", "node_facts"]
    assert node.together == [["kernel_modules", "conntrack"]], "one call for both"
    assert outcomes_of(result) == {("KMOD003", "nf_conntrack"): ("pass", "fixed"),
                                   ("CTRACK015", "net.ipv4.ip_forward"): ("pass", "fixed")}


def test_what_a_loaded_module_brings_is_fixed_in_the_same_task(run):
    node = Node(kernel_modules=MODULES, conntrack=SETTINGS, node_facts=[look(None, FORWARD), look()])
    result = run(node, facts(BROKEN), arguments={"up_to": "safe"})
    assert node.called() == ["kernel_modules", "node_facts", "conntrack", "node_facts"]
    assert (("CTRACK015", "net.ipv4.ip_forward") in outcomes_of(result)
            and result["ansible_facts"]["node_assess_summary"]["fail"] == 0)


def test_a_failure_is_told_and_fails_only_where_no_gate_follows(run):
    broken = copy.deepcopy(MODULES)
    broken.update(failed=True, changed=False, msg="nf_conntrack: Exec format error")
    broken["modules"][0].update(after="loadable", failed=True, msg="Exec format error")
    node = Node(kernel_modules=broken, node_facts=look(BROKEN))
    warned = run(node, facts(BROKEN), arguments={"up_to": "safe", "failure": "warn"})
    assert outcomes_of(warned) == {("KMOD003", "nf_conntrack"): ("fail", "failed")} and not warned.get("failed")
    row = next(row for row in warned["ansible_facts"]["node_assess_findings"] if row["check"] == "KMOD003")
    assert (row["reason"].endswith("The fix was tried and failed: Exec format error")
            and run.shown[-1].endswith("Exec format error"))
    failed = run(node, facts(BROKEN), arguments={"up_to": "safe"})
    assert failed["failed"] and "Exec format error" in failed["msg"]


@pytest.mark.parametrize("answer",
                         [AnsibleConnectionFailure("gone"), {"unreachable": True, "msg": "gone", "changed": False}])
def test_a_host_that_is_lost_is_not_called_again(run, answer):
    node = Node(node_changes=answer, node_facts={"unreachable": True, "msg": "gone"})
    result = run(node, facts(BROKEN, FORWARD), arguments={"up_to": "safe", "failure": "warn"})
    assert node.called() == ["node_changes", "node_facts"] and not result.get("failed")
    assert result["ansible_facts"]["node_assess_summary"]["reached"] is False
    assert run(Node(kernel_modules=answer, node_facts={"unreachable": True, "msg": "gone"}), facts(BROKEN))["failed"]


@cases
def test_what_is_no_answer_of_each_module_fixed_nothing(run, answer, message):
    node = Node(node_changes=answer, node_facts=look(BROKEN, FORWARD))
    result = run(node, facts(BROKEN, FORWARD), arguments={"up_to": "safe"})
    assert result["failed"] and message in result["msg"] and not result["changed"]
    assert {outcome for _status, outcome in outcomes_of(result).values()} <= {"failed"}
    assert node.called() == ["node_changes", "node_facts"], "what it did is looked at"


def test_an_immutable_host_stays_and_its_findings_say_so(run):
    immutable = {"node_host": {"immutable": True, "immutable_by": "talos"}}
    node = Node()
    result = run(node, facts(BROKEN, immutable), arguments={"up_to": "safe"})
    assert node.calls == [] and outcomes_of(result) == {("KMOD003", "nf_conntrack"): ("fail", "refused")}
    assert ("Nothing is changed on this immutable host (talos)" in result["msg"] and not result["changed"]
            and not result.get("failed"))


def test_a_role_alone_looks_first_within_the_sections_it_is_given(run):
    node = Node(node_facts=[look(BROKEN), look()], kernel_modules=MODULES)
    result = run(node, {}, arguments={"subjects": ["kernel_modules"]}, node_assess_sections=["KMOD"])
    assert node.called() == ["node_facts", "kernel_modules", "node_facts"] and result["changed"]
    node = Node()
    assert run(node, facts(None, None, ["HOOK"]), arguments={"subjects": ["conntrack"], "up_to": "safe"},
               node_assess_sections=["HOOK"])["skipped"]


def test_variables_of_the_role_reach_the_module_and_tags_narrow_the_subjects(run):
    node = Node(kernel_modules=MODULES, conntrack=SETTINGS, node_facts=look())
    run(node, facts(BROKEN, FORWARD), arguments={"up_to": "safe"}, ansible_run_tags=["harden_conntrack"],
        harden_conntrack_max=600000, node_assess_root="/mnt", node_assess_place="image")
    assert node.called()[0] == "conntrack" and "kernel_modules" not in node.called()
    sent = node.calls[0][1]
    assert (sent["max"], sent["root"], sent["place"], sent["state"],
            sent["sysctls"]) == (600000, "/mnt", "image", "present", ["net.ipv4.ip_forward"])


@pytest.mark.parametrize("tags, called", [(["report"], ["node_facts"]), (["gate", "node_report"], ["node_facts"]), (
    ["mine"], ["node_facts", "kernel_modules", "node_facts"])])
def test_tags_of_report_and_gate_alone_only_look(run, tags, called):
    node = Node(node_facts=[look(BROKEN), look()], kernel_modules=MODULES)
    result = run(node, {}, arguments={"up_to": "safe"}, ansible_run_tags=tags)
    assert node.called() == called and result["ansible_facts"]["node_assess_summary"]["reached"]


def test_without_a_fix_a_host_is_assessed_once_and_a_bundle_is_refused(run):
    node = Node(node_facts=look(BROKEN))
    result = run(node, {}, arguments={"up_to": "none"})
    assert node.called() == ["node_facts"] and result["ansible_facts"]["node_assess_summary"]["fail"]
    with pytest.raises(AnsibleActionFail, match="a bundle cannot be fixed"):
        run(node, {}, arguments={"up_to": "safe"}, node_assess_bundle="/srv/bundle")


def test_a_host_that_is_not_reached_is_left_to_the_report_of_the_playbook(run):
    gone = {"unreachable": True, "msg": "gone"}
    for playbook, shown in ((True, 0), (False, 1)):
        result = run(Node(node_facts=gone), {}, arguments={"up_to": "safe", "failure": "warn"},
                     __node_policy_playbook=playbook)
        assert "was not assessed: unreachable: gone" in result["failures"][0] and len(run.shown) == shown


def test_sections_that_are_left_out_cost_no_connection_and_a_lost_host_is_not_tried_again(run):
    for variables, sections in (({"node_assess_skip": ["CTRACK*"]}, ["KMOD", "HOOK", "BACKEND", "CHAIN", "KPROXY"]),
                                ({"node_assess_checks": ["KMOD*"]}, ["KMOD"])):
        node = Node()
        assert run(node, facts(None, None, sections), arguments={"up_to": "safe"},
                   **variables)["skipped"] and node.calls == []
    node = Node()
    assert run(node, facts(None, None, ["KMOD"], reached=False),
               arguments={"subjects": ["conntrack"]})["skipped"] and node.calls == []


def test_tags_of_a_play_do_not_narrow_a_role_of_its_own(run):
    node = Node(kernel_modules=MODULES, node_facts=look())
    run(node, facts(BROKEN), arguments={"subjects": ["kernel_modules"]},
        ansible_run_tags=["firewall", "harden_conntrack"])
    assert node.called()[0] == "kernel_modules"


def test_undone_in_the_opposite_order_without_a_look_and_past_a_failure(run):
    failed = {"failed": True, "msg": "it was changed since", "changed": False}
    node = Node(kernel_modules=failed, conntrack=failed, iptables_backend=failed, flush_hooks=failed)
    result = run(node, {}, arguments={"state": "absent", "failure": "warn"})
    assert node.called() == ["iptables_backend", "flush_hooks", "conntrack", "kernel_modules"]
    assert {arguments["state"] for _name, arguments in node.calls} == {"absent"}
    assert result["failed"] and result["msg"] == "it was changed since"


@cases
def test_a_mistake_fails_before_anything_connects(run, arguments, variables, words):
    node = Node()
    with pytest.raises(AnsibleActionFail) as caught:
        run(node, facts(BROKEN), arguments=arguments, **variables)
    assert words in str(caught.value) and node.calls == []
