# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs that a report folder keeps: each whole, none too many, and none lost to a run that is killed."""

import fcntl
import json
import os
import pathlib
import subprocess
import sys

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import history, store

HOSTS = ("a", "b")


class Killed(BaseException):
    """As SIGKILL: nothing of ours handles it."""


@pytest.fixture
def write(monkeypatch, tmp_path):
    """write(number, keep, pending): one run with that number."""

    def call(number, keep=10, pending=0, hosts=HOSTS):
        monkeypatch.setattr(_run, "ID", number if isinstance(number, str) else run_id(number))
        fleet = {"run": _run.ID, "totals": {"pending": pending}}
        with store.opened(str(tmp_path / "report")) as opened:
            for host in hosts:
                store.write_node(opened, host, json.dumps({"host": host, "run": _run.ID}))
            store.write_fleet(opened, fleet, {"fleet.json": json.dumps(fleet), "junit.xml": "<%s/>" % number},
                              keep=keep)

    call.folder = tmp_path / "report"
    return call


def run_id(number):
    return "20261123T08%02d00Z-%d" % (number, 900 - number)


def runs(folder):
    return sorted(os.listdir(str(folder / "runs")))


def files(folder):
    """{name: text} of the files of a run, by name below its folder, without what a killed run left half-written."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*")
            if path.is_file() and not path.name.startswith(".report-") and path.name != "order"}


def run_of(folder):
    """The run of each file that holds one."""
    return {json.loads(text)["run"] for name, text in files(folder).items() if name.endswith(".json")}


def test_the_paths_of_before_are_those_of_the_last_run(write):
    for number in (1, 2):
        write(number)
    top = {name: text for name, text in files(write.folder).items() if not name.startswith("runs")}
    assert top == files(write.folder / "latest") == files(write.folder / "runs" / run_id(2))
    assert set(top) == {"fleet.json", "junit.xml", "nodes/a.json", "nodes/b.json"}
    assert run_of(write.folder / "runs" / run_id(1)) == {run_id(1)} != run_of(write.folder / "latest")
    assert os.readlink(str(write.folder / "latest")) == "runs/" + run_id(2)
    assert {path.stat().st_mode & 0o777 for path in write.folder.rglob("*.json")} == {0o600}


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_so_many_runs_are_kept(write, keep):
    for number in range(1, 6):
        write(number, keep)
    assert runs(write.folder) == [run_id(number) for number in range(6 - keep, 6)]
    assert run_of(write.folder / "latest") == {run_id(5)}


def test_nothing_is_removed_while_hosts_are_pending(write):
    write(1, keep=1)
    write(2, keep=1, pending=3, hosts=["a"])
    assert runs(write.folder) == [run_id(1), run_id(2)]
    assert set(files(write.folder / "runs" / run_id(1))) == {"fleet.json", "junit.xml", "nodes/a.json", "nodes/b.json"}
    write(2, keep=1)
    assert runs(write.folder) == [run_id(2)]


def test_runs_are_in_the_order_in_which_they_were_written(write):
    """Also within a second, where a process has a higher number with more digits, and after the clock was set back."""
    for name in ("20261123T090000Z-900", "20261123T090000Z-1000", "20261122T090000Z-5", "20261122T090001Z-4"):
        write(name, keep=3)
        kept = history.names_in(str(write.folder / "runs"))
    assert kept == ["20261123T090000Z-1000", "20261122T090000Z-5", "20261122T090001Z-4"]
    handle = os.open(str(write.folder / "runs"), os.O_RDONLY)
    assert history.names_in(handle) == kept
    os.close(handle)


@pytest.mark.parametrize("content", [b"", b"x", b"-1", b"9" * 4000, b"\xff", None])
def test_a_damaged_number_of_a_run_counts_for_nothing(write, content):
    for number in (1, 2):
        write(number)
        order = write.folder / "runs" / run_id(number) / "order"
        order.unlink()
        if content is None:
            os.mkfifo(str(order))
        else:
            order.write_bytes(content)
    assert history.names_in(str(write.folder / "runs")) == [run_id(1), run_id(2)]
    write(3)
    assert history.number_of(str(write.folder / "runs"), run_id(3)) == 1


def test_a_killed_run_leaves_the_one_before_whole(write, monkeypatch):
    """At every file operation of a run, with one run kept."""
    write(1, keep=1)
    whole, steps = files(write.folder / "latest"), 0
    operations = {name: getattr(os, name) for name in ("replace", "link", "symlink", "mkdir", "unlink", "rmdir")}

    def counted(name, left):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return operations[name](*arguments, **options)
        return call

    while True:
        left = [steps]
        for name in operations:
            monkeypatch.setattr(store.os, name, counted(name, left))
        try:
            write(2, keep=1)
            break
        except Killed:
            pass
        finally:
            for name, operation in operations.items():
                monkeypatch.setattr(store.os, name, operation)
        latest = files(write.folder / "latest")
        assert set(latest) == set(whole) and len(run_of(write.folder / "latest")) == 1
        assert latest == whole or run_of(write.folder / "latest") == {run_id(2)}
        for path in write.folder.rglob("*.json"):
            assert json.loads(path.read_text())["run"] in (run_id(1), run_id(2))
        steps += 1
    assert steps > 10 and runs(write.folder) == [run_id(2)]


def test_links_and_other_things_in_the_folder_of_runs_stay(write, tmp_path):
    write(1)
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "fleet.json").write_text("precious")
    (write.folder / "runs" / run_id(2)).symlink_to(victim)
    (write.folder / "runs" / "mine").mkdir()
    (write.folder / "runs" / run_id(1) / "nodes" / "link").symlink_to(victim)
    write(3, keep=1)
    assert runs(write.folder) == [run_id(2), run_id(3), "mine"]
    assert (victim / "fleet.json").read_text() == "precious"


@pytest.mark.parametrize("inside", ["runs", "runs/" + run_id(1), "runs/%s/nodes" % run_id(1)])
def test_a_link_below_the_folder_is_refused(write, tmp_path, inside):
    (tmp_path / "victim").mkdir()
    link = write.folder / inside
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "victim")
    with pytest.raises(BadInput, match="is a symbolic link; set node_report_folder"):
        write(1)
    assert list((tmp_path / "victim").iterdir()) == []


def test_a_run_that_is_being_written_is_not_removed(write, monkeypatch):
    monkeypatch.setattr(_run, "ID", run_id(1))
    with store.opened(str(write.folder)):
        write(2, keep=1)
        assert runs(write.folder) == [run_id(1), run_id(2)]
    write(3, keep=1)
    assert runs(write.folder) == [run_id(3)]


def test_a_new_run_is_not_removed_before_it_is_locked(write, monkeypatch):
    """Who removes old runs holds the lock on the report folder."""
    lock, tries = fcntl.flock, []

    def flock(handle, operation):
        if operation == fcntl.LOCK_SH:
            other = os.open(str(write.folder), os.O_RDONLY)
            with pytest.raises(BlockingIOError):
                lock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(other)
            tries.append(history.names_in(str(write.folder / "runs")))
        return lock(handle, operation)

    monkeypatch.setattr(store.fcntl, "flock", flock)
    write(1)
    assert tries == [[run_id(1)]]


def test_many_runs_at_once(tmp_path):
    """Each process writes run after run, and removes all but two."""
    script = """
