# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook repair, really run on nodes that answer as a test wants it: one node after the other, and none after the
first that is not proved. And on real rules in a network of their own, with a process named kube-proxy in the cgroup of
a pod, and one named kubelet that starts it again."""

import json
import os
import re
import subprocess
import sys

import backend_facts
import fleets
import flushed_node
import live_kube_proxy
import pytest
from action_runs import FLUSHED, LOST
from fake_nodes import FakeNodes
from node_processes import needs_mounts, python_path

RESTARTED = {"changed": True, "service": "kubelet", "method": "unit", "unit": "kubelet.service", "pid": 400,
             "refused": None, "proved_seconds": 7}
SWITCH = {"changed": True, "backend": "nft", "backend_because": "it is asked for", "refused": None, "live_rules": True,
          "reboot_needed": False, "left": [], "groups": [], "saved": [], "conflicts": [], "files": []}
# Of the first call, in which a look may follow.
REFUSED = {"changed": False, "results": [{"module": "iptables_backend", "result": json.dumps(
    dict(SWITCH, changed=False, refused="34 chains are in legacy"))}]}
SPLIT = {"node_iptables_backend": backend_facts.SPLIT}
LOOK, RESTART, SWITCHING, ASKING = "node_facts", "service_restart", "iptables_backend", "node_changes"


@pytest.fixture
def nodes(tmp_path):
    return FakeNodes(tmp_path)


def told(done):
    return " ".join((done.stdout + done.stderr).split())


def outcomes(nodes, name):
    return {row["check"]: row["outcome"] for row in nodes.report(name)["findings"] if row["outcome"]}


def test_a_node_is_looked_at_in_its_turn_and_a_finding_that_is_gone_is_left(nodes):
    nodes.add("well").add("lost", LOST, service_restart=RESTARTED).add("last")
    done = nodes.repaired()
    assert done.returncode == 0 and "  lost: changed: restart kubelet.service" in done.stdout, told(done)
    assert (nodes.calls("well"), nodes.calls("lost"), nodes.calls("last")) == ([LOOK], [LOOK, RESTART, LOOK], [LOOK])
    assert outcomes(nodes, "lost") == {"HOOK020": "fixed"} and not outcomes(nodes, "well")


@pytest.mark.parametrize("answer, after, words", [
    (RESTARTED, LOST, "kubelet was restarted, but the look after it does not show that its chains are back"),
    ({"changed": True, "failed": True, "msg": "kubelet has not set up its chains within 180 seconds"}, LOST,
     "kubelet has not set up its chains within 180 seconds"),
    (dict(RESTARTED, changed=False, method=None, refused="no systemd unit runs kubelet here"), LOST,
     "no systemd unit runs kubelet here"),
    (7, None, "deserialization failed|MODULE FAILURE")], ids=["unproved", "failed", "refused", "broken"])
def test_no_node_is_touched_after_one_that_is_not_repaired(nodes, answer, after, words):
    nodes.add("first", LOST, after, service_restart=answer).add("second", LOST, service_restart=RESTARTED)
    done = nodes.repaired()
    assert done.returncode == 2 and re.search(words, told(done)), told(done)
    assert nodes.calls("first")[:2] == [LOOK, RESTART] and nodes.calls("second") == []
    row = next(row for row in nodes.report("first")["findings"] if row["check"] == "HOOK020")
    assert row["outcome"] in ("failed", "refused") or answer == 7, "the report has the attempt"


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_no_node_is_touched_after_one_that_cannot_be_reached(nodes, arguments):
    nodes.gone("first").add("second", LOST, service_restart=RESTARTED)
    done = nodes.repaired(*arguments)
    assert done.returncode != 0 and "first was not assessed: unreachable" in told(done), told(done)
    assert nodes.calls("second") == []


def test_check_mode_says_what_it_would_do_on_every_node(nodes):
    nodes.add("first", FLUSHED, service_restart=dict(RESTARTED, service="kube_proxy", method="signal", unit=None))
    nodes.add("second", SPLIT, iptables_backend=dict(SWITCH, changed=False, refused="34 chains are in legacy"))
    done = nodes.repaired("--check")
    assert done.returncode == 0 and "  first: would change: restart kube-proxy (process 400)" in done.stdout, told(done)
    assert "  second: would change: migrate to the backend nft, with a reboot" in done.stdout, told(done)
    # Nothing is looked at again: nothing was changed.
    assert [nodes.calls(name) for name in ("first", "second")] == [
        [LOOK + " (check)", name + " (check)"] for name in (RESTART, SWITCHING)]


def test_subjects_choose_what_is_repaired(nodes):
    nodes.add("node", LOST, service_restart=RESTARTED)
    done = nodes.repaired(repair_subjects=["kube_proxy", "iptables_backend"])
    assert done.returncode == 0 and nodes.calls("node") == [LOOK], told(done)
    done = nodes.repaired("-e", "repair_subjects=kubelet")
    assert done.returncode == 0 and nodes.calls("node")[2:] == [RESTART, LOOK], told(done)


@pytest.mark.parametrize("variables, words", [
    ({"repair_subjects": ["kublet"]}, "repair_subjects[0] is 'kublet', but must be one of: kubelet, kube_proxy, "),
    ({"repair_subject": ["kubelet"]}, "The variable repair_subject is not known; did you mean repair_subjects?"),
    ({"repair_restart_timeout": "long"}, "repair_restart_timeout must be a whole number"),
    ({"repair_hosts": "wrokers"}, "repair_hosts: wrokers matches no host")])
def test_a_mistake_is_refused_before_any_node_is_contacted(nodes, variables, words):
    nodes.add("node", LOST)
    done = nodes.repaired(**variables)
    assert done.returncode != 0 and words in told(done) and nodes.calls("node") == [], told(done)


def test_preflight_restarts_nothing_and_names_the_playbook_that_does(nodes):
    nodes.add("node", LOST, service_restart=RESTARTED)
    nodes.repaired("--syntax-check")
    done = nodes.run("preflight", preflight_fix="disruptive")
    assert done.returncode == 2 and "run the playbook kubenode.netfilter.repair" in told(done), told(done)
    assert nodes.calls("node") == []
    done = nodes.run("preflight", preflight_fix="guarded", node_gate_mode="never")
    assert done.returncode == 0 and nodes.calls("node") == [LOOK], told(done)


def kubectl(nodes, **spec):
    """The variables for a kubectl that answers for a node."""
    answer = json.dumps({"kind": "Node", "metadata": {"name": "node-1"}, "spec": spec})
    path = nodes.folder / "kubectl"
    path.write_text("print(%r)\n" % answer, encoding="utf-8")
    return {"repair_kubectl": [sys.executable, str(path)], "repair_kubectl_host": "localhost",
            "repair_node_name": "node-1"}


def migrated(nodes, after=None, **variables):
    for name in ("node", "second"):
        nodes.add(name, SPLIT, after, iptables_backend=SWITCH, node_changes=REFUSED)
    return nodes.repaired(repair_settle_timeout=0, **variables)


def test_only_a_cordoned_node_is_migrated(nodes):
    done = migrated(nodes)
    assert done.returncode == 2 and "whether it is cordoned is not known; set repair_kubectl_host" in told(done)
    assert nodes.calls("node") == [LOOK, ASKING, ASKING], told(done)
    done = nodes.repaired(**kubectl(nodes, unschedulable=False))
    assert done.returncode == 2 and "the node node-1 is not cordoned" in told(done), told(done)
    assert nodes.calls("second") == []


def test_a_migration_is_proved_by_a_look_and_one_that_is_not_ends_the_play(nodes):
    done = migrated(nodes, SPLIT, **kubectl(nodes, unschedulable=True))
    assert done.returncode == 2 and "after the reboot: the iptables programs of the node use" in told(done), told(done)
    assert nodes.calls("node") == [LOOK, ASKING, ASKING, SWITCHING, LOOK] and nodes.calls("second") == []
    assert {"failed"} == set(outcomes(nodes, "node").values())


def test_a_node_that_is_migrated_is_followed_by_the_next(nodes):
    done = migrated(nodes, **kubectl(nodes, unschedulable=True))
    assert done.returncode == 0, told(done)
    assert nodes.calls("node") == nodes.calls("second") == [LOOK, ASKING, ASKING, SWITCHING, LOOK]


OLD = ("iptables-mode/kube-proxy-1.30.5/nft/small", "")


@pytest.fixture
def node(tmp_path):
    """A function from a play and a scene to [exit code, output, rules of kube-proxy in nat, how often it was started];
    all hosts of the play are one flushed node."""
    def played(play, hosts="node,", pipelining=True, **scene):
        given = {"ansible_python_interpreter": sys.executable, "node_assess_place": "live", "folder": str(tmp_path),
                 "repair_subjects": ["kube_proxy"], "node_report_folder": str(tmp_path / "report")}
        path = fleets.PLAYS / play if play else fleets.TOP / "playbooks/repair.yml"
        command = [sys.executable, "-m", "ansible", "playbook", str(path), "-i", hosts, "-c", "local",
                   "-e", json.dumps(given)]
        scene = dict({"command": command, "late": False, "place": live_kube_proxy.PLACE, "flushed": ["iptables"],
                      "files": []}, **scene)
        return json.loads(subprocess.run(
            ["unshare", "-npfm", "--mount-proc", "--kill-child", sys.executable,
             flushed_node.__file__, str(tmp_path), json.dumps(scene)],
            stdout=subprocess.PIPE, universal_newlines=True, check=True,
            env=dict(os.environ, PYTHONPATH=python_path(), ANSIBLE_COLLECTIONS_PATH=str(fleets.TOP / ".build"),
                     ANSIBLE_NOCOLOR="1", ANSIBLE_FORKS="1", ANSIBLE_HOME=str(tmp_path / "home"),
                     ANSIBLE_CONNECTION_PLUGINS=str(fleets.PLUGINS), KUBENODE_FOLDER=str(tmp_path),
                     KUBENODE_PIPELINING="yes" if pipelining else "no")).stdout)
    return played


@needs_mounts
def test_a_flush_is_mended_and_rules_that_do_not_come_back_fail_the_host(node):
    code, output, rules, _started = node("flush_and_restart.yml")
    assert "signal: True, False" in output and "314 rules are back" in output, output
    assert (code, rules) == (2, 0), output
    assert "the look after it does not show that its rules are back" in " ".join(output.split()), output


# Without pipelining Ansible removes a folder on the node after the task, when the node is lost already.
@needs_mounts
@pytest.mark.parametrize("pipelining", [True, False])
def test_a_node_that_is_lost_by_its_restart_ends_the_play(node, pipelining):
    code, output, _rules, started = node("restart_on_a_lost_node.yml", "lost,other", pipelining, files=["broken"])
    assert started == 2 and code != 0, output
    assert "the network of this node is gone" in " ".join(output.split()) and ": [other]" not in output, output


@needs_mounts
def test_a_node_that_cannot_be_restarted_ends_the_play(node):
    code, output, _rules, started = node("", "node,other", cgroup="0::/user.slice/session-3.scope\n")
    assert (code, started) == (2, 1) and "neither a unit nor a pod runs" in output and ": [other]" not in output, output


@needs_mounts
def test_the_second_family_of_an_old_kube_proxy_is_waited_for(node):
    code, output, rules, started = node("", late=True, place=OLD, flushed=["iptables", "ip6tables"])
    assert (code, started) == (0, 2) and rules > 0, output
