# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that the report of an incident prints is done, and the audit after it is green: tests/incidents."""

import damaged_nodes
import incidents
import looks
import mended_nodes
import node_tree
import pytest

ROWS = {row["incident"]: row for row in incidents.incidents()}
TREES = {case.name.partition(": ")[2]: case for case in looks.cases("incidents")}
RULES = [name for name, row in ROWS.items() if row.get("does") and row["first"] and "undone" not in row]
FILES = [name for name in TREES if name not in RULES]


def mended(row, case, folder, run=None):
    """[the ids of the causes, the findings that fail once the printed fix is done]."""
    tree = {"tree": case.unpacked(folder), "looks": [case.look]} if case else {}
    node = mended_nodes.Node(row, run=run, **tree)
    before = node.facts()
    node.mend(before["node_assess_causes"][0]["fix"])
    return [incidents.ids_of(before), incidents.failing_in(node.facts())]


@pytest.mark.parametrize("name", RULES)
def test_the_printed_fix_mends_the_rules(name, tmp_path):
    row = ROWS[name]
    named, left = damaged_nodes.after(incidents.VERSION, incidents.place_of(row), row["does"],
                                      lambda run: mended(row, TREES.get(name), tmp_path, run))
    assert named[0] == row["first"] and left == []


@pytest.mark.parametrize("name", FILES)
def test_the_printed_fix_mends_the_files(name, tmp_path):
    named, left = mended(ROWS[name], TREES[name], tmp_path)
    assert named == [ROWS[name]["first"]] and left == []
