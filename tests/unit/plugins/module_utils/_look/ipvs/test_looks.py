# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/ipvs, and the evidence of each; `ip` and `ipset` of a tree run in a live look."""

import pytest
import looks
from fake_tools import ToolNode
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.ipvs import collect_ipvs


def look(tree, place, mode=None, scheduler=None, runs_in="container", no_kube_proxy=False):
    """The section beside a kube-proxy in this mode, and `ran`: the programs that ran."""
    host = ToolNode(tree)
    kube_proxy = {"mode": mode, "ipvs_scheduler": scheduler, "runs_in": runs_in}
    return dict(collect_ipvs(host, {"place": place}, None if no_kube_proxy else kube_proxy), ran=host.ran)


@pytest.mark.parametrize("case", looks.cases("ipvs"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, {"ipvs": look})
