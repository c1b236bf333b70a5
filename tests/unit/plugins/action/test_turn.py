# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action turn: whether a node is changed now, whether its change is proved, and what a failure means for others."""

import copy

import pytest
from action_runs import FLUSHED, LOST, plugin_of
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.action import turn
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _looking, _policy

POLICY = _policy.default_policy()
STARTING = {"node_kube_proxy": {"starting": "it has not synced yet"}}
GONE = AnsibleConnectionFailure("no route to host")
KUBELET, KUBE_PROXY = "restart_kubelet", "restart_kube_proxy"
ALLOWED = {"harden_iptables_backend_cordoned": True, "harden_iptables_backend_reboot": True,
           "harden_iptables_backend_target": "nft"}


def evidence(changes=None):
    return healthy(POLICY.module_names, None, changes)


def facts(changes=None):
    return _assess.exported(evidence(changes), POLICY, _assess.chosen_checks(None), None)


class Node:
    """What a node answers to one call after the other: changes of the healthy node, a result, or an error."""

    def __init__(self, *answers):
        self.answers, self.called = list(answers), []

    def __call__(self, module_name, module_args, task_vars):
        answer = self.answers.pop(0)
        self.called.append((module_name.rpartition(".")[2], module_args, self.task.check_mode))
        if isinstance(answer, Exception):
            raise answer
        return copy.deepcopy(answer if "changed" in answer else
                             {"changed": False, "ansible_facts": evidence(answer)})

    def names(self):
        return [name for name, _arguments, _check_mode in self.called]


@pytest.fixture
def run(monkeypatch):
    """Calls one step on a node with facts; `run.shown` are the lines it displays."""
    shown = []
    monkeypatch.setattr(_looking.Display, "display", lambda _self, text, *_args, **_others: shown.append(text))
    monkeypatch.setattr(turn, "PAUSE_SECONDS", 0)

    def call(node, change, step="begin", known=None, check_mode=False, strategy="linear", failed=None, arguments=None,
             **variables):
        plugin = plugin_of(turn, dict(arguments or {}, change=change, step=step), check_mode, strategy=strategy)
        node.task = plugin._task
        monkeypatch.setattr(plugin, "_execute_module", node)
        names = ["node", "other"]
        return plugin.run(task_vars=dict(
            variables, inventory_hostname="node", ansible_facts=known or {}, ansible_play_batch=names,
            ansible_play_hosts_all=names, ansible_play_hosts=names,
            hostvars=dict({"node": {}, "other": {}}, **failed or {})))

    call.shown = shown
    return call


def findings_of(result, outcome):
    return sorted({row["check"] for row in result["ansible_facts"]["node_assess_findings"]
                   if row["outcome"] == outcome})


@pytest.mark.parametrize("strategy", ["free", "host_pinned", "ansible.builtin.free"])
def test_a_strategy_without_lockstep_is_refused(run, strategy):
    with pytest.raises(AnsibleActionFail, match="which strategy %s does not support" % strategy):
        run(Node(), "clean_leftovers", strategy=strategy)


@pytest.mark.parametrize("change, changes", [(KUBELET, LOST), (KUBE_PROXY, FLUSHED)])
def test_a_restart_begins_only_where_a_new_look_still_finds_that_it_is_needed(run, change, changes):
    idle, needed, meanwhile = Node(), Node(changes), Node({})
    assert not run(idle, change, known=facts())["begins"] and idle.called == []
    result = run(needed, change, known=facts(changes))
    assert result["begins"] and needed.names() == ["node_facts"]
    assert result.get("unit") == ("kubelet.service" if change == KUBELET else None)
    result = run(meanwhile, change, known=facts(changes))
    assert not result["begins"] and result["failure"] == result["doubt"] == ""


def test_a_node_that_is_lost_before_its_turn_is_not_restarted(run):
    result = run(Node(GONE), KUBELET, known=facts(LOST))
    assert not result["begins"] and "no route to host" in result["failure"] and not result.get("failed")


