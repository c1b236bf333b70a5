# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/hooks, and the evidence of each."""

import looks
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.files import by_file
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.rows import UNREPORTED
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.units import HookUnits, unordered, waiting
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.units import Running


def order(tree, place, states=None, silent=False, asked=()):
    """The hooks and their units; `states`: the answer of a running systemd, unless it is silent."""
    host = Host(tree)
    rows = collect_flush_hooks(host, {"place": "image"})["hooks"]
    units = HookUnits(host, {"place": place})
    if not silent:
        units.all.running = lambda names: {name: Running((states or {}).get(name, "inactive"), None) for name in names}
        units.ask_active([row["unit"] for row in rows if row["unit"]])
    return {"hooks": rows, "by_file": by_file([dict(dict.fromkeys(UNREPORTED), **row) for row in rows], units, {}),
            "runs": {name: units.runs(name) for name in asked},
            "unordered": [[row["unit"], row["before"], row["path"]] for row in unordered(rows, units)],
            "waiting": [[row["unit"], row["state"], row["active"]] for row in waiting(rows, units)]}


@pytest.mark.parametrize("case", looks.cases("hooks"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, {"order": order})
