# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/conntrack, and the evidence of each."""

import looks
import pytest
from conntrack_node import looked_at
from fake_tools import ToolNode

LOOKS = {"live_conntrack": lambda tree, _place, **asked: looked_at(ToolNode(tree), asked)}


@pytest.mark.parametrize("case", looks.cases("conntrack"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, LOOKS)