FLAGS = {KUBELET: "__harden_flush_hooks_restart_failed", KUBE_PROXY: "__harden_kube_proxy_restart_failed",
         "clean_leftovers": "__harden_iptables_backend_failed", "migrate": "__harden_iptables_backend_failed"}


@pytest.mark.parametrize("change, changes", [
    (KUBELET, LOST), (KUBE_PROXY, FLUSHED), ("clean_leftovers", None), ("migrate", None)])
@pytest.mark.parametrize("failed, what", [
    (KUBELET, "the restart of kubelet"), (KUBE_PROXY, "the restart of kube-proxy"), ("clean_leftovers", "the cleaning"),
    ("migrate", "the migration")])
def test_no_turn_of_any_kind_begins_after_one_that_failed(run, failed, what, change, changes):
    node, host = Node({}), "node" if change == failed else "other"
    result = run(node, change, known=facts(changes), failed={host: {FLAGS[failed]: failed}}, **ALLOWED)
    assert not result["begins"] and node.names() == ([] if change != "migrate" else ["node_facts"])
    assert "%s of %s failed, so no further node is changed in this run" % (what, host) in result["failure"]
    result = run(Node({}), change, known=facts(changes), failed={host: {FLAGS[failed]: failed}},
                 __node_gate_follows=True, **ALLOWED)
    assert not result["begins"] and result["failure"] == "" and "no further node is changed" in run.shown[-1]
    assert run(Node(changes or {}), change, known=facts(changes), failed={host: {"__unrelated": failed}},
               **ALLOWED)["begins"]


def test_a_kubelet_that_no_unit_runs_is_left_with_the_manual_step(run):
    changes = {"node_kubelet": dict(LOST["node_kubelet"], unit={"name": None})}
    node = Node()
    result = run(node, KUBELET, known=facts(changes))
    assert "no systemd unit runs kubelet here: systemctl restart" in result["failure"] and node.called == []
    result = run(node, KUBELET, known=facts(changes), check_mode=True)
    assert result["failure"] == "" and "no systemd unit" in run.shown[-1], "an audit fails no host"


@pytest.mark.parametrize("change, before", [(KUBELET, LOST), (KUBE_PROXY, STARTING)])
def test_a_restart_is_verified_once_the_program_has_had_its_time(run, change, before):
    node = Node(before, ValueError("half an answer"), {}, {})
    result = run(node, change, "verify", arguments={"result": {"changed": True}})
    assert not result.get("failed") and node.names() == ["node_facts"] * 4


@pytest.mark.parametrize("change, answers, words", [
    (KUBELET, [{}, LOST], "still shows that its chains are missing"),
    (KUBE_PROXY, [{}, FLUSHED], "does not show that its rules are back"),
    (KUBELET, [GONE], "became unreachable"), (KUBE_PROXY, [{}, GONE], "was not assessed: unreachable"),
    (KUBELET, [LOST], "kubelet has not set up its chains within 75 seconds"),
    (KUBE_PROXY, [STARTING], "kube-proxy has not written its rules within 150 seconds")])
def test_a_restart_that_is_not_proved_fails(run, monkeypatch, change, answers, words):
    if len(answers) == 1 and isinstance(answers[0], dict):
        passing = iter(range(0, 1000, 100))
        monkeypatch.setattr(turn.time, "monotonic", lambda: next(passing))
    result = run(Node(*answers), change, "verify", arguments={"result": {"changed": True}},
                 harden_flush_hooks_restart_timeout=1, harden_kube_proxy_restart_timeout=1)
    assert result["failed"] and words in result["failure"] and not result["spares_others"]


