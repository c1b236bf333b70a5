# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/units, and the units in each."""

import pytest
import looks
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units import order
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.units import Units

FIELDS = ("name", "path", "aliases", "masked", "refused", "drop_ins", "unread", "broken")


def asked(units, name):
    unit = units.unit(name)
    row = {"found": unit is not None, "state": units.state(name), "boot": units.starts_at_boot(name),
           "activated_by": [[each.name, each.kind, list(each.when)] for each in units.activated_by(name)]}
    row.update((field, getattr(unit, field)) for field in FIELDS if unit)
    lines = unit.exec_lines() if unit else []
    return dict(row, keys=[line.key for line in lines], argv=[line.argv() for line in lines])


def look(tree, place, units=("a.service",), before=()):
    """The state of units, and whether the first of each pair starts before the second."""
    found = Units(Host(tree), {"place": place})
    answers = {name: asked(found, name) for name in units}
    answers.update(("<".join(pair), order.ordered_before(found, *pair)) for pair in before)
    return dict(answers, names=found.names(), status=found.status)


@pytest.mark.parametrize("case", looks.cases("units"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, {"units": look})
