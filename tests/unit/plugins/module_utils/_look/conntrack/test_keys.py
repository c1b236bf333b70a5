# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Predicted sysctls: modules that are loaded late, programs that override sysctl.d, and kube-proxy of every version."""


from conntrack_node import LISTED, MAX_LINE, kube_proxy, kubelet, tracking
from fake_tools import LIVE, unpacked
from node_manifests import merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.conntrack import collect_conntrack
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import identify
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy

RAISED = merged(LISTED, {"etc/sysctl.d/90.conf": MAX_LINE % 1048576})


def test_its_own_version_is_asked_before_kubelet(tmp_path):
    host = unpacked(tmp_path, tracking(RAISED, kube_proxy()))
    own = dict(collect_kube_proxy(host, LIVE), version="1.27.1")
    section = collect_conntrack(host, identify(host, "live"), own, lambda: 1 / 0)
    assert section["kube_proxy"]["versions"] == ["1.27.1"] and section["kube_proxy"]["writes"] == "raises"


def test_kubelet_is_asked_only_where_a_kube_proxy_runs(tmp_path):
    host = unpacked(tmp_path, tracking(kubelet("1.33.1")))
    collect_conntrack(host, identify(host, "live"), collect_kube_proxy(host, LIVE), lambda: 1 / 0)
    assert host.ran == []
