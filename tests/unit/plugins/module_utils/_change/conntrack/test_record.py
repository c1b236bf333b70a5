# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed at any moment or cannot write, and the next run, which uses its record and its backups."""

import errno
import json
import os
import subprocess

import pytest

import node_tree
from conntrack_changes import RECORD, SYSCTL, run, settled, undo, value
from conntrack_node import FORWARD, MAX, NF, counters, tracking
from hook_changes import content
from killed_runs import killed_at
from node_processes import as_nobody, bind, in_child, mount, needs_mounts, needs_root, private_mounts
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import ChangeFailed
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import write

LIMIT = "net/netfilter/nf_conntrack_max"
# Three files of ours, one file of another owner, five values.
RIVAL = "etc/sysctl.d/zzz.conf"
NODE = tracking({RIVAL: "# site\n%s = 0\n" % FORWARD, "proc/sys/net/ipv4/ip_forward": "0\n"}, counters(drop=3))
ASKED = {"max": 524288, "buckets": 524288, "resize": "always",
         "timeouts": {"udp_timeout": 20, "tcp_timeout_time_wait": 60}, "sysctls": [FORWARD],
         "comment_out_conflicts": True}
# A value of the kernel is changed as well.
VALUES = ((write, "set_value"),)


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
        alive = killed_at(number, lambda tree=tree: run(tree, **ASKED), VALUES)
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


def test_an_undo_that_is_killed_at_any_moment_can_be_done_again(tmp_path):
    number, alive = 0, True
    while alive:
        number += 1
        tree = tmp_path / str(number)
        node_tree.unpack(NODE, tree)
        before = settled(tree)
        run(tree, **ASKED)
        alive = killed_at(number, lambda tree=tree: undo(tree, lower=True), VALUES)
        assert not undo(tree, lower=True).get("failed")
        assert files_of(settled(tree)) == files_of(before), number
    assert number > 10


def test_a_run_that_was_killed_is_told(tmp_path):
    node_tree.unpack(NODE, tmp_path)
    run(tmp_path, **ASKED)
    held = json.loads((tmp_path / RECORD).read_text())
    (tmp_path / RECORD).write_text(json.dumps(dict(held, state="begun")))
    announced = run(tmp_path, True, **ASKED)
    assert announced["unfinished"] and announced["changed"] and announced == run(tmp_path, **ASKED)
    again = run(tmp_path, **ASKED)
    assert not again["unfinished"] and not again["changed"]


@pytest.mark.parametrize("number", range(1, 7))
def test_a_disk_that_is_full_leaves_everything_as_it_was(tmp_path, monkeypatch, number):
    node_tree.unpack(NODE, tmp_path)
    before = content(tmp_path)
    replace, seen = write.replace, []

    def full(host, path, text, mode=0o644, state=None):
        seen.append(path)
        if len(seen) == number:
            raise ChangeFailed("%s cannot be written: %s" % (path, os.strerror(errno.ENOSPC)))
        replace(host, path, text, mode, state)
    monkeypatch.setattr(write, "replace", full)
    with pytest.raises(ChangeFailed, match="No space left on device"):
        run(tmp_path, **ASKED)
    monkeypatch.setattr(write, "replace", replace)
    left = content(tmp_path)
    assert value(tmp_path, LIMIT) == 131072
    # The run first writes its backup of the one file of another owner; the next run handles that backup.
    assert without_record(left) == without_record(before)
    assert not (tmp_path / RECORD).exists()
    run(tmp_path, **ASKED)
    undo(tmp_path, lower=True)
    assert content(tmp_path) == before


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


@needs_mounts
@pytest.mark.parametrize("folder", ["etc", "var", "proc/sys/net"])
def test_what_is_mounted_read_only_is_refused_in_one_sentence(tmp_path, folder):
    def work():
        private_mounts()
        node_tree.unpack(NODE, tmp_path)
        before = content(tmp_path)
        os.makedirs(str(tmp_path / "var/lib"), exist_ok=True)
        place = str(tmp_path / folder)
        bind(place, place)
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        said = []
        for check in (True, False):
            try:
                run(tmp_path, check, **ASKED)
            except ChangeFailed as error:
                said.append(str(error))
        return [said, content(tmp_path) == before]
    said, same = in_child(work)
    assert len(said) == 2 and said[0] == said[1] and same
    assert "read-only" in said[0] and said[0].endswith("Nothing was changed")


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


@pytest.mark.parametrize("text", ["", "{", "[]", '{"changed": 3}', '{"changed": {"x": {}}}',
                                  '{"changed": {}, "live": {"a": 1}, "lost": null, "state": "done"}', "[" * 100000])
def test_a_damaged_record_is_said_and_nothing_is_changed(tmp_path, text):
    node_tree.unpack(dict(NODE, **{RECORD: text}), tmp_path)
    before = content(tmp_path)
    for attempt in (run, undo):
        with pytest.raises(ChangeFailed, match="is damaged"):
            attempt(tmp_path)
    assert content(tmp_path) == before


def test_a_damaged_backup_is_not_put_back(tmp_path):
    node_tree.unpack(NODE, tmp_path)
    run(tmp_path, **ASKED)
    for path in (tmp_path / os.path.dirname(RECORD) / "files").iterdir():
        path.write_text("other")
    result = undo(tmp_path)
    assert ("is damaged" in result["msg"] and "yields" in (tmp_path / RIVAL).read_text()
            and not (tmp_path / SYSCTL).exists())


def test_a_value_that_the_kernel_does_not_take_is_told(tmp_path, monkeypatch):
    node_tree.unpack(NODE, tmp_path)
    set_value = write.set_value
    monkeypatch.setattr(write, "set_value",
                        lambda host, path, number: None if path.endswith("_max") else set_value(host, path, number))
    result = run(tmp_path, **ASKED)
    assert result["failed"] and "%s: it was set to 524288, but it is 131072" % MAX in result["msg"]
    assert json.loads((tmp_path / RECORD).read_text())["lost"] is None, "what was not raised forgets no losses"
