# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of pods and containers for processes."""

import pytest

import node_tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.containers import Containers, who

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
