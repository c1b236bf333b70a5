# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every file of the node's code loads, and every fixture tree is looked at once, on each Python of a node."""

import importlib
import json
import pathlib

import pytest
import backend_trees
import conntrack_node
import hook_changes
import hook_nodes
import module_changes
import node_manifests
import node_tree
import unit_trees
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import SECTIONS

PACKAGE = "ansible_collections.kubenode.netfilter.plugins.module_utils"
MODULE_UTILS = pathlib.Path(__file__).resolve().parents[5] / "plugins" / "module_utils"
COLLECTED = {"ok", "absent", "denied", "unparsed", "timeout", "uncollected"}
BASE = node_manifests.merged(node_manifests.DEBIAN, node_manifests.running("6.1.0-49-amd64", []))
TREES = {"%s.%s" % (module.__name__, name): tree
         for module in (backend_trees, conntrack_node, hook_changes, hook_nodes, module_changes, node_manifests,
                        unit_trees)
         for name, tree in vars(module).items()
         if isinstance(tree, dict) and any("/" in str(path) for path in tree) and "kind" not in tree}


def test_every_file_loads():
    names = [".".join((PACKAGE,) + path.relative_to(MODULE_UTILS).with_suffix("").parts)
             for path in sorted(MODULE_UTILS.rglob("*.py"))]
    assert len(names) > 100
    assert [name for name in names if importlib.import_module(name) is None] == []


@pytest.mark.parametrize("place", ["live", "image"])
@pytest.mark.parametrize("name", sorted(TREES))
def test_each_tree_is_looked_at(name, place, tmp_path):
    root = node_tree.unpack(node_manifests.merged(BASE, TREES[name]), tmp_path)
    found = collect_sections(SECTIONS, root, place=place, modules=["ip_vs", "nf_conntrack"])
    assert sorted(found) == sorted("node_" + section for section in SECTIONS)
    assert {word for section in found.values() for word in section.get("collected", {}).values()} <= COLLECTED
    json.dumps(found)
