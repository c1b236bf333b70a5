# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/conntrack, and the evidence of each."""

import pytest
import looks
from conntrack_node import looked_at
from fake_tools import ToolNode
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.sysctl_boot import SysctlBoot


def live(tree, _place, **asked):
    """The section of a node whose programs run, and `ran`: the ones that ran."""
    host = ToolNode(tree)
    return dict(looked_at(host, asked), ran=host.ran)


def sysctl_boot(tree, _place, loader="systemd"):
    found = SysctlBoot(Host(tree), loader)
    answer = found.assignment("net/netfilter/nf_conntrack_max")
    return {"value": answer and answer.value, "where": answer and answer.where, "status": found.status,
            "masked": found.masked}


@pytest.mark.parametrize("case", looks.cases("conntrack"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, {"live_conntrack": live, "sysctl_boot": sysctl_boot})
