# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix that the report of an incident prints is done, and the audit after it is green: tests/incidents."""

import re
import subprocess

import damaged_nodes
import incidents
import looks
import mended_nodes
import pytest

ROWS = {row["incident"]: row for row in incidents.incidents()}
TREES = {case.name.partition(": ")[2]: case for case in looks.cases("incidents")}
RULES = [name for name, row in ROWS.items() if row.get("does") and row["first"] and "undone" not in row]
FILES = [name for name in TREES if name not in RULES]
PROCESSES = [name for name, row in ROWS.items() if "process" in row]
RESTARTS = [name for name, row in ROWS.items() if "restarts" in row]


def test_the_printed_fix_of_many_incidents_is_done():
    assert len(RULES) >= 18 and len(FILES) >= 16 and len(PROCESSES) >= 5 and len(RESTARTS) >= 2
    assert set(TREES) <= set(ROWS) and len({*RULES, *FILES, *PROCESSES, *RESTARTS}) >= 41


def mended(row, case, folder, run=None):
    """[the ids of the causes, the findings that fail once the printed fix is done]."""
    tree = {"tree": case.unpacked(folder), "looks": case.look.split()} if case else {}
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
    assert named[0] == ROWS[name]["first"] and left == []


@pytest.mark.parametrize("name", RESTARTS)
def test_the_printed_playbook_restarts_what_mends_it(name):
    node = mended_nodes.Node(ROWS[name])
    node.mend(node.facts()["node_assess_causes"][0]["fix"])
    assert node.restarted == [ROWS[name]["restarts"]] and incidents.failing_in(node.facts()) == []


@pytest.mark.parametrize("name", PROCESSES)
def test_the_printed_command_continues_or_ends_the_process(name):
    """The process of the node has the number of a real one here; what it does afterwards is the proof."""
    fix = incidents.facts_of(ROWS[name])["node_assess_causes"][0]["fix"]
    command = re.fullmatch(r"on w01: (kill(?: -CONT)?) \d+", fix)
    state = ROWS[name]["process"]
    with mended_nodes.Process(state) as process:
        subprocess.run(["bash", "-c", "%s %d" % (command.group(1), process.pid)], check=True)
        process.await_state("S" if state == "T" else "Z")