import json, sys
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import store
for number in range(10):
    _run.ID = "20261123T%02d%02d00Z-1" % (int(sys.argv[1]), number)
    fleet = {"run": _run.ID, "totals": {"pending": 0}}
    with store.opened(sys.argv[2]) as opened:
        store.write_node(opened, "a", json.dumps({"host": "a", "run": _run.ID}))
        store.write_fleet(opened, fleet, {"fleet.json": json.dumps(fleet)}, keep=2)
"""
    folder = tmp_path / "report"
    running = [subprocess.Popen([sys.executable, "-c", script, str(number), str(folder)], stderr=subprocess.PIPE,
                                env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))) for number in range(3)]
    assert [process.communicate()[1] for process in running] == [b""] * 3
    assert (folder / "latest" / "fleet.json").exists() and 2 <= len(runs(folder)) <= 4
    for run in runs(folder):
        assert run_of(folder / "runs" / run) == {run}


def test_a_folder_in_the_place_of_the_link(write):
    write.folder.mkdir()
    (write.folder / "latest").mkdir()
    with pytest.raises(BadInput, match="^The link .*/latest to the last run could not be created: "):
        write(1)
    assert not [name for name in os.listdir(str(write.folder)) if name.startswith(".")]


@pytest.mark.parametrize("call", ["link", "symlink"])
def test_a_file_system_without_links(write, monkeypatch, call):
    def refuse(*_arguments, **_options):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(store.os, call, refuse)
    write(1)
    assert files(write.folder / "runs" / run_id(1)) == {
        name: text for name, text in files(write.folder).items() if not name.startswith("runs")}
    assert pathlib.Path(write.folder / "latest").is_symlink() == (call == "link")