def test_what_was_never_restarted_spares_other_nodes_and_a_lost_node_does_not(run):
    refused = run(Node(), KUBE_PROXY, "verify", arguments={"result": {"changed": False, "refused": "a part of k3s"}})
    lost = run(Node(), KUBE_PROXY, "verify", arguments={"result": {"changed": False, "unreachable": True}})
    assert refused["failure"] == "kube-proxy was not restarted: a part of k3s"
    assert "it is not known what became of the restart of kube-proxy" in lost["failure"]
    ended = [run(Node(FLUSHED), KUBE_PROXY, "failed", arguments={"result": result}) for result in (refused, lost)]
    assert (refused["spares_others"], lost["spares_others"]) == (True, False)
    assert ["no further node is changed" in result["failure"] for result in ended] == [False, True]


def test_nothing_is_verified_in_check_mode(run):
    node = Node()
    for change in turn.turns.TURNS:
        result = run(node, change, "verify", check_mode=True, arguments={"result": {"changed": True}})
        assert not result.get("failed")
    assert node.called == []


@cases
def test_a_failed_attempt_is_recorded_in_the_finding(run, result, words):
    done = run(Node(LOST), KUBELET, "failed", known=facts(LOST), arguments={"result": result})
    assert done["failure"].startswith(words) and "no further node" in done["failure"] and not done.get("failed")
    rows = [row for row in done["ansible_facts"]["node_assess_findings"] if row["check"] == "HOOK020"]
    assert [row["outcome"] for row in rows] == ["failed"] and words in str(rows)


def test_a_refused_cleaning_is_recorded_and_does_not_end_the_turns_of_others(run):
    done = run(Node({}), "clean_leftovers", "verify", arguments={"result": {"changed": False, "refused": "in use"}})
    assert not done.get("failed") and done["failure"] == "the leftovers are not removed: in use"
    done = run(Node({}), "clean_leftovers", "verify", arguments={"result": {"changed": False, "refused": "in use"}},
               __node_gate_follows=True)
    assert not done.get("failed") and done["failure"] == ""
    assert run(Node(GONE), "clean_leftovers", "verify", arguments={"result": {"changed": True}})["failed"]


@cases
def test_a_node_in_doubt_is_not_migrated(run, variables, answer, words):
    node = Node({})
    result = run(node, "migrate", arguments={"answer": answer} if answer else None, **dict(ALLOWED, **variables))
    assert not result["begins"] and words in result["failure"] and node.names() == ["node_facts"]
    assert not result.get("failed") and result["ansible_facts"], "Ansible would drop the findings"


@pytest.mark.parametrize("answer, words", [
    ({"changed": True}, "reboot pending"), ({"changed": False, "refused": "a program is diverted"}, "is diverted"),
    ({"changed": False, "failed": True, "msg": "no alternatives here"}, "no alternatives here"),
    (GONE, "became unreachable")])
def test_without_leave_to_reboot_the_switch_is_only_tried_in_check_mode(run, answer, words):
    if isinstance(answer, dict) and not answer.get("failed"):
        answer = dict({"backend": "nft", "backend_because": "x", "refused": None, "reboot_needed": True, "groups": [],
                       "live_rules": True, "left": [], "saved": [], "conflicts": [], "files": []}, **answer)
    node = Node(answer, {})
    result = run(node, "migrate", **dict(ALLOWED, harden_iptables_backend_reboot=False))
    assert node.called[0][0] == "iptables_backend" and node.called[0][2] is True, "the switch was not only tried"
    assert not result["begins"] and words in result["failure"]


def test_a_cordoned_node_that_may_reboot_is_migrated_to_the_target(run):
    result = run(Node(), "migrate", known=facts(), **ALLOWED)
    assert result["begins"] and result["backend"] == "nft" and result["before"]["backend"]
    back = run(Node(), "migrate", known=facts(), **dict(ALLOWED, harden_iptables_backend_state="absent"))
    assert back["begins"] and back["backend"] == "auto"
    policy = {"harden_iptables_backend_target": "auto", "node_policy_iptables_backend": "legacy"}
    assert run(Node(), "migrate", known=facts(), **dict(ALLOWED, **policy))["backend"] == "legacy"
