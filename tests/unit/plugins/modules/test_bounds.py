# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of a look at a node that has very many items of one kind; docs/security.md has the table.

With KUBENODE_ROBUST=1 the sizes are the sizes of the table. Without it, a tenth of the items shows the cost of one more
item.
"""

import os

import pytest

import big_nodes

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

ROBUST = os.environ.get("KUBENODE_ROBUST") == "1"
MEMORY_LIMIT = 150 * 1000 * 1000
# Bytes that each item after the first may take: the text of a rule and the data that distinguishes it from other rules;
# a statement of a parsed script.
EACH = {"dangling jumps": 400, "DROP rules": 400, "rules twice": 400, "the same jump": 400,
        "Services twice": 700, "NodePorts twice": 700, "endpoints twice": 700,
        "long comments": 500, "chains": 900, "eval": 1300, "sysctl files": 1500, "ipsets": 100,
        "connections": 60, "processes": 1000}


def _unless_beyond(number, told):
    """The expected result, or "unread" for so many rules that they exceed the memory limit."""
    return "unread" if number > 100000 else told


TOLD = {
    "dangling jumps": lambda number: number, "DROP rules": lambda number: number, "rules twice": lambda number: number
    // 2, "the same jump": lambda number: number, "Services twice": lambda number: _unless_beyond(number, number // 2),
    "NodePorts twice": lambda number: _unless_beyond(number, number // 2),
    "endpoints twice": lambda number: _unless_beyond(number, number // 6 * 3),
    "long comments": lambda number: _unless_beyond(number, 0), "chains": lambda number: _unless_beyond(number, 0),
    "ipsets": lambda number: ("ok", min(40, number // 1000)), "connections": lambda number: ("ok", number),
    "sysctl files": lambda number: ("ok", "/etc/sysctl.d/%05d.conf:1" % (number - 1), []),
    "processes": lambda number: True, "eval": lambda number: (
        ["/usr/local/sbin/fw was not followed further than 50000 statements"] if number > 25000 else ["certain"]),
}


@pytest.mark.robust
@pytest.mark.parametrize("name", sorted(big_nodes.CASES))
def test_memory_is_bounded(name, tmp_path):
    number = big_nodes.CASES[name].number if ROBUST else big_nodes.CASES[name].number // 10
    whole, told = big_nodes.look(name, number, tmp_path)
    assert told == TOLD[name](number)
    assert whole.peak_bytes < MEMORY_LIMIT
    half, _told = big_nodes.look(name, number // 2, tmp_path)
    print("%s: %d take %d MB and %.1f s of a processor, half of them %d MB and %.1f s" % (
        name, number, whole.peak_bytes / 1e6, whole.seconds, half.peak_bytes / 1e6, half.seconds))
    assert whole.peak_bytes - half.peak_bytes < EACH[name] * (number - number // 2) + 2000000
