# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one format of all records: what it tells of a file, and records of the first schema as earlier versions wrote
them (tests/fixtures/records)."""

import errno
import json
import os
import pathlib
import pwd
import re
import signal
import subprocess

import hook_changes
import pytest
from hook_changes import content
from node_processes import bind, in_child, needs_mounts, needs_root, private_mounts
from record_subjects import BLOCK, SUBJECTS, flush_hooks, kernel_modules

from ansible_collections.kubenode.netfilter.plugins.module_utils._change import record
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.modules import plan as modules_plan
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import ChangeFailed
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import lock

RECORDS = pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "records"
STATE = "var/lib/kubenode-netfilter"


def record_of(name, tree):
    return tree / STATE / name / "record.json"


def test_times_are_utc(monkeypatch):
    monkeypatch.undo()
    assert re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$", record._now())


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_every_entry_has_time_user_and_what_was_before(name, tmp_path):
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    announced = subject.present(check=True)
    assert content(subject.tree) == before and subject.present() == announced and announced["changed"]
    held = json.loads(record_of(name, subject.tree).read_text())
    assert held["schema"] == 2 and held["changed"]
    for path, entry in held["changed"].items():
        assert entry["time"] == "2026-01-02T03:04:05Z"
        assert entry["by"] in [row.pw_name for row in pwd.getpwall()] or entry["by"].isdigit()
        if entry.get("before") and "digest" in entry["before"]:
            mode, held_before = before[path.lstrip("/")]
            assert entry["before"]["mode"] == "%04o" % (mode & 0o7777)
            assert (entry["before"]["uid"], entry["before"]["gid"]) == (os.geteuid(), os.getegid())
            backup = subject.tree / STATE / name / "files" / entry["before"]["digest"]
            assert backup.read_bytes() == held_before
    text = record_of(name, subject.tree).read_text()
    assert not subject.present()["changed"] and record_of(name, subject.tree).read_text() == text
    announced = subject.absent(check=True)
    assert subject.absent() == announced
    assert content(subject.tree) == before


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_a_record_of_the_first_schema_is_undone(name, tmp_path):
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    subject.present()
    record_of(name, subject.tree).write_text((RECORDS / (name + ".json")).read_text())
    announced = subject.absent(check=True)
    done = subject.absent()
    assert done == announced and done["changed"] and not done.get("failed")
    assert content(subject.tree) == before


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_a_record_of_the_first_schema_stays_until_something_changes(name, tmp_path):
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    subject.present()
    old = (RECORDS / (name + ".json")).read_text()
    record_of(name, subject.tree).write_text(old)
    again = subject.present()
    assert not again["changed"] and again["files"] == [] and record_of(name, subject.tree).read_text() == old
    if subject.later:
        path, text = subject.later
        (subject.tree / path).write_text(text)
        (subject.tree / path).chmod(0o640)
        before[path] = content(subject.tree)[path]
    announced = subject.present(check=True, **subject.further)
    done = subject.present(**subject.further)
    assert (done["files"], done["diff"]) == (announced["files"], announced["diff"])
    held = json.loads(record_of(name, subject.tree).read_text())
    assert held["schema"] == 2 and set(json.loads(old)["changed"]) <= set(held["changed"])
    assert not subject.present(**subject.further)["changed"]
    subject.absent()
    assert content(subject.tree) == before


def test_a_mode_that_was_changed_since_stays_and_is_named(tmp_path):
    subject = flush_hooks(tmp_path / "tree")
    before = content(subject.tree)
    subject.present()
    script = subject.tree / hook_changes.SCRIPT
    script.chmod(0o700)
    announced = subject.absent(check=True)
    done = subject.absent()
    assert announced == done and not done.get("failed")
    assert done["warnings"] == ["/%s: changed since and kept: mode 0700, was 0755" % hook_changes.SCRIPT]
    assert script.read_bytes() == before[hook_changes.SCRIPT][1] and script.stat().st_mode & 0o7777 == 0o700


DAMAGED = ["", "{", "[]", '{"changed": 3, "folders": []}', '{"changed": {}}', '{"changed": {"x": {}}, "folders": []}',
           '{"changed": {"/x": {"kind": "file"}}, "folders": []}', '{"changed": {}, "folders": [5]}', "[" * 100000,
           '{"changed": {}, "folders": [], "live": {"a": 1}, "lost": null, "state": "done", "pending": 5}']


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_a_damaged_record_is_an_error_and_nothing_is_changed(tmp_path, name, text):
    if "live" in text and name not in ("conntrack", "iptables_backend"):
        text = "null"
    subject = SUBJECTS[name](tmp_path / "tree")
    record_of(name, subject.tree).parent.mkdir(parents=True)
    record_of(name, subject.tree).write_text(text)
    before = content(subject.tree)
    for attempt in (subject.absent, subject.present):
        with pytest.raises(ChangeFailed, match="is damaged, so the earlier changes are not known"):
            attempt()
    assert content(subject.tree) == before


def test_a_record_of_a_later_version_is_not_guessed_at(tmp_path):
    subject = kernel_modules(tmp_path / "tree")
    record_of("kernel_modules", subject.tree).parent.mkdir(parents=True)
    record_of("kernel_modules", subject.tree).write_text('{"schema": 3, "changed": {}, "folders": []}')
    with pytest.raises(ChangeFailed, match="has schema 3, which this version cannot read; use the version that wrote"):
        subject.absent()


@needs_mounts
@pytest.mark.parametrize("name, folder", [
    ("conntrack", "etc"), ("conntrack", "var"), ("conntrack", "proc/sys/net"), ("iptables_backend", "etc"),
    ("kernel_modules", "etc")])
def test_what_is_mounted_read_only_is_refused_in_one_sentence(tmp_path, name, folder):
    def work():
        private_mounts()
        subject = SUBJECTS[name](tmp_path / "tree")
        place, before = str(subject.tree / folder), content(subject.tree)
        os.makedirs(str(subject.tree / "var/lib"), exist_ok=True)
        bind(place, place)
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        sentences = []
        for check in (True, False):
            with pytest.raises(ChangeFailed) as caught:
                subject.present(check)
            sentences.append(str(caught.value))
        return sentences, content(subject.tree) == before
    (first, second), same = in_child(work)
    assert first == second and "read-only" in first and first.endswith("Nothing was changed") and same


def test_a_file_that_is_as_it_was_before_a_killed_run_is_recorded_as_it_is(tmp_path):
    subject = kernel_modules(tmp_path / "tree")
    path = subject.tree / BLOCK
    # A comment of an earlier life of the image, whose record is gone.
    path.write_text(modules_plan.MARK + "blacklist ip_vs\n" + path.read_text())
    before = content(subject.tree)
    subject.present()
    path.write_bytes(before[BLOCK][1])
    subject.present()
    subject.absent()
    assert content(subject.tree) == before


def paused(subject, state, where):
    """(pid, function that lets it end and returns its exit status) of a process that is changing the tree: it waits
    where it enters the method `where` of its record."""
    ready, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        real = getattr(record.Record, where)

        def waiting(self, *args):
            os.write(ready[1], b"x")
            os.read(go_on[0], 1)
            return real(self, *args)
        setattr(record.Record, where, waiting)
        os._exit(bool(getattr(subject, state)().get("failed")))
    os.read(ready[0], 1)
    return child, lambda: os.write(go_on[1], b"xx") and os.waitpid(child, 0)[1]


@pytest.mark.parametrize("where", ["_read", "refuse_stale", "settle"])
@pytest.mark.parametrize("name", sorted(SUBJECTS))
@pytest.mark.parametrize("first, second", [("present", "absent"), ("absent", "present"), ("absent", "absent")])
def test_of_two_runs_at_once_the_second_is_refused_and_no_byte_is_lost(name, first, second, where, tmp_path):
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    if first == "absent" or where == "_read":
        subject.present()
    if where == "_read" and first == "present":
        subject.options = dict(subject.options, **subject.further)
    child, end = paused(subject, first, where)
    during = content(subject.tree)
    subject.present(check=True)
    sentence = r"process %d is changing this node and holds (/run)?/%s\. .*Nothing was changed" % (child, lock.NAME)
    with pytest.raises(lock.Busy, match=sentence):
        getattr(subject, second)()
    assert content(subject.tree) == during
    assert end() == 0
    subject.absent()
    assert content(subject.tree) == before


def test_a_killed_run_holds_no_lock(tmp_path):
    subject = kernel_modules(tmp_path / "tree")
    before = content(subject.tree)
    child, end = paused(subject, "present", "settle")
    os.kill(child, signal.SIGSTOP)
    with pytest.raises(lock.Busy, match="process %d is" % child):
        subject.absent()
    os.kill(child, signal.SIGKILL)
    assert end() == signal.SIGKILL
    assert subject.absent()["changed"] and content(subject.tree) == before


def _link(path):
    (path.parent / "victim").write_text("bytes of others")
    path.symlink_to("victim")


def _hard_link(path):
    (path.parent / "victim").write_text("bytes of others")
    os.link(str(path.parent / "victim"), str(path))


def _of_others(path):
    path.write_text("1 1")
    os.chown(str(path), 1000, 1000)


def _open_to_all(path):
    path.touch()
    path.chmod(0o666)


@pytest.mark.parametrize("lay, message", [
    (_link, "is a link or no regular file"), (_hard_link, "is a link or no regular file"),
    (lambda path: os.mkfifo(str(path)), "is a link or no regular file"), (_open_to_all, "mode 0666"),
    pytest.param(_of_others, "belongs to the user with the ID 1000", marks=needs_root)])
def test_a_lock_file_of_others_is_refused(tmp_path, lay, message):
    subject = kernel_modules(tmp_path / "tree")
    folder = subject.tree / "run"
    lay((folder if folder.is_dir() else subject.tree) / lock.NAME)
    before = content(subject.tree)
    with pytest.raises(ChangeFailed, match=message + ".*Nothing was changed"):
        subject.present()
    assert content(subject.tree) == before


@pytest.mark.parametrize("error", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_without_a_lock_nothing_is_changed_and_a_run_without_changes_passes(tmp_path, error, monkeypatch):
    subject = kernel_modules(tmp_path / "tree")
    before = content(subject.tree)

    def refused(*_args):
        raise OSError(error, os.strerror(error))
    with monkeypatch.context() as patch:
        patch.setattr(lock, "_locked", refused)
        with pytest.raises(ChangeFailed, match="lock .* cannot be taken: %s. Nothing was changed" % os.strerror(error)):
            subject.present()
        assert content(subject.tree) == before
    subject.present()
    monkeypatch.setattr(lock, "_locked", refused)
    assert not subject.present()["changed"]


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_record_that_was_written_since_it_was_read_is_not_written_over(state, tmp_path, monkeypatch):
    """By a run that does not see this lock, such as one in a container with a /run of its own."""
    subject = kernel_modules(tmp_path / "tree")
    subject.present()
    subject.options = dict(subject.options, **subject.further)
    first, path = record.Record.refuse_stale, record_of("kernel_modules", subject.tree)

    def after_another(self):
        path.write_text(path.read_text() + " ")
        first(self)

    before = dict(content(subject.tree))
    monkeypatch.setattr(record.Record, "refuse_stale", after_another)
    with pytest.raises(ChangeFailed, match="another run wrote .* at the same time. Nothing was changed; run it again"):
        getattr(subject, state)()
    path.write_text(path.read_text()[:-1])
    assert content(subject.tree) == before


@pytest.mark.parametrize("what", ["", "/flush_hooks", "/flush_hooks/record.json"])
@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize("lay, message", [
    (lambda path: path.chmod(0o777), "can be written by other users"),
    pytest.param(lambda path: os.chown(str(path), 9, 9), "belongs to the user with the ID 9", marks=needs_root)])
def test_a_record_that_another_user_may_have_written_is_not_obeyed(tmp_path, what, state, lay, message):
    subject = flush_hooks(tmp_path / "tree")
    subject.present()
    lay(pathlib.Path(str(subject.tree / STATE) + what))
    before = content(subject.tree)
    for check in (True, False):
        with pytest.raises(ChangeFailed, match=message):
            getattr(subject, state)(check)
    assert content(subject.tree) == before


def test_a_backup_that_another_user_may_have_written_is_not_obeyed(tmp_path):
    subject = flush_hooks(tmp_path / "tree")
    subject.present()
    (subject.tree / STATE / "flush_hooks/files").chmod(0o777)
    told = subject.absent()
    assert told["failed"] and "%s is not put back: " % ("/" + hook_changes.SCRIPT) in told["msg"]
    assert "flush_hooks/files can be written by other users (mode 0777)" in told["msg"]


def test_an_undo_that_refuses_a_file_removes_its_other_empty_folders(tmp_path):
    subject = flush_hooks(tmp_path / "tree")
    subject.options = {}
    subject.present()
    folder = (subject.tree / (hook_changes.DROP_IN % "iptables.service")).parent
    script = subject.tree / hook_changes.SCRIPT
    assert folder.is_dir()
    ours = script.read_bytes()
    script.write_text("#!/bin/sh\n")
    announced = subject.absent(check=True)
    assert subject.absent() == announced and announced["failed"] and not folder.exists()
    script.write_bytes(ours)
    assert not subject.absent().get("failed") and not (subject.tree / STATE).exists()
