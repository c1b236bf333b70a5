# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module flush_hooks_facts, run as Ansible runs it: its options work, and its RETURN documents every key."""

import os

import pytest

import node_tree
from documented_return import differences, documented
from hook_nodes import AZURE, CRON_DEBIAN, DEBIAN, SNAPSHOT, firewalld, ufw
from module_runs import run_module, section_of
from node_tree import executable, merged

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

# A tree with at least one entry for every part of the result.
RICH = merged(
    AZURE, CRON_DEBIAN, firewalld(), ufw(), {
        "etc/cron.daily/maintain": executable("#!/bin/sh\nsystemctl restart iptables\n"),
        "etc/systemd/scripts/ip4save": SNAPSHOT, "opt/maintenance/fw.php": executable("#!/usr/bin/php\niptables -F\n"),
        "opt/maintenance/big": "#!/bin/sh\n" + "iptables -F\n" * 100000})


def test_directories_that_are_named(tmp_path):
    tree = node_tree.unpack(merged(DEBIAN, {"srv/fw/a/b/c.sh": "iptables -F\n",
                                            "usr/local/sbin/fw": executable("#!/bin/sh\niptables -F\n")}), tmp_path)

    def by_hand(**options):
        section = section_of("flush_hooks_facts", root=tree, _ansible_check_mode=True, **options)
        return [row["path"] for row in section["hooks"] if row["triggers"] == ["by_hand"]]
    assert by_hand() == ["/usr/local/sbin/fw"]
    assert by_hand(hook_directories=["/srv/fw", "/not/there"]) == ["/srv/fw/a/b/c.sh"]
    assert by_hand(hook_directories=[]) == []


def test_everything_that_is_returned_is_documented(tmp_path):
    section = section_of("flush_hooks_facts", root=node_tree.unpack(RICH, tmp_path),
                         hook_directories=["/opt/maintenance"])
    assert (section["hooks"] and section["files"] and section["saved_rule_sets"] and section["unordered"]
            and section["firewalld"] and section["ufw"])
    assert section["scanned"]["skipped"] and section["scanned"]["other_languages"] == ["/opt/maintenance/fw.php"]
    described = documented("flush_hooks_facts", "node_flush_hooks")
    assert differences(section, described) == []
    # Only a running systemd reports units that wait.
    assert set(described["contains"]["waiting"]["contains"]) == {"unit", "path", "state", "active"}


def test_nothing_is_changed(tmp_path):
    tree = node_tree.unpack(RICH, tmp_path)

    def state():
        return sorted((os.path.join(folder, name), os.lstat(os.path.join(folder, name)).st_mtime,
                       os.lstat(os.path.join(folder, name)).st_size) for folder, folders, names in os.walk(tree)
                      for name in folders + names)
    before = state()
    assert run_module("flush_hooks_facts", root=tree)[1]["changed"] is False
    assert state() == before
