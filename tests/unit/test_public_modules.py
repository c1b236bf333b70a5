# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that people may rely on: a closed list, documented to the leaf, and one group for module_defaults."""

import ast
import pathlib
import sys

import fleets
import node_tree
import pytest
import yaml
from documented_return import TYPES
from node_manifests import node

TOP = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = {"node_facts", "kernel_modules_facts", "iptables_chain_audit", "xtables_lock_facts", "log_info",
          "kernel_modules", "flush_hooks", "conntrack", "iptables_backend", "service_restart", "assess", "fix",
          "report", "gate", "compare"}
GROUPS = yaml.safe_load((TOP / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]
FRAGMENT = "kubenode.netfilter.common."
MODULES = sorted(path.stem for path in (TOP / "plugins/modules").glob("*.py"))
SAMPLES = dict(TYPES, float=(int, float))


def page_of(module):
    """{name: text} of the documentation of a module."""
    tree = ast.parse((TOP / "plugins/modules" / (module + ".py")).read_text(encoding="utf-8"))
    return {node.targets[0].id: node.value.value for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id in ("DOCUMENTATION", "EXAMPLES", "RETURN")}


def test_every_module_is_public_or_internal():
    assert set(GROUPS) == {"all", "internal"} and sorted(GROUPS["all"] + GROUPS["internal"]) == MODULES
    assert set(GROUPS["all"]) == PUBLIC


@pytest.mark.parametrize("module", MODULES)
def test_the_page_of_a_module_names_its_group(module):
    kind, other = ("public", "internal") if module in PUBLIC else ("internal", "public")
    fragments = yaml.safe_load(page_of(module)["DOCUMENTATION"])["extends_documentation_fragment"]
    assert FRAGMENT + kind in fragments and FRAGMENT + other not in fragments


def undocumented(fields, where=""):
    """What values lack, down to the leaves; a sample may be left out."""
    found = []
    for name, field in fields.items():
        place = "%s.%s" % (where, name)
        found += [place + ": " + key for key in ("description", "returned", "type") if not field.get(key)]
        if "contains" in field:
            found += undocumented(field["contains"], place)
        elif field.get("sample") is not None and not isinstance(field["sample"], SAMPLES[field["type"]]):
            found.append(place + ": type of the sample")
        if field["type"] == "list" and "elements" not in field:
            found.append(place + ": elements")
    return found


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_a_public_module_is_documented_to_the_leaf(module):
    page = {name: yaml.safe_load(text) for name, text in page_of(module).items()}
    assert undocumented(page["RETURN"]) == []
    for name, option in page["DOCUMENTATION"].get("options", {}).items():
        assert option["description"] and option["type"], name
    used = {key for task in page["EXAMPLES"] for key in task if key.startswith("kubenode.netfilter.")}
    assert "kubenode.netfilter." + module in used


def test_there_is_an_example_for_each_section():
    shown = set()
    for task in yaml.safe_load(page_of("node_facts")["EXAMPLES"]):
        shown.update((task.get("kubenode.netfilter.node_facts") or {}).get("gather_subset", ()))
    sections = set(yaml.safe_load(page_of("node_facts")["DOCUMENTATION"])["options"]["gather_subset"]["choices"])
    # These have modules with examples of their own.
    assert shown >= sections - {"iptables_chains", "xtables_lock", "logs"}


PLAY = """\
- hosts: localhost
  gather_facts: false
  module_defaults:
    group/kubenode.netfilter.all:
      root: %s
  tasks:
    - kubenode.netfilter.node_facts:
        gather_subset: [host]
    - kubenode.netfilter.kernel_modules_facts:
    - kubenode.netfilter.kernel_modules:
        name: [ip_vs]
    - ansible.builtin.assert:
        that:
          - ansible_facts.node_host.root == root
          - ansible_facts.node_kernel_modules.judged_release == '6.1.0-49-amd64'
      vars:
        root: %s
"""


def test_module_defaults_of_the_group_reach_its_modules(tmp_path):
    tree = node_tree.unpack(node(modules=["ip_vs"]), tmp_path / "node")
    (tmp_path / "play.yml").write_text(PLAY % (tree, tree), encoding="utf-8")
    done = fleets.run_playbook(tmp_path / "play.yml", "-i", "localhost,", "-c", "local", "-e",
                               "ansible_python_interpreter=" + sys.executable, cwd=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "node/etc/modules-load.d/kubenode-netfilter.conf").exists()
