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
import pytest
from node_processes import needs_mounts, python_path

NODE = """\
import json, pathlib, re, socket, subprocess, sys, threading
import kube_captures, kube_proxy_captures
place, folder = ("iptables-mode/kube-proxy-1.36.3/nft/small", ""), pathlib.Path(sys.argv[1])
POD = "0::/kubepods.slice/kubepods-podd0a1b2c3_1111_2222_3333_444455556666.slice/crio-%s.scope\\n" % ("ab" * 32)

def kube_proxy():
    pathlib.Path("/proc/self/comm").write_text("kube-proxy")
    if not (folder / "broken").exists():
        for name in ("iptables", "ip6tables"):
            text = kube_captures.packed()[place[0]][place[1]][name + "-save-c.txt"]
            subprocess.run([name + "-nft-restore", "-c"], check=True,
                           input=re.sub(b"-m nfacct --nfacct-name +[a-z_]+ ", b"", text))
    answers = kube_proxy_captures.replay(*place)

    def serve(server):
        while True:
            caller = server.accept()[0]
            path = caller.recv(65536).decode("ascii").split(" ")[1]
            caller.sendall(b"".join(answers.get(path, (b"HTTP/1.0 404 Not Found\\r\\n\\r\\n",))))
            caller.close()

    servers = [socket.create_server(("127.0.0.1", port)) for port in (10249, 10256)]
    print("ready", flush=True)
    for server in servers:
        threading.Thread(target=serve, args=(server,)).start()

def start():
    child = subprocess.Popen([sys.executable, __file__, str(folder), "kube-proxy"], stdout=subprocess.PIPE)
    (folder / "cgroup").write_text(POD)
    subprocess.check_call(["mount", "--bind", str(folder / "cgroup"), "/proc/%d/cgroup" % child.pid])
    child.stdout.readline()
    return child

def kubelet():
    pathlib.Path("/proc/self/comm").write_text("kubelet")
    while True:
        child = start()
        print(child.pid, flush=True)
        child.wait()

def run():
    subprocess.check_call(["ip", "link", "set", "lo", "up"])
    keeper = subprocess.Popen([sys.executable, __file__, str(folder), "kubelet"], stdout=subprocess.PIPE)
    keeper.stdout.readline()
    subprocess.check_call(["iptables-nft", "-w", "5", "-t", "nat", "-F"])
    done = subprocess.run(json.loads(sys.argv[2]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    rules = subprocess.check_output(["iptables-nft-save", "-t", "nat"], universal_newlines=True)
    print(json.dumps([done.returncode, done.stdout, rules.count("-A KUBE-")]), flush=True)

{"kube-proxy": kube_proxy, "kubelet": kubelet}.get(sys.argv[2], run)()
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


@pytest.fixture
def node(tmp_path):
    """[exit code, output, rules of kube-proxy in nat] of PLAY on a node that was flushed."""
    (tmp_path / "node.py").write_text(NODE, encoding="utf-8")
    (tmp_path / "play.yml").write_text(PLAY % tmp_path, encoding="utf-8")
    command = [sys.executable, "-m", "ansible", "playbook", str(tmp_path / "play.yml"), "-i", "node,", "-c", "local",
               "-e", json.dumps({"ansible_python_interpreter": sys.executable, "node_assess_place": "live"})]
    return lambda: json.loads(subprocess.run(
        ["unshare", "-npfm", "--mount-proc", "--kill-child", sys.executable, str(tmp_path / "node.py"), str(tmp_path),
         json.dumps(command)], stdout=subprocess.PIPE, universal_newlines=True, check=True,
        env=dict(os.environ, PYTHONPATH=python_path(), ANSIBLE_COLLECTIONS_PATH=str(fleets.TOP / ".build"),
                 ANSIBLE_NOCOLOR="1", ANSIBLE_HOME=str(tmp_path / "home"))).stdout)


@needs_mounts
def test_a_flush_is_mended_and_rules_that_do_not_come_back_fail_the_host(node):
    code, output, rules = node()
    assert "signal: True, False" in output and "314 rules are back" in output, output
    assert (code, rules) == (2, 0), output
    assert "does not prove that its rules are back; no other node is restarted" in " ".join(output.split()), output
