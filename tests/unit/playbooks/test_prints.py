# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run prints, really run: the tables, the sentence of the gate, what a run in check mode would change."""

import re

import fleets


def tasks(done):
    """[(name, what it printed)] of the tasks that printed anything, in the order of the run."""
    parts = re.split(r"^TASK \[(.*?)\] \**\n", done.stdout.partition("PLAY RECAP")[0], flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def test_the_gate_fails_with_its_own_sentence_and_passes_as_ok(tmp_path):
    done = fleets.Fleet(tmp_path, "bad1", "good1").run("audit")
    name, gate = tasks(done)[-1]
    assert "Gate" in name and "\nok: [good1]\n" in "\n" + gate, done.stdout
    sentence = "Not fit for traffic: 1 finding blocks (HOOK001). Report: %s/report/nodes/bad1.json" % tmp_path
    assert '"msg": "%s"' % sentence in gate and gate.count('"HOOK001 (') == 1
    assert re.search(r"^good1 +: ok=\d+ +changed=0 +unreachable=0 +failed=0 +skipped=0 ", done.stdout, re.M), done.stdout
