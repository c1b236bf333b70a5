# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an OOM kill was within a day, of what the kernel counts."""

import pytest

from fake_tools import ToolNode
import node_tree
from node_manifests import DEBIAN, merged, process

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.cgroup import resources_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import find_processes

POD = "kubepods.slice/kubepods-pod1.slice"
FOLDER = "sys/fs/cgroup/%s/cri-containerd-1.scope/" % POD


def look(tmp_path, in_pod, since_start, age, restarts, first_age=None):
    """A process of `age` seconds in a container whose first process has `first_age`."""
    tree = node_tree.unpack(merged(
        DEBIAN, {"proc/uptime": "1000000.00 1.00\n", "proc/500/cgroup": "0::/%s/cri-containerd-1.scope\n" % POD,
                 FOLDER + "memory.current": "5\n", FOLDER + "memory.events": "oom_kill %d\n" % since_start,
                 "sys/fs/cgroup/%s/memory.events" % POD: "oom_kill %d\n" % in_pod,
                 FOLDER + "cgroup.procs": "400\n500\n"},
        process(500, "calico-node", ("calico-node",), start_time=str(100 * (1000000 - age))),
        process(400, "runsv", ("runsv",), start_time=str(100 * (1000000 - (first_age or age))))), tmp_path)
    host = ToolNode(tree)
    return resources_of(host, find_processes(host, ("calico-node",))[1][0], restarts)[1]["oom_killed_recently"]


@pytest.mark.parametrize("counted, recently", [
    ((0, 0, 600, 3), False),  # Never.
    ((1, 0, 600, 1), True), ((3, 0, 600, 2), True),  # Each restart was one; a kill may end two processes.
    ((1, 0, 600, 2), None), ((1, 0, 600, None), None),  # The last restart may have another reason.
    ((1, 0, 600, 0), False),  # Another container of the pod.
    ((3, 0, 90000, 3), False),  # Long ago.
    ((1, 1, 600, 0), True), ((1, 1, 90000, 0), None),  # A child; the kernel does not keep when.
    ((1, 1, 600, 0, 900000), None), ((1, 0, 600, 1, 900000), False),  # runit started the agent again.
])
def test_recent_kills(counted, recently, tmp_path):
    assert look(tmp_path, *counted) is recently
