# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role really run: real rules in a network of their own, a process named kube-proxy in the cgroup of a pod, and one
named kubelet that starts it again."""

import json
import os
import subprocess
import sys

import fleets
import live_kube_proxy
import pytest
from node_processes import needs_mounts, python_path

NODE = """\
import json, pathlib, subprocess, sys, time
import live_kube_proxy
folder, scene = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
POD = "0::/kubepods.slice/kubepods-podd0a1b2c3_1111_2222_3333_444455556666.slice/crio-%s.scope\\n" % ("ab" * 32)

def set_uptime(more):
    (folder / "uptime").write_text("%f 0.00\\n" % (time.clock_gettime(time.CLOCK_BOOTTIME) + more))

def kube_proxy():
    later = (folder / "started").read_text().count("x") > 1
    if later and scene["late"]:
        set_uptime(0)
        live_kube_proxy.restore("nft", ["iptables"], scene["place"])
    elif not (folder / "broken").exists():
        live_kube_proxy.restore("nft", place=scene["place"])
    live_kube_proxy.serve(scene["place"])
    if later and scene["late"]:
        # The second family follows, and two minutes pass in the clock of the look.
        time.sleep(12)
        live_kube_proxy.restore("nft", ["ip6tables"], scene["place"])
        set_uptime(200)

def start():
    child = subprocess.Popen([sys.executable, __file__, str(folder), sys.argv[2], "kube-proxy"], stdout=subprocess.PIPE)
    (folder / "cgroup").write_text(scene.get("cgroup", POD))
    subprocess.check_call(["mount", "--bind", str(folder / "cgroup"), "/proc/%d/cgroup" % child.pid])
    child.stdout.readline()
    return child

def kubelet():
    pathlib.Path("/proc/self/comm").write_text("kubelet")
    while True:
        with open(folder / "started", "a") as started:
            started.write("x")
        child = start()
        print(child.pid, flush=True)
        child.wait()

