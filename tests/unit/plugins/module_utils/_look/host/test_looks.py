# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/host, and the evidence of each."""

import pytest
import looks


@pytest.mark.parametrize("case", looks.cases("host"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path)
