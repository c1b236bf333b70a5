# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/kube, and the evidence of each; the programs of a tree run in a live look."""

import pytest
import looks
from fake_tools import LIVE, ToolNode
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_process import process_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kubelet import collect_kubelet
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import find_processes


def process(tree, _place, alone=True):
    """A kube-proxy as a process, and the status of each source."""
    host = ToolNode(tree)
    statuses, found = process_of(host, find_processes(host, ("kube-proxy",))[1][0], {10249}, alone)
    return dict(found, statuses=statuses)


LOOKS = {"process": process, "live_kubelet": lambda tree, _place: collect_kubelet(ToolNode(tree), LIVE),
         "live_kube_proxy": lambda tree, _place: collect_kube_proxy(ToolNode(tree), LIVE)}


@pytest.mark.parametrize("case", looks.cases("kube"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, LOOKS)
