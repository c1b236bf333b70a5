# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What paths are in the root of a container, without opening any."""

import os


import node_tree
from node_processes import Sleeper, enter, entering, needs_fuse, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import container

TREE = {"run/xtables.lock": "", "var/run": node_tree.link("/run"), "etc/out": node_tree.link("/etc/passwd"),
        "etc/pipe": node_tree.FIFO, "etc/x": ""}


@needs_root
def test_kinds_and_numbers(tmp_path):
    root = node_tree.unpack(TREE, tmp_path)
    lock = os.stat(root + "/run/xtables.lock")
    with Sleeper(lambda: enter(root)) as process:
        found = container.stat_in(process.pid, process.start_time, [
            "/run/xtables.lock", "/var/run/xtables.lock", "/run", "/etc/pipe", "/etc/out", "/none", "/etc/x/y"])
    own = ["ok", "file", lock.st_dev, lock.st_ino]
    assert found["/run/xtables.lock"] == found["/var/run/xtables.lock"] == own
    assert found["/run"][:2] == ["ok", "directory"] and found["/etc/pipe"][:2] == ["ok", "other"]
    assert found["/etc/out"] == found["/none"] == found["/etc/x/y"] == ["absent", None, None, None]


@needs_root
def test_a_pid_that_was_reused_or_vanished(tmp_path):
    with Sleeper(lambda: None) as process:
        pid = process.pid
        assert container.stat_in(pid, "1", ["/etc"]) == {"/etc": ["absent", None, None, None]}
    assert container.stat_in(pid, process.start_time, ["/etc"]) == {"/etc": ["absent", None, None, None]}


@needs_fuse
def test_a_mount_that_never_answers(tmp_path):
    root = node_tree.unpack({"run/x": ""}, tmp_path)
    with Sleeper(entering(root, "/run")) as process:
        assert container.stat_in(process.pid, process.start_time,
                                 ["/run/xtables.lock"]) == {"/run/xtables.lock": ["timeout", None, None, None]}
