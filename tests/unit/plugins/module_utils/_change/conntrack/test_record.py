# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed at any moment, the next run and its undo; and values and disks that refuse."""

import json
import os


import node_tree
from conntrack_changes import LIMIT, RECORD, run, settled, undo, value
from conntrack_node import FORWARD, MAX, NF, counters, tracking
from hook_changes import content
from killed_runs import killed_at
from node_processes import as_nobody, in_child, mount, needs_mounts, needs_root, private_mounts
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import ChangeFailed
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import write

# Three files of ours, one file of another owner, five values.
NODE = tracking({"etc/sysctl.d/zzz.conf": "# site\n%s = 0\n" % FORWARD, "proc/sys/net/ipv4/ip_forward": "0\n"},
                counters(drop=3))
ASKED = {"max": 524288, "buckets": 524288, "resize": "always", "comment_out_conflicts": True, "sysctls": [FORWARD],
         "timeouts": {"udp_timeout": 20, "tcp_timeout_time_wait": 60}}


def without_record(found):
    return {path: held for path, held in found.items() if "kubenode-netfilter/" not in path}


def files_of(found):
    return {path: held for path, held in found.items() if not path.startswith("proc/")}


def test_a_run_that_is_killed_at_any_moment_can_be_run_again_and_undone(tmp_path):
    whole = node_tree.unpack(NODE, tmp_path / "whole")
    run(whole, **ASKED)
    done = without_record(settled(whole))
    number, alive, told = 0, True, 0
    while alive:
        number += 1
        tree = tmp_path / str(number)
        node_tree.unpack(NODE, tree)
        before = settled(tree)
        alive = killed_at(number, lambda tree=tree: run(tree, **ASKED), ((write, "set_value"),))
        if number % 2:
            result = run(tree, **ASKED)
            assert "failed" not in result, number
            told += result["unfinished"]
            assert without_record(settled(tree)) == done, number
            assert not run(tree, **ASKED)["changed"] and not run(tree, **ASKED)["unfinished"]
        assert not undo(tree).get("failed")
        assert files_of(without_record(settled(tree))) == files_of(before), number
        # The record keeps the values that an undo leaves.
        assert not undo(tree, lower=True).get("failed")
        assert files_of(settled(tree)) == files_of(before), number
    assert number > 30 and told > 10


@needs_mounts
def test_a_file_system_without_room(tmp_path):
    def work():
        private_mounts()
        mount("none", str(tmp_path), "tmpfs", "size=1m")
        node_tree.unpack(NODE, tmp_path)
        (tmp_path / "etc/sysctl.d/zzz.conf").write_text("%s = 0\n%s\n" % (FORWARD, "# padding\n" * 20000))
        with open(str(tmp_path / "filler"), "wb", 0) as stream:
            try:
                while True:
                    stream.write(b"x" * 4096)
            except OSError:
                pass
        before = content(tmp_path)
        try:
            run(tmp_path, **ASKED)
            said = ""
        except ChangeFailed as error:
            said = str(error)
        return [said, without_record(content(tmp_path)) == without_record(before), value(tmp_path, LIMIT)]
    said, same, limit = in_child(work)
    assert "No space left on device" in said and same and limit == 131072


@needs_root
def test_an_ordinary_user_is_told_to_become_root(tmp_path):
    tree = node_tree.unpack(NODE, node_tree.open_folder())
    os.chmod(os.path.join(tree, NF + "max"), 0o644)

    def work():
        try:
            return run(tree, **ASKED)["changed"]
        except ChangeFailed as error:
            return str(error)
    assert "become root" in as_nobody(work)


def test_a_value_that_the_kernel_does_not_take_is_told(tmp_path, monkeypatch):
    node_tree.unpack(NODE, tmp_path)
    set_value = write.set_value
    monkeypatch.setattr(write, "set_value",
                        lambda host, path, number: None if path.endswith("_max") else set_value(host, path, number))
    result = run(tmp_path, **ASKED)
    assert result["failed"] and "%s: it was set to 524288, but it is 131072" % MAX in result["msg"]
    assert json.loads((tmp_path / RECORD).read_text())["lost"] is None, "what was not raised forgets no losses"
