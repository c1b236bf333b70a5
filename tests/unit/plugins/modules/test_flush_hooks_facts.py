# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module flush_hooks_facts, run as Ansible runs it: its options work, and its RETURN documents every key."""

import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest

import node_tree
from hook_nodes import AZURE, CRON_DEBIAN, DEBIAN, SNAPSHOT, firewalld, ufw
from node_processes import python_path
from node_tree import executable, merged

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")
yaml = pytest.importorskip("yaml")

MODULE = pathlib.Path(__file__).resolve().parents[4] / "plugins" / "modules" / "flush_hooks_facts.py"
RUNNER = """\
import json, sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": json.loads(sys.argv[1])}).encode("utf-8")
basic._ANSIBLE_PROFILE = "legacy"
from ansible_collections.kubenode.netfilter.plugins.modules import flush_hooks_facts
flush_hooks_facts.main()
"""
# A tree with at least one entry for every part of the result.
RICH = merged(
    AZURE, CRON_DEBIAN, firewalld(), ufw(), {
        "etc/cron.daily/maintain": executable("#!/bin/sh\nsystemctl restart iptables\n"),
        "etc/systemd/scripts/ip4save": SNAPSHOT, "opt/maintenance/fw.php": executable("#!/usr/bin/php\niptables -F\n"),
        "opt/maintenance/big": "#!/bin/sh\n" + "iptables -F\n" * 100000})


def run(**arguments):
    process = subprocess.Popen([sys.executable, "-c", RUNNER, json.dumps(arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=python_path()))
    out, err = process.communicate()
    assert not err.strip(), err.decode("utf-8")
    return json.loads(out.decode("utf-8"))


@pytest.mark.parametrize(
    "arguments, message", [
        ({"hook_directories": ["relative"]}, "hook_directories: 'relative' cannot be searched; name a directory"),
        ({"hook_directories": ["/"]}, "'/' cannot be searched"),
        ({"hook_directories": ["/a"] * 51}, "hook_directories names 51 directories; give at most 50"),
        ({"root": "/no/such/folder"}, "is not a directory"),
    ])
def test_bad_input_is_one_clear_error(arguments, message, tmp_path):
    result = run(**dict({"root": node_tree.unpack(DEBIAN, tmp_path)}, **arguments))
    assert result["failed"] is True and message in result["msg"] and "Traceback" not in json.dumps(result)


def test_directories_that_are_named(tmp_path):
    tree = node_tree.unpack(merged(DEBIAN, {"srv/fw/a/b/c.sh": "iptables -F\n",
                                            "usr/local/sbin/fw": executable("#!/bin/sh\niptables -F\n")}), tmp_path)

    def by_hand(**options):
        section = run(root=tree, _ansible_check_mode=True, **options)["ansible_facts"]["node_flush_hooks"]
        return [row["path"] for row in section["hooks"] if row["triggers"] == ["by_hand"]]
    assert by_hand() == ["/usr/local/sbin/fw"]
    assert by_hand(hook_directories=["/srv/fw", "/not/there"]) == ["/srv/fw/a/b/c.sh"]
    assert by_hand(hook_directories=[]) == []


def documented():
    tree = ast.parse(MODULE.read_text(encoding="utf-8"))
    text = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "RETURN")
    return yaml.safe_load(ast.literal_eval(text))["ansible_facts"]["contains"]["node_flush_hooks"]


def differences(value, documentation, where=""):
    """Keys, down to the leaves, that are returned but not documented, or documented but not returned."""
    if isinstance(value, list):
        return [line for item in value for line in differences(item, documentation, where + "[]")]
    if not isinstance(value, dict) or "contains" not in documentation:
        return []
    fields = documentation["contains"]
    lines = ["%s.%s" % (where, key) for key in sorted(set(value) ^ set(fields))]
    return lines + [line for key in sorted(set(value) & set(fields))
                    for line in differences(value[key], fields[key], "%s.%s" % (where, key))]


def test_everything_that_is_returned_is_documented(tmp_path):
    section = run(root=node_tree.unpack(RICH, tmp_path),
                  hook_directories=["/opt/maintenance"])["ansible_facts"]["node_flush_hooks"]
    assert (section["hooks"] and section["files"] and section["saved_rule_sets"] and section["unordered"]
            and section["firewalld"] and section["ufw"])
    assert section["scanned"]["skipped"] and section["scanned"]["other_languages"] == ["/opt/maintenance/fw.php"]
    assert differences(section, documented()) == []
    # Only a running systemd reports units that wait.
    assert set(documented()["contains"]["waiting"]["contains"]) == {"unit", "path", "state", "active"}


def test_the_samples_are_of_their_types():
    types = {"str": str, "int": int, "bool": bool, "list": list, "dict": dict}

    def check(fields):
        for name, field in fields.items():
            assert "sample" not in field or field["sample"] is None or isinstance(field["sample"],
                                                                                  types[field["type"]]), name
            check(field.get("contains", {}))
    check(documented()["contains"])


def test_nothing_is_changed(tmp_path):
    tree = node_tree.unpack(RICH, tmp_path)

    def state():
        return sorted((os.path.join(folder, name), os.lstat(os.path.join(folder, name)).st_mtime,
                       os.lstat(os.path.join(folder, name)).st_size) for folder, folders, names in os.walk(tree)
                      for name in folders + names)
    before = state()
    assert run(root=tree)["changed"] is False
    assert state() == before
