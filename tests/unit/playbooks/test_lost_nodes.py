# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that becomes unreachable during its turn ends the turns of all nodes.

Ansible skips `rescue` for an unreachable host, so each task of a turn that connects to the node sets
ignore_unreachable, and a later task fails. test_harden_kube_proxy loses a node by the restart of its kube-proxy.
"""

import fleets
import pytest
import yaml

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: kubenode.netfilter.%s, tasks_from: %s}
      when: inventory_hostname == 'gone1'
      vars: {__harden_iptables_backend_decided: {backend: nft, before: {}}}
    - ansible.builtin.debug: {msg: "failed before: {{ hostvars['gone1']['%s'] | default(false) }}"}
"""
# Task files that contain a turn, and the actions in them that run only on the controller, or fail if the node is lost.
TURNS = [path for path in sorted((fleets.TOP / "roles").glob("harden_*/tasks/*.yml"))
         if "End the turns of all nodes" in path.read_text(encoding="utf-8")]
LOCAL = ("ansible.builtin.set_fact", "ansible.builtin.fail", "ansible.builtin.debug", "ansible.builtin.include_tasks",
         "ansible.builtin.include_role", "ansible.builtin.meta", "kubenode.netfilter.turn")


def test_a_node_that_is_lost_at_the_first_task_of_its_turn(tmp_path):
    done = fleets.Fleet(tmp_path, "gone1", "good1").run(
        PLAY % ("harden_iptables_backend", "reboot_here.yml", "__harden_iptables_backend_failed"))
    assert "failed before: migrate" in done.stdout, done.stdout + done.stderr
    assert "became unreachable" in " ".join(done.stdout.split()), done.stdout


def connecting(tasks):
    """The tasks of a block, and of blocks in it, that connect to the node."""
    for task in tasks:
        if "block" in task:
            yield from connecting(task["block"])
        elif not set(task) & set(LOCAL):
            yield task


@pytest.mark.parametrize("path", TURNS, ids=lambda path: path.parent.parent.name + "/" + path.name)
def test_each_task_of_a_turn_that_connects_ignores_that_the_node_is_lost(path):
    blocks = [task for task in yaml.safe_load(path.read_text(encoding="utf-8")) if "rescue" in task]
    included = [path.parent / name for block in blocks for task in block["block"]
                for name in [task.get("ansible.builtin.include_tasks")] if name]
    tasks = [task for block in blocks for task in block["block"]]
    tasks += [task for file in included for task in yaml.safe_load(file.read_text(encoding="utf-8"))]
    found = list(connecting(tasks))
    assert blocks and found and [task["name"] for task in found if task.get("ignore_unreachable") is not True] == []


def test_both_restarts_take_the_same_steps():
    """Both restarts have the same steps, so a test of one with real processes also covers the other."""
    def steps(role, file):
        def outline(task):
            parts = {name: task.get(name) for name in ("register", "when", "throttle", "ignore_unreachable")}
            return dict(parts, of=sorted(set(task) - set(parts) - {"name", "block", "rescue"}),
                        block=list(map(outline, task.get("block", []))),
                        rescue=list(map(outline, task.get("rescue", []))))
        text = (fleets.TOP / "roles" / role / "tasks" / file).read_text(encoding="utf-8")
        return list(map(outline, yaml.safe_load(text.replace(role, "ROLE").replace("kube_proxy", "kubelet"))))

    assert steps("harden_flush_hooks", "restart_kubelet_here.yml") == steps("harden_kube_proxy", "restart_here.yml")
