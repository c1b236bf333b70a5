# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni of large files, and the past of an agent; the rest is in tests/looks."""

import json

import node_tree
import pytest
from node_manifests import DEBIAN, merged, process
from node_sections import collect_sections
from pod_networks import BRIDGE, pods


def look(tree):
    return collect_sections(["cni"], tree, "image")["node_cni"]


def conf(*types):
    return json.dumps({"name": "x", "plugins": [{"type": each} for each in types]})


def test_a_file_of_brackets(tmp_path):
    section = look(node_tree.unpack({"etc/cni/net.d/10-x.conf": "[" * 100000}, tmp_path))
    assert (section["name"], section["collected"]["net_d"]) == (None, "unparsed")


def test_many_and_long_names_are_cut(tmp_path):
    section = look(node_tree.unpack({"etc/cni/net.d/1.conf": conf(*["\ud800" + "x" * 5000] * 50)}, tmp_path))
    assert len(section["plugins"]) == 16 and len(json.dumps(section, ensure_ascii=False).encode("utf-8")) < 4096


def test_hundreds_of_files_are_bounded(tmp_path):
    files = {"etc/cni/net.d/%03d.conflist" % number: conf(*["x" * 300] * 40) for number in range(300)}
    section = look(node_tree.unpack(merged(DEBIAN, files), tmp_path))
    assert (len(section["files"]), section["files_left_out"]) == (12, 288)


ID, UID = "5eed" * 16, "a5c1f8d5-1111-2222-3333-444455556666"


def live(tree):
    return collect_sections(["cni"], tree, "live")["node_cni"]["agent"]


def test_the_past_of_an_agent(tmp_path):
    pod, logs = "kubepods/pod" + UID, "var/log/pods/kube-system_calico-node-x_%s/calico-node/" % UID
    found = live(node_tree.unpack(merged(DEBIAN, {
        "proc/1/comm": "systemd\n", "etc/cni/net.d/10-x.conflist": conf("calico"), "proc/uptime": "1000.0 1\n",
        "proc/31/cgroup": "0::/%s/%s\n" % (pod, ID), "sys/fs/cgroup/%s/%s/memory.current" % (pod, ID): "5\n",
        "sys/fs/cgroup/%s/%s/memory.events" % (pod, ID): "oom_kill 0\n",
        "sys/fs/cgroup/%s/memory.events" % pod: "oom_kill 2\n", logs + "1.log": "2020-01-01T00:00:00Z x",
        logs + "2.log": "", "var/log/containers/calico-node-x_kube-system_calico-node-%s.log" % ID: ""},
        process(31, "calico-node", ("calico-node",), start_time="90000")), tmp_path))
    assert (found["restarts"], found["oom_kills"], found["oom_killed_recently"], found["process"]) == (
        2, 2, True, "calico-node in pod kube-system/calico-node-x")
    assert found["previous_started_seconds_ago"] > 1e6


@pytest.mark.parametrize("files, running, attached", [
    ({}, True, 2), ({}, False, 0), ({"etc/cni/net.d/10-x.conflist": conf("bridge")}, True, None)])
def test_pods_on_a_node_without_a_configuration(files, running, attached, tmp_path):
    macvlan = [dict(BRIDGE, type="macvlan", ipMasq=False)]
    tree = node_tree.unpack(merged(DEBIAN, pods([1, 2], plugins=macvlan, running=running), files), tmp_path)
    assert collect_sections(["cni"], tree, "live")["node_cni"]["attached"] == attached


@pytest.mark.parametrize("name, agent, runs, running", [
    ("kindnet", "kindnetd", True, True), ("kindnet", "kindnetd", False, False), ("pods", None, True, None)])
def test_the_agent_of_kindnet(name, agent, runs, running, tmp_path):
    config = json.dumps({"name": name, "plugins": [{"type": "ptp", "ipMasq": False}]})
    tree = node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/10-kindnet.conflist": config, "proc/uptime": "9000.0 1.0\n"},
                                   process(700, "kindnetd", ("/bin/kindnetd",)) if runs else {}), tmp_path)
    found = live(tree)
    assert (found and (found["name"], found["running"])) == (agent and (agent, running))
