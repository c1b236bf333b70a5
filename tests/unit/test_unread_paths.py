# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each path that is read on a healthy node and on many broken nodes is denied, removed, emptied, cut or replaced: no
finding turns green because of this.

`KUBENODE_ROBUST=1` applies every damage to every path, which takes minutes. Otherwise a sample runs, from a seed that
is printed.
"""

import contextlib
import os
import pathlib
import random
import re
import tempfile

import damaged_trees
import kube_audit
import node_tree
import pod_networks
import pytest
import whole_nodes
import yaml
from node_processes import as_nobody
from whole_nodes import BROKEN, CHECKS, HEALTHY

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
WHOLE_PRODUCT = bool(os.environ.get("KUBENODE_ROBUST"))
TREES, DAMAGES = 10, 40
BAD = ("fail", "unknown")


# Why a finding may disappear when a path is damaged: (reason, damages, paths, checks, the check that has to fail or be
# unknown instead, or None). One more rule applies to the files that a broken node has and the healthy node does not
# have: if such a file is removed, emptied, cut or replaced, the fault disappears as well (_is_the_fault).
RIGHT = [(row["reason"], row["damages"], row["paths"], row["checks"], row.get("instead"))
         for row in yaml.safe_load((FIXTURES / "right_to_turn_green.yml").read_text())]
CHANGED = ("cut", "directory", "emptied", "fifo", "removed")


def _is_the_fault(change, path, damage):
    """Whether `path` is a file of the fault, or a folder or a link on the path to one."""
    return damage in CHANGED and any(("/" + each + "/").startswith(path + "/") or path.startswith("/" + each + "/")
                                     for each in change)


def _is_right(change, path, damage, check, bad):
    """`bad` are the checks that fail or are unknown now."""
    return _is_the_fault(change, path, damage) or any(
        damage in damages and re.match("(?:%s)\\Z" % paths, path) and re.match("(?:%s)\\Z" % checks, check)
        and (instead is None or instead in bad) for _reason, damages, paths, checks, instead in RIGHT)


@contextlib.contextmanager
def unpacked(*manifests):
    """The path of a tree; replacements of damaged paths are kept beside it."""
    with tempfile.TemporaryDirectory(prefix="kubenode-test-") as top:
        os.mkdir(top + "/tree")
        root = node_tree.unpack(node_tree.merged(*manifests), top + "/tree")
        pod_networks.age(root)
        yield root


def _bad(findings):
    return {row["check"] for row in findings if row["status"] in BAD}


def _turned(name, source):
    """(["path, damage: check"] of all that turns green for one broken node, how many cases were tried); `source` picks
    a sample, None takes all."""
    change, expected = BROKEN[name]
    found = []
    with unpacked(HEALTHY, change) as root:
        before = whole_nodes.findings(root)
        missed = set(expected) - {row["check"] for row in before if row["status"] == "fail"}
        if missed:
            found.append("not seen at all: %s" % ", ".join(sorted(missed)))
        bad = _bad(before)
        asked = sorted(bad.union(row[4] for row in RIGHT
                                 if row[4] and any(re.match("(?:%s)\\Z" % row[3], check) for check in bad)))
        cases = _cases(root, bad, source)
        for path, damage in cases:
            with damaged_trees.damaged(root, path, damage):
                now = _bad(whole_nodes.findings(root, asked))
            found += ["%s, %s: %s" % (path, damage, check) for check in sorted(bad - now)
                      if not _is_right(change, path, damage, check, now)]
    return found, len(cases)


def _cases(root, checks, source):
    chosen = [CHECKS[name] for name in sorted(checks)]
    paths = damaged_trees.paths_read(root, whole_nodes.AnsweringNode(root),
                                     lambda host: whole_nodes.judged(host, chosen))
    cases = [(path, damage) for path in paths for damage in damaged_trees.damages_of(root, path)]
    return cases if source is None else source.sample(cases, min(DAMAGES, len(cases)))


def test_a_healthy_node_has_nothing_that_fails_or_is_not_known():
    with unpacked(HEALTHY) as root:
        assert [row for row in whole_nodes.findings(root) if row["status"] in BAD] == []


@pytest.mark.robust
def test_nothing_turns_green_because_it_could_not_be_read(record_property):
    source = random.Random(kube_audit.seed())
    names = sorted(BROKEN) if WHOLE_PRODUCT else source.sample(sorted(BROKEN), TREES)

    def work():
        return {name: _turned(name, None if WHOLE_PRODUCT else source) for name in names}
    tried = as_nobody(work)
    record_property("damaged_paths", sum(cases for _turned_green, cases in tried.values()))
    assert [] == ["%s: %s" % (name, line) for name in names for line in tried[name][0]]
