# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of pods and containers for processes."""

import calendar

import pytest
import node_tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.containers import Containers, restarts_of, who

UID, ID = "a5c1f8d5-1919-434d-add7-4afaafdaef89", "5eed917563583" + "0" * 51
GROUP = "0::/kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope\n" % (UID.replace("-", "_"), ID)
LOGS = {"var/log/pods/kube-system_kube-proxy-x_" + UID: node_tree.DIRECTORY,
        "var/log/containers/kube-proxy-x_kube-system_kube-proxy-%s.log" % ID: node_tree.link("/nowhere")}


def of(cgroup, tmp_path, logs):
    manifest = dict(logs, **{"proc/7/cgroup": cgroup, "proc/8/cgroup": "0::/init.scope\n"})
    return Containers(Host(node_tree.unpack(manifest, tmp_path)))


KNOWN = {"id": "5eed917563583", "name": "kube-proxy", "pod": "kube-proxy-x", "namespace": "kube-system",
         "pod_uid": UID}
NAMELESS = dict.fromkeys(("name", "pod", "namespace", "pod_uid"))
IN_POD = "x in pod kube-system/kube-proxy-x"


@pytest.mark.parametrize("cgroup, logs, container, named", [
    (GROUP, LOGS, KNOWN, IN_POD),
    (GROUP, {path: content for path, content in LOGS.items() if "containers" in path}, KNOWN, IN_POD),
    (GROUP, {}, dict(NAMELESS, id="5eed917563583", pod_uid=UID), "x in the pod with UID " + UID),
    ("1:cpu:/docker/%s\n" % ("9" * 64), LOGS, dict(NAMELESS, id="9" * 13), "x in container 9999999999999"),
], ids=["all is known", "the link of the container alone", "no logs", "no pod"])
def test_a_container(cgroup, logs, container, named, tmp_path):
    found = of(cgroup, tmp_path, logs).of(7)
    assert found == container and who("x", found) == named


def test_no_container(tmp_path):
    containers = of(GROUP, tmp_path, LOGS)
    assert containers.of(8) is None and containers.of(9) is None and who("kubelet", None) == "kubelet"


# Restarts of containers.

CONTAINER = {"namespace": "kube-system", "pod": "calico-node-x", "pod_uid": "a5", "name": "calico-node"}
FOLDER = "var/log/pods/kube-system_calico-node-x_a5/calico-node/"
NOW = calendar.timegm((2026, 11, 23, 8, 0, 0))
LINE = "2026-11-23T%s stdout F {}\n"


def look(tmp_path, *containers, **logs):
    container, = containers or [CONTAINER]
    files = {FOLDER + name.strip("_").replace("_", "."): text for name, text in logs.items()}
    return restarts_of(Host(node_tree.unpack(dict(files, etc=node_tree.DIRECTORY), tmp_path)), container, NOW)


@pytest.mark.parametrize("text, seconds", [
    (LINE % "07:50:00.123456789Z", 600), (LINE % "09:50:00.123456789+02:00", 600),
    (LINE % "02:20:00-05:30", 600), (LINE % "07:50:00Z" + "x" * 100000, 600), (LINE % "09:50:00Z", None),
    (LINE % "07:99:00Z", None), ('{"log": "x"}\n', None), ("", None), (node_tree.FIFO, None),
])
def test_the_start_of_the_container_before_it(text, seconds, tmp_path):
    assert look(tmp_path, _6_log=text, _7_log="") == (7, seconds)


@pytest.mark.parametrize("logs, restarts", [({"_0_log": ""}, 0), ({"_7_log": "", "readme": ""}, 7), ({}, None),
                                            ({"_7_log_20261123_gz": ""}, None)])
def test_the_restarts(logs, restarts, tmp_path):
    assert look(tmp_path, **logs) == (restarts, None)


def test_the_first_line_after_a_rotation_is_not_that_of_the_start(tmp_path):
    line = LINE % "07:50:00Z"
    assert look(tmp_path, _6_log=line, _7_log="", **{"6.log.20261123-070000": "x"}) == (7, None)


@pytest.mark.parametrize("container", [None, dict(CONTAINER, pod=None), dict(CONTAINER, name=None)])
def test_a_process_of_no_pod(container, tmp_path):
    assert look(tmp_path, container, _6_log="", _7_log="") == (None, None)
