# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy."""

import json
import os
import subprocess
import sys

import pytest

import node_tree
from node_manifests import DEBIAN, merged, process, running
from node_processes import needs_mounts, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect.node import collect_sections

TOOLS = {"usr/sbin/iptables": node_tree.executable(), "usr/sbin/conntrack": node_tree.executable(), "usr/sbin/nft": "not executable"}
CONFIG = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: %s\nipvs:\n  scheduler: %s\n"


def look(manifest, tmp_path, place="live"):
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), TOOLS, manifest), tmp_path)
    return collect_sections(["kube_proxy"], tree, place)["node_kube_proxy"]


def proxy(*arguments, **fields):
    return process(500, "kube-proxy", ("/usr/bin/kube-proxy",) + arguments, **fields)


@pytest.mark.parametrize("arguments, mode, source, scheduler", [
    ((), "iptables", "the default: nothing else is configured", None),
    (("--proxy-mode=nftables",), "nftables", "--proxy-mode", None),
    (("--proxy-mode", "ipvs"), "ipvs", "--proxy-mode", "rr"),
    (("--proxy-mode=ipvs", "--ipvs-scheduler=sh"), "ipvs", "--proxy-mode", "sh"),
    (("--proxy-mode=userspace",), None, None, None),
    (("--proxy-mode=\x1b[31m",), None, None, None),
    (("--config=/var/lib/kube-proxy/config.conf",), "ipvs", "mode in /var/lib/kube-proxy/config.conf", "wrr"),
    (("--config=/var/lib/kube-proxy/config.conf", "--proxy-mode=nftables"), "ipvs", "mode in /var/lib/kube-proxy/config.conf", "wrr"),
    (("--config=/none",), None, None, None),
])
def test_a_process_of_the_node(arguments, mode, source, scheduler, tmp_path):
    section = look(merged(proxy(*arguments), {"var/lib/kube-proxy/config.conf": CONFIG % ("ipvs", "wrr")}), tmp_path)
    assert (section["mode"], section["mode_source"], section["ipvs_scheduler"]) == (mode, source, scheduler)
    assert (section["running"], section["runs_in"], section["tools_root"]) == (True, "host", "/")
    assert (section["tools"]["iptables"], section["tools"]["conntrack"], section["tools"]["nft"]) == ("present", "present", "absent")


@pytest.mark.parametrize("content, status", [("no configuration", "unparsed"), (node_tree.FIFO, "unparsed"), (None, "absent"), (b"\xff\x00", "unparsed")])
def test_a_configuration_that_cannot_be_read(content, status, tmp_path):
    section = look(merged(proxy("--config=/c"), {"c": content}), tmp_path)
    assert (section["mode"], section["collected"]["config"]) == (None, status)


def test_a_root_that_cannot_be_compared(tmp_path):
    section = look(proxy("--proxy-mode=ipvs", root=None), tmp_path)
    assert (section["running"], section["runs_in"], section["mode"]) == (True, None, "ipvs")
    assert set(section["tools"].values()) == {"unknown"}


def test_a_container_of_a_tree_is_not_entered(tmp_path):
    section = look(merged(proxy("--config=/c", root="/var/c"), {"var/c/c": CONFIG % ("ipvs", "")}), tmp_path)
    assert (section["mode"], set(section["tools"].values())) == (None, {"unknown"})


@pytest.mark.parametrize("comm, extra, mode", [
    ("k3s-server", {}, "iptables"),
    ("k3s-server", {"etc/rancher/k3s/config.yaml": 'kube-proxy-arg:\n  - "proxy-mode=ipvs"\n'}, "ipvs"),
    ("k3s-agent", {"etc/rancher/k3s/config.yaml": b"\xff\x00"}, "iptables"),
    ("kubelite", {"var/snap/microk8s/current/args/kube-proxy": "--proxy-mode=nftables\n"}, "nftables"),
])
def test_inside_another_program(comm, extra, mode, tmp_path):
    section = look(merged(process(500, comm, [comm]), extra), tmp_path)
    assert (section["running"], section["runs_in"], section["mode"]) == (True, "embedded", mode)


def test_none_runs(tmp_path):
    section = look({}, tmp_path)
    assert (section["running"], section["mode"], section["runs_in"]) == (False, None, None)
    assert look(proxy(), tmp_path / "image", "image")["running"] is False


def test_a_zombie_is_not_running(tmp_path):
    assert look(proxy(state="Z"), tmp_path)["running"] is False


# In a pid namespace of its own nobody else's kube-proxy is seen.
SCRIPT = """\
import json, os, sys, time
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect.node import collect_sections
root, arguments = sys.argv[1], sys.argv[2:]
receiver, sender = os.pipe()
child = os.fork()
if child == 0:
    program = ("import os, time; open('/proc/self/comm', 'w').write('kube-proxy'); os.chroot(%r); os.chdir('/');"
               "os.write(%d, b'x'); time.sleep(60)" % (root, sender))
    os.set_inheritable(sender, True)
    os.execv(sys.executable, [sys.executable, "-c", program] + arguments)
os.read(receiver, 1)
json.dump(collect_sections(["kube_proxy"], "/", "live")["node_kube_proxy"], sys.stdout)
os.kill(child, 9)
"""


@needs_mounts
def test_a_real_container(tmp_path):
    root = node_tree.unpack({
        "etc/config": CONFIG % ("ipvs", "lc"), "usr/sbin/conntrack": node_tree.executable("#!/bin/sh\ntouch /ran\n"),
        "usr/sbin/iptables": node_tree.FIFO}, tmp_path)
    tool = subprocess.Popen(["unshare", "-pfm", "--mount-proc", sys.executable, "-c", SCRIPT, root, "--config=/etc/config"],
                            stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=python_path()))
    section = json.loads(tool.communicate()[0].decode("utf-8"))
    assert (section["runs_in"], section["mode"], section["ipvs_scheduler"]) == ("container", "ipvs", "lc")
    assert (section["tools"]["conntrack"], section["tools"]["iptables"], section["tools"]["nft"]) == ("present", "unknown", "absent")
    assert section["tools_root"].startswith("/proc/") and not os.path.exists(root + "/ran")
