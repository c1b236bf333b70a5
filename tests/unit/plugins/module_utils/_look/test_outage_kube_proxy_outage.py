# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node shows of a kube-proxy that does not run, and of programs that replace it."""

import os
import time

import pytest
import node_tree
from fake_tools import LIVE, ToolNode, script
from node_manifests import DEBIAN, merged, process
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.outage import outage_of_running, with_last_kill

ID, UID = "5eed" * 16, "a5c1f8d5-1111-2222-3333-444455556666"
POD = "var/log/pods/kube-system_kube-proxy-x_%s" % UID
STATE = "var/lib/containerd/io.containerd.grpc.v1.cri/containers/%s/status" % ID
LINE = ("2026-11-25T22:33:20.1Z stderr F E1125 22:33:20.1 1 run.go:74] \"command failed\" "
        "err=\"password=hunter2 no iptables\"\n")
OLD, NOW = 9000, int(time.time())


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A slow machine does not make the ages of a tree grow."""
    monkeypatch.setattr(time, "time", lambda: float(NOW))


def started(seconds_ago):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ stderr F start\n", time.gmtime(NOW - seconds_ago))


def container(ended, restarts=0, code=1, reason="Error", before=3000):
    """A container that ended so many seconds ago; the one before it started `before` seconds ago."""
    files = {"%s/kube-proxy/%d.log" % (POD, restarts): LINE,
             STATE: '{"Version":"v1","StartedAt":%d000000000,"FinishedAt":%d000000000,"ExitCode":%d,"Reason":"%s"}' % (
                 NOW - ended - 1, NOW - ended, code, reason),
             "var/log/containers/kube-proxy-x_kube-system_kube-proxy-%s.log" % ID:
                 node_tree.link("/%s/kube-proxy/%d.log" % (POD, restarts))}
    if restarts:
        files["%s/kube-proxy/%d.log" % (POD, restarts - 1)] = started(before)
    return files


def node(tmp_path, *trees, **options):
    """A live node with containerd, in whose folder of logs no pod came or went for `age` seconds."""
    tree = merged(DEBIAN, {"proc/uptime": "90000.00 1.00\n", "var/log/pods": node_tree.DIRECTORY},
                  process(400, "containerd", ["/usr/bin/containerd"]), process(500, "kubelet", ["/usr/bin/kubelet"]),
                  *trees)
    root = str(node_tree.unpack(tree, tmp_path))
    for folder, _folders, _files in os.walk(root + "/var/log/pods", topdown=False):
        os.utime(folder, (NOW - options.get("age", OLD),) * 2)
    if os.path.exists(root + "/var/lib/kubelet/pods"):
        os.utime(root + "/var/lib/kubelet/pods", (NOW - OLD,) * 2)
    return ToolNode(root)


@pytest.mark.parametrize("trees, age, state, seconds, words", [
    ([], OLD, "missing", OLD, "holds no pod with a container kube-proxy"),
    ([], 5, "short", 5, "holds no pod with a container kube-proxy"),
    ([{"var/lib/kubelet/pods": node_tree.DIRECTORY}], 5, "missing", OLD, "no pod came or went since"),
    ([{"var/lib/kubelet/pods": node_tree.DIRECTORY}, process(500, "kubelet", ["kubelet", "--root-dir=/k"])], 5, "short",
     5, "holds no pod"),
    ([container(300)], OLD, "missing", 300, "exit code 1 (Error), 0 restarts; its last lines:"),
    ([container(20)], OLD, "short", 20, "kube-system/kube-proxy-x"),
    ([container(300)], 30, "short", 30, "kube-system/kube-proxy-x"),
    ([container(20, 12, before=300)], OLD, "restarting", 20, "ended 20 s ago, exit code 1 (Error), 12 restarts"),
    ([container(20, 2, before=300)], OLD, "short", 20, ""), ([container(20, 12, before=9000)], OLD, "short", 20, ""),
    ([container(20, 12, 0, "Completed", 300)], OLD, "short", 20, ""),
    ([container(20, 12, before=300), {"proc/uptime": "600.00 1.00\n"}], OLD, "short", 20, ""),
    ([container(300), {STATE: "not JSON"}], OLD, "unknown", None, "could not be read"),
    ([{POD + "/.keep": ""}], OLD, "missing", OLD, "has never had a container"),
    ([{"var/log/pods/default_kube-proxy-x_%s/kube-proxy/0.log" % UID: LINE}], OLD, "missing", OLD, "holds no pod"),
    ([process(600, "hyperkube", ["/hyperkube", "kube-proxy"])], OLD, "unknown", OLD, "process 600 (hyperkube)"),
    ([process(600, "dockerd", ["dockerd"])], OLD, "unknown", OLD, "Docker runs here"),
    ([process(600, "kube-ovn-daemon", ["kube-ovn-daemon"])], OLD, "unknown", OLD, "kube-ovn-daemon runs"),
    ([process(600, "cilium-agent", ["cilium-agent"])], OLD, "unknown", OLD, "cilium-agent runs"),
    ([process(600, "cilium-agent", ["cilium-agent", "--kube-proxy-replacement=false"])], OLD, "missing", OLD, ""),
    ([process(600, "kube-router", ["kube-router", "--run-service-proxy=false"])], OLD, "missing", OLD, ""),
    ([process(600, "calico-node", ["calico-node", "-felix"]), {"proc/600/environ": "PATH=/bin\0"}], OLD, "missing",
     OLD, ""),
    ([process(600, "calico-node", ["calico-node", "-felix"])], OLD, "unknown", OLD, "calico-node runs"),
])
def test_a_node_without_kube_proxy(trees, age, state, seconds, words, tmp_path):
    section = collect_kube_proxy(node(tmp_path, *trees, age=age), LIVE)
    outage = section["outage"]
    assert (section["running"], section["replaced_by"], outage["state"]) == (False, None, state)
    assert words in outage["because"] and "hunter2" not in str(section)
    assert outage["seconds"] is None if seconds is None else abs(outage["seconds"] - seconds) < 2


@pytest.mark.parametrize("trees", [
    [process(600, "cilium-agent", ["cilium-agent", "--kube-proxy-replacement=true"])],
    [process(600, "cilium-agent", ["cilium-agent"]), {"tmp/cilium/config-map/kube-proxy-replacement": "strict"}],
    [process(600, "kube-router", ["kube-router", "--run-router=true"])],
    [process(600, "ovnkube", ["ovnkube"])],
    [process(600, "calico-node", ["calico-node"]), {"sys/fs/bpf/tc/globals/cali_v4_nat_fe3": ""}],
    [process(600, "calico-node", ["calico-node"]), {"proc/600/environ": "FELIX_BPFENABLED=true\0"}],
    [process(600, "antrea-agent", ["antrea-agent"]),
     {"etc/antrea/antrea-agent.conf": "antreaProxy:\n  proxyAll: true\n"}],
])
def test_programs_that_replace_it(trees, tmp_path):
    section = collect_kube_proxy(node(tmp_path, container(300), *trees), LIVE)
    assert (section["replaced_by"], section["outage"]) == (trees[0]["proc/600/comm"].strip(), None)


def test_the_unit_of_kube_proxy(tmp_path):
    show = script("printf '%s\\n' ActiveState=failed ExecMainStatus=1 InactiveEnterTimestampMonotonic=1 NRestarts=5 "
                  "Result=exit-code")
    unit = {"etc/systemd/system/kube-proxy.service": "", "usr/bin/systemctl": show}
    outage = collect_kube_proxy(node(tmp_path, unit, age=5), LIVE)["outage"]
    assert (outage["state"], outage["because"]) == (
        "missing", "kube-proxy.service is failed (exit-code, exit code 1, 5 restarts)")


CONTAINER = {"id": ID[:13], "name": "kube-proxy", "pod": "kube-proxy-x", "namespace": "kube-system", "pod_uid": UID}


@pytest.mark.parametrize("restarts, age, loops", [
    (12, 2.0, True), (12, 700.0, False), (2, 2.0, False), (None, 2.0, False)])
def test_one_that_runs(restarts, age, loops, tmp_path):
    found = outage_of_running(node(tmp_path, container(20, 12, before=300)), LIVE, CONTAINER, restarts, age)
    assert (found is not None and found["state"] == "restarting") == loops


def killed(kills, recently):
    return {"oom_kills": kills, "oom_killed_recently": recently}


@pytest.mark.parametrize("trees, before, after", [
    ([container(90, 4, 137, "OOMKilled")], killed(0, None), killed(1, True)),
    ([container(90, 1)], killed(0, None), killed(0, False)), ([container(90, 4)], killed(0, None), killed(0, None)),
    ([container(90000, 4, 137, "OOMKilled")], killed(3, None), killed(3, False)),
    ([container(90, 1), {STATE: "not JSON"}], killed(0, None), killed(0, None)),
    ([container(90, 1, 137, "OOMKilled")], killed(0, False), killed(0, False)), ([], None, None)])
def test_the_last_oom_kill(trees, before, after, tmp_path):
    assert with_last_kill(node(tmp_path, *trees), LIVE, CONTAINER, before, NOW) == after
