# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook repair really run: real rules in a network of their own, a process named kube-proxy in the cgroup of a
pod, and one named kubelet that starts it again."""

import json
import os
import subprocess
import sys

import fleets
import flushed_node
import live_kube_proxy
import pytest
from node_processes import needs_mounts, python_path

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
