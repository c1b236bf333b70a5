# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that the report of an incident prints is done, and the audit after it is green: tests/incidents."""

import damaged_nodes
import incidents
import mended_nodes
import pytest

ROWS = {row["incident"]: row for row in incidents.incidents()}
RULES = [name for name, row in ROWS.items() if row.get("does") and row["first"]]


@pytest.mark.parametrize("name", RULES)
def test_the_printed_fix_mends_the_rules(name):
    row = ROWS[name]

    def mended(run):
        node = mended_nodes.Node(row, run=run)
        before = node.facts()
        node.mend(before["node_assess_causes"][0]["fix"])
        return [incidents.ids_of(before), incidents.failing_in(node.facts())]

    named, left = damaged_nodes.after(incidents.VERSION, incidents.place_of(row), row["does"], mended)
    assert named[0] == row["first"] and left == []
