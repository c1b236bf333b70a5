# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an OOM kill was within a day, of what the kernel counts."""

import node_tree
import pytest
from fake_tools import ToolNode
from node_manifests import DEBIAN, merged, process

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.containers import resources_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import find_processes

ID = "5eed" * 16
POD = "kubepods.slice/kubepods-pod1.slice"
FOLDER = "sys/fs/cgroup/%s/cri-containerd-1.scope/" % POD


def events(kills):
    return "oom 0\n" if kills is None else "oom_kill %d\n" % kills


def look(tmp_path, in_pod, since_start, age, restarts, first_age=None):
    """A process of `age` seconds in a container whose first process has `first_age`."""
    tree = node_tree.unpack(merged(
        DEBIAN, {"proc/uptime": "1000000.00 1.00\n", "proc/500/cgroup": "0::/%s/cri-containerd-1.scope\n" % POD,
                 FOLDER + "memory.current": "5\n", FOLDER + "memory.events": events(since_start),
                 "sys/fs/cgroup/%s/memory.events" % POD: events(in_pod),
                 FOLDER + "cgroup.procs": "400\n500\n"},
        process(500, "calico-node", ("calico-node",), start_time=str(100 * (1000000 - age))),
        process(400, "runsv", ("runsv",), start_time=str(100 * (1000000 - (first_age or age))))), tmp_path)
    host = ToolNode(tree)
    return resources_of(host, find_processes(host, ("calico-node",))[1][0], restarts)[1]["oom_killed_recently"]


@pytest.mark.parametrize("counted, recently", [
    ((0, 0, 600, 3), False), ((None, None, 600, 0), None),  # Never; a kernel that does not count.
    ((1, 0, 600, 1), True), ((3, 0, 600, 2), True),  # Each restart was one; a kill may end two processes.
    ((1, 0, 600, 2), None), ((1, 0, 600, None), None),  # The last restart may have another reason.
    ((1, 0, 600, 0), False),  # Another container of the pod.
    ((3, 0, 90000, 3), False),  # Long ago.
    ((1, 1, 600, 0), True), ((1, 1, 90000, 0), None),  # A child; the kernel does not keep when.
    ((1, 1, 600, 0, 900000), None), ((1, 0, 600, 1, 900000), False),  # runit started the agent again.
])
def test_recent_kills(counted, recently, tmp_path):
    assert look(tmp_path, *counted) is recently


@pytest.mark.parametrize("kills, restarts, age, recently", [
    (0, 0, 600, False), (0, 90, 90000, False), (0, 1, 600, None), (0, None, 600, False), (2, 1, 600, True)])
def test_version_1_forgets_the_kills_of_the_container_before(kills, restarts, age, recently, tmp_path):
    folder = "sys/fs/cgroup/memory/kubepods/pod1/%s/" % ID
    tree = node_tree.unpack(merged(
        DEBIAN, {"proc/uptime": "1000000.00 1.00\n", "proc/500/cgroup": "5:memory:/kubepods/pod1/%s\n" % ID,
                 folder + "memory.usage_in_bytes": "5\n",
                 folder + "memory.oom_control": "oom_kill_disable 0\noom_kill %d\n" % kills},
        process(500, "calico-node", ("calico-node",), start_time=str(100 * (1000000 - age)))), tmp_path)
    host = ToolNode(tree)
    found = resources_of(host, find_processes(host, ("calico-node",))[1][0], restarts)[1]
    assert found["oom_killed_recently"] is recently


def test_the_limits_of_crun_are_above_the_group_of_its_processes(tmp_path):
    pod, scope = "sys/fs/cgroup/" + POD, "sys/fs/cgroup/%s/crio-%s.scope" % (POD, ID)
    tree = node_tree.unpack(merged(
        DEBIAN, {"proc/uptime": "1000000.00 1.00\n", "proc/500/cgroup": "0::/%s/crio-%s.scope/container\n" % (POD, ID),
                 scope + "/memory.current": "50\n", scope + "/memory.max": "100\n",
                 scope + "/memory.events": "oom_kill 0\n", pod + "/memory.events": "oom_kill 1\n",
                 scope + "/container/memory.current": "50\n", scope + "/container/memory.max": "max\n",
                 scope + "/container/memory.events": "oom_kill 0\n", scope + "/container/cgroup.procs": "400\n500\n"},
        process(500, "calico-node", ("calico-node",), start_time="99940000"),
        process(400, "runsv", ("runsv",), start_time="99930000")), tmp_path)
    host = ToolNode(tree)
    found = resources_of(host, find_processes(host, ("calico-node",))[1][0], 1)[1]
    assert (found["memory_limit_bytes"], found["memory_percent"], found["oom_kills"],
            found["oom_killed_recently"]) == (100, 50.0, 1, True)
