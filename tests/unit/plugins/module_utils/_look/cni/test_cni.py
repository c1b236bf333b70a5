# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni of large files, the past of an agent, and the networks a node is in; the rest is in
tests/looks/cni."""

import json

import pytest
import node_tree
from cni_leases import FOLDER
from node_manifests import DEBIAN, merged, process, running
from node_processes import in_own_network, needs_root
from node_sections import collect_sections
from pod_networks import BRIDGE, pods


def look(tree, place="image"):
    return collect_sections(["cni"], tree, place)["node_cni"]


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


def test_the_past_of_an_agent(tmp_path):
    pod, logs = "kubepods/pod" + UID, "var/log/pods/kube-system_calico-node-x_%s/calico-node/" % UID
    found = look(node_tree.unpack(merged(DEBIAN, {
        "proc/1/comm": "systemd\n", "etc/cni/net.d/10-x.conflist": conf("calico"), "proc/uptime": "1000.0 1\n",
        "proc/31/cgroup": "0::/%s/%s\n" % (pod, ID), "sys/fs/cgroup/%s/%s/memory.current" % (pod, ID): "5\n",
        "sys/fs/cgroup/%s/%s/memory.events" % (pod, ID): "oom_kill 0\n",
        "sys/fs/cgroup/%s/memory.events" % pod: "oom_kill 2\n", logs + "1.log": "2020-01-01T00:00:00Z x",
        logs + "2.log": "", "var/log/containers/calico-node-x_kube-system_calico-node-%s.log" % ID: ""},
        process(31, "calico-node", ("calico-node",), start_time="90000")), tmp_path), "live")["agent"]
    assert (found["restarts"], found["oom_kills"], found["oom_killed_recently"], found["process"]) == (
        2, 2, True, "calico-node in pod kube-system/calico-node-x")
    assert found["previous_started_seconds_ago"] > 1e6


@pytest.mark.parametrize("files, running, attached", [
    ({}, True, 2), ({}, False, 0), ({"etc/cni/net.d/10-x.conflist": conf("bridge")}, True, None)])
def test_pods_on_a_node_without_a_configuration(files, running, attached, tmp_path):
    macvlan = [dict(BRIDGE, type="macvlan", ipMasq=False)]
    tree = node_tree.unpack(merged(DEBIAN, pods([1, 2], plugins=macvlan, running=running), files), tmp_path)
    assert look(tree, "live")["attached"] == attached


@pytest.mark.parametrize("name, agent, runs, running", [
    ("kindnet", "kindnetd", True, True), ("kindnet", "kindnetd", False, False), ("pods", None, True, None)])
def test_the_agent_of_kindnet(name, agent, runs, running, tmp_path):
    config = json.dumps({"name": name, "plugins": [{"type": "ptp", "ipMasq": False}]})
    tree = node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/10-kindnet.conflist": config, "proc/uptime": "9000.0 1.0\n"},
                                   process(700, "kindnetd", ("/bin/kindnetd",)) if runs else {}), tmp_path)
    found = look(tree, "live")["agent"]
    assert (found and (found["name"], found["running"])) == (agent and (agent, running))


# The networks a node is in.

NETWORKS = """ip link set lo up
for name in eth0 cni0 docker0; do ip link add $name type bridge; ip link set $name up; done
ip addr add 10.0.2.15/24 dev eth0; ip addr add 10.244.1.1/24 dev cni0; ip addr add 172.17.0.1/16 dev docker0
ip addr add 169.254.3.4/16 dev eth0; ip route add default via 10.0.2.1; ip route add 10.244.2.0/24 via 10.0.2.3
ip route add 10.244.1.7/32 dev cni0; ip -6 addr add fd00:1::15/64 dev eth0 nodad
ip -6 addr add fd00:10:244:1::1/64 dev cni0 nodad; ip -6 route add default via fd00:1::1"""


@needs_root
def test_only_what_is_behind_a_default_route():
    section = in_own_network(lambda: look("/", "live"), "set -e; " + NETWORKS)
    assert section["collected"]["routes"] == "ok"
    assert section["node_networks"] == [{"family": "ipv4", "network": "10.0.2.0/24", "interface": "eth0"},
                                        {"family": "ipv6", "network": "fd00:1::/64", "interface": "eth0"}]


def line(network, gateway="00000000", mask="00FFFFFF", interface="eth0"):
    return "%s\t%s\t%s\t%s\t0\t0\t0\t%s\t0\t0\t0\n" % (interface, network, gateway,
                                                       "0001" if gateway == "00000000" else "0003", mask)


DEFAULT = line("00000000", "0102A8C0", "00000000")


@pytest.mark.parametrize("files, status, number", [
    ({}, "absent", 0), ({"proc/net/route": ""}, "ok", 0), ({"proc/net/route": line("0002A8C0")}, "ok", 0),
    ({"proc/net/route": DEFAULT}, "ok", 0),
    ({"proc/net/route": DEFAULT + "".join(line("00%02XA8C0" % number) for number in range(50))}, "ok", 8),
    ({"proc/net/route": node_tree.FIFO}, "unparsed", 0),
    ({"proc/net/route": node_tree.sparse(1 << 33)}, "unparsed", 0)])
def test_files_of_a_tree(files, status, number, tmp_path):
    section = look(node_tree.unpack(merged(DEBIAN, running("6.1.0"), files), tmp_path), "live")
    assert (section["collected"]["routes"], len(section["node_networks"])) == (status, number)


def test_many_leases_are_bounded(tmp_path):
    wide = {"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/8"}]] * 20}
    files = {"%s10.0.%d.%d" % (FOLDER, number // 250, number % 250): "x" for number in range(1, 4200)}
    files["etc/cni/net.d/10-x.conflist"] = json.dumps({"name": "pods", "plugins": [{"type": "bridge", "ipam": wide}]})
    containerd = {"proc/1/comm": "systemd\n", "proc/9/comm": "containerd\n", "proc/9/cmdline": "containerd\0",
                  "var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/x/y": ""}
    tree = node_tree.unpack(dict(DEBIAN, **files, **containerd), tmp_path)
    rows = look(tree, "live")["host_local"]
    assert len(rows) == 8 and {(row["leased"], row["unchecked"]) for row in rows} == {(4199, 103)}