def run():
    subprocess.check_call(["ip", "link", "set", "lo", "up"])
    if scene["late"]:
        # Its first kube-proxy seems to run for more than two minutes.
        set_uptime(200)
        subprocess.check_call(["mount", "--bind", str(folder / "uptime"), "/proc/uptime"])
    keeper = subprocess.Popen([sys.executable, __file__, str(folder), sys.argv[2], "kubelet"], stdout=subprocess.PIPE)
    keeper.stdout.readline()
    for name in scene["flushed"]:
        subprocess.check_call([name + "-nft", "-w", "5", "-t", "nat", "-F"])
    for name in scene["files"]:
        (folder / name).touch()
    done = subprocess.run(scene["command"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    rules = subprocess.check_output(["iptables-nft-save", "-t", "nat"], universal_newlines=True)
    started = (folder / "started").read_text().count("x")
    print(json.dumps([done.returncode, done.stdout, rules.count("-A KUBE-"), started]), flush=True)

{"kube-proxy": kube_proxy, "kubelet": kubelet}.get(sys.argv[-1], run)()
"""
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - kubenode.netfilter.kube_proxy_restart: {place: live}
      check_mode: true
      register: announced
    - ansible.builtin.command: pgrep -x kube-proxy
      register: before
    - ansible.builtin.include_role: {name: kubenode.netfilter.harden_kube_proxy}
      vars: {harden_kube_proxy_restart: true}
    - ansible.builtin.command: pgrep -x kube-proxy
      register: after
    - ansible.builtin.debug:
        msg: >-
          {{ announced['method'] }}: {{ announced['pid'] == before.stdout | int }}, {{ before.stdout == after.stdout }}
    - ansible.builtin.shell: >-
        iptables-nft-save -t nat | grep -c -e '-A KUBE-'; iptables-nft -w 5 -t nat -F; touch %s/broken
      register: rules
    - ansible.builtin.debug: {msg: "{{ rules.stdout }} rules are back"}
    - ansible.builtin.meta: clear_facts
    - ansible.builtin.include_role: {name: kubenode.netfilter.harden_kube_proxy}
      vars: {harden_kube_proxy_restart: true}
"""


# A host that is lost as soon as its kube-proxy was restarted; without pipelining during the first look after that.
LOST = """
import os
import pathlib
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import local

DOCUMENTATION = local.DOCUMENTATION.replace("name: local", "name: lost")


class Connection(local.Connection):
    transport = "kubenode_lost"
    has_pipelining = %r

    def exec_command(self, cmd, *args, **kwargs):
        folder = pathlib.Path(%r)
        if len((folder / "started").read_text()) > 1 and (
                self.has_pipelining or "kube_proxy_facts" in cmd or (folder / "lost").exists()):
            (folder / "lost").touch()
            raise AnsibleConnectionFailure("the network of this node is gone")
        return super().exec_command(cmd, *args, **kwargs)
"""
ROLE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: kubenode.netfilter.harden_kube_proxy}
      vars: {harden_kube_proxy_restart: true}
"""
OLD = ("iptables-mode/kube-proxy-1.30.5/nft/small", "")


@pytest.fixture
def node(tmp_path):
    """A function from a play and a scene to [exit code, output, rules of kube-proxy in nat, how often it was started];
    all hosts of the play are one flushed node."""
    def played(play, hosts="node,", pipelining=True, **scene):
        (tmp_path / "node.py").write_text(NODE, encoding="utf-8")
        (tmp_path / "play.yml").write_text(play, encoding="utf-8")
        (tmp_path / "connection_plugins").mkdir()
        (tmp_path / "connection_plugins" / "lost.py").write_text(
            LOST % (pipelining, str(tmp_path)), encoding="utf-8")
        command = [sys.executable, "-m", "ansible", "playbook", str(tmp_path / "play.yml"), "-i", hosts, "-c", "local",
                   "-e", json.dumps({"ansible_python_interpreter": sys.executable, "node_assess_place": "live"})]
        scene = dict({"command": command, "late": False, "place": live_kube_proxy.PLACE, "flushed": ["iptables"],
                      "files": []}, **scene)
        return json.loads(subprocess.run(
            ["unshare", "-npfm", "--mount-proc", "--kill-child", sys.executable, str(tmp_path / "node.py"),
             str(tmp_path), json.dumps(scene)], stdout=subprocess.PIPE, universal_newlines=True, check=True,
            env=dict(os.environ, PYTHONPATH=python_path(), ANSIBLE_COLLECTIONS_PATH=str(fleets.TOP / ".build"),
                     ANSIBLE_NOCOLOR="1", ANSIBLE_HOME=str(tmp_path / "home"))).stdout)
    return played


@needs_mounts
def test_a_flush_is_mended_and_rules_that_do_not_come_back_fail_the_host(node, tmp_path):
    code, output, rules, _started = node(PLAY % tmp_path)
    assert "signal: True, False" in output and "314 rules are back" in output, output
    assert (code, rules) == (2, 0), output
    assert "does not show that its rules are back; no further node is changed" in " ".join(output.split()), output


# Without pipelining Ansible removes a folder on the node after the task, when the node is lost already.
@needs_mounts
@pytest.mark.parametrize("pipelining", [True, False])
def test_a_node_that_is_lost_by_its_restart_ends_the_restart_of_others(node, pipelining):
    code, output, _rules, started = node("""
- hosts: lost
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact: {ansible_connection: lost}
""" + ROLE, hosts="lost,other", pipelining=pipelining, files=["broken"])
    assert started == 2, output
    assert "the restart of kube-proxy of lost failed, so no further node is changed" in " ".join(output.split()), output
    assert code != 0, output


@needs_mounts
def test_a_node_that_cannot_be_restarted_is_no_reason_to_leave_others(node):
    _code, output, _rules, started = node(ROLE, hosts="node,other", cgroup="0::/user.slice/session-3.scope\n")
    assert started == 1 and output.count("neither a unit nor a pod runs") >= 2, output
    assert "no further node is changed" not in " ".join(output.split()), output


@needs_mounts
def test_the_second_family_of_an_old_kube_proxy_is_waited_for(node):
    code, output, rules, started = node(ROLE, late=True, place=OLD, flushed=["iptables", "ip6tables"])
    assert (code, started) == (0, 2) and rules > 0, output
