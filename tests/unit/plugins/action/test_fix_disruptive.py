# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action fix does for the playbook repair: restarts that a look proves, and a migration that is due."""

import backend_facts
import pytest
from action_runs import FLUSHED, LOST
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from case_rows import cases
from fix_runs import Node, facts, look, outcomes_of, runner

BROKEN = {"nf_conntrack": "loadable"}


@pytest.fixture
def run(monkeypatch):
    return runner(monkeypatch)


@cases
def test_nothing_disruptive_is_done_by_the_way(run, arguments, batch, words):
    node = Node()
    with pytest.raises(AnsibleActionFail) as caught:
        run(node, facts(BROKEN, LOST), arguments=arguments, ansible_play_batch=batch)
    assert words in str(caught.value) and node.calls == []


RESTARTED = {"changed": True, "service": "kubelet", "method": "unit", "unit": "kubelet.service", "pid": 400,
             "refused": None, "proved_seconds": 7}
KUBELET = {"subjects": ["kubelet"], "up_to": "disruptive"}
RESTARTS = [(KUBELET, LOST, RESTARTED), (
    {"subjects": ["kube_proxy"], "up_to": "disruptive"}, FLUSHED,
    dict(RESTARTED, service="kube_proxy", method="signal", unit=None))]


@pytest.mark.parametrize("arguments, changes, answer", RESTARTS)
def test_a_restart_is_made_where_a_finding_asks_for_it_and_proved_by_a_look(run, arguments, changes, answer):
    node = Node(service_restart=answer, node_facts=[look(None, changes), look()])
    result = run(node, {}, arguments=dict(arguments, timeout=200), node_assess_place="live")
    assert node.called() == ["node_facts", "service_restart", "node_facts"] and node.together == []
    assert node.calls[1][1] == {"service": arguments["subjects"][0], "timeout": 200, "place": "live"}
    assert result["changed"] and result["failures"] == [] and not result.get("failed")
    assert set(outcomes_of(result).values()) == {("pass", "fixed")}
    assert run.shown[-1] in ("  node: changed: restart kubelet.service",
                             "  node: changed: restart kube-proxy (process 400)")


@pytest.mark.parametrize("arguments, changes, answer", RESTARTS)
def test_a_restart_whose_finding_is_gone_is_not_made(run, arguments, changes, answer):
    node = Node(node_facts=look())
    result = run(node, {}, arguments=arguments)
    assert node.called() == ["node_facts"] and not result["changed"] and result["failures"] == []
    assert run(Node(), facts(None, changes if answer["service"] != "kubelet" else FLUSHED),
               arguments=KUBELET)["skipped"]


@pytest.mark.parametrize("arguments, changes, answer", RESTARTS)
def test_check_mode_says_what_would_be_restarted(run, arguments, changes, answer):
    node = Node(service_restart=dict(answer, proved_seconds=None))
    result = run(node, facts(None, changes), check_mode=True, arguments=arguments)
    assert node.called() == ["service_restart"] and result["failures"] == []
    assert {outcome for _status, outcome in outcomes_of(result).values()} == {"would fix"}
    assert run.shown[-1].startswith("  node: would change: restart kube")


@pytest.mark.parametrize("arguments, changes, answer", RESTARTS)
@pytest.mark.parametrize("what, words", [
    ("still", "but the look after it does not show"), ("refused", "no systemd unit runs it"),
    ("failed", "within 180 seconds after its restart"), ("lost", "no route"),
    ("gone", "was not assessed: unreachable")])
def test_a_restart_that_is_not_proved_fails_and_its_finding_says_why(run, arguments, changes, answer, what, words):
    answers = {"still": answer, "gone": answer, "lost": AnsibleConnectionFailure("no route"),
               "refused": dict(answer, changed=False, method=None, refused="no systemd unit runs it"),
               "failed": {"changed": True, "failed": True, "msg": "not ready within 180 seconds after its restart"}}
    after = {"unreachable": True, "msg": "x"} if what == "gone" else look(None, changes)
    node = Node(service_restart=answers[what], node_facts=after)
    result = run(node, facts(None, changes), arguments=dict(arguments, failure="warn"))
    assert words in "; ".join(result["failures"]) and not result.get("failed")
    assert what == "gone" or {outcome for _status, outcome in outcomes_of(result).values()} <= {"failed", "refused"}
    node = Node(service_restart=answers[what], node_facts=after)
    assert run(node, facts(None, changes), arguments=arguments)["failed"]


def test_an_unknown_result_of_the_look_proves_no_restart(run):
    unknown = look(None, {"node_kubelet": {"initialisation": {"families": [
        dict(LOST["node_kubelet"]["initialisation"]["families"][0], state="unknown")]}}})
    result = run(Node(service_restart=RESTARTED, node_facts=unknown), facts(None, LOST), arguments=KUBELET)
    assert result["failed"] and "does not show that its chains are back" in result["msg"]


SWITCH = {"changed": False, "backend": "nft", "backend_because": "x", "refused": "34 chains are in legacy", "left": [],
          "live_rules": True, "reboot_needed": False, "groups": [], "saved": [], "conflicts": [], "files": []}
SPLIT = {"node_iptables_backend": backend_facts.SPLIT}
BACKEND = {"subjects": ["iptables_backend"], "up_to": "disruptive"}


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_node_with_rules_in_the_backend_that_it_leaves_is_to_be_migrated(run, check_mode):
    node = Node(iptables_backend=SWITCH)
    result = run(node, facts(None, SPLIT), check_mode=check_mode, arguments=BACKEND)
    assert node.called() == ["iptables_backend"] and result["migration"]["backend"] == "nft" and not result["failures"]
    assert result["migration"]["before"]["backend"] == "mixed"
    assert run.shown == ["  node: would change: migrate to the backend nft, with a reboot"] * check_mode
    other = run(Node(iptables_backend=dict(SWITCH, live_rules=False)), facts(None, SPLIT), arguments=BACKEND)
    assert other["migration"] is None and other["failures"] == ["34 chains are in legacy"] and other["failed"]


def test_a_role_alone_names_what_only_a_migration_mends(run):
    result = run(Node(iptables_backend=SWITCH), facts(None, SPLIT), arguments={"subjects": ["iptables_backend"]})
    assert result["migration"] is None and result["failed"] and result["failures"] == ["34 chains are in legacy"]
