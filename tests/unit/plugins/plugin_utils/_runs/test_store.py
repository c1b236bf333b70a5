# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report files: names that cannot leave the folder, modes, and a folder that cannot be written."""

import json
import os
import pathlib
import stat

import pytest
from case_rows import cases
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import store


def write(folder, host, text):
    with store.opened(str(folder)) as opened:
        return store.write_node(opened, host, text)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_for_their_owner_and_replaced_as_a_whole(tmp_path):
    folder = tmp_path / "a" / "report"
    write(folder, "x", "one")
    path = folder / "nodes" / "x.json"
    assert write(folder, "x", "two") == str(path)
    assert path.read_text() == "two"
    assert mode_of(path) == 0o600
    assert os.listdir(str(folder / "nodes")) == ["x.json"]
    with store.opened(str(folder)) as opened:
        assert store.write_fleet(opened, roll_up(0), {"fleet.json": "all"}) == ([str(folder / "fleet.json")], True)
    assert (folder / "fleet.json").read_text() == "all"


def roll_up(pending, run="now"):
    return {"run": run, "totals": {"pending": pending}}


def test_where_hosts_report_one_by_one_the_roll_up_with_fewer_pending_hosts_stays(tmp_path):
    with store.opened(str(tmp_path / "report")) as opened:
        told = [store.write_fleet(opened, roll_up(pending, run), {"fleet.json": json.dumps(roll_up(pending, run))},
                                  newer=False)[1]
                for pending, run in ((9, "before"), (2, "now"), (3, "now"), (0, "now"), (0, "now"))]
    assert told == [False, False, False, True, False]
    assert json.loads((tmp_path / "report" / "fleet.json").read_text()) == roll_up(0)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="^The report folder .*/file could not be created: "):
        write(tmp_path / "file", "x", "")
    with pytest.raises(BadInput, match="^The report folder .*/file/below could not be created: "):
        write(tmp_path / "file" / "below", "x", "")


def test_nothing_stays_where_a_file_cannot_be_replaced(tmp_path):
    (tmp_path / "nodes" / "x.json" / "inside").mkdir(parents=True)
    with pytest.raises(BadInput, match="^The report .*x.json could not be written: "):
        write(tmp_path, "x", "text")
    assert os.listdir(str(tmp_path / "nodes")) == ["x.json"]


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_what_is_made_is_writable_by_its_owner_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        path = pathlib.Path(write(tmp_path / "a" / "b" / "report", "x", "text"))
    finally:
        os.umask(before)
    assert [mode_of(folder) & 0o022 for folder in path.parents[:4]] == [0, 0, 0, 0]
    assert [mode_of(part) for part in (path, path.parent, path.parents[1])] == [0o600, 0o700, 0o700]


@pytest.mark.parametrize("inside", ["", "nodes"])
def test_a_folder_that_is_a_symbolic_link(tmp_path, inside):
    victim = tmp_path / "victim"
    victim.mkdir()
    link = tmp_path / "report" / inside
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(victim)
    with pytest.raises(BadInput, match="is a symbolic link; set node_report_folder"):
        write(tmp_path / "report", "x", "text")
    assert list(victim.iterdir()) == []
    link.unlink()
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="is a symbolic link"):
        write(tmp_path / "report", "x", "text")


@pytest.mark.parametrize("mode", [0o775, 0o777, 0o757])
def test_a_report_folder_of_the_user_is_made_safe(tmp_path, mode):
    """As umask 002 leaves it, empty or with reports in it."""
    for _run in "ab":
        for folder in (tmp_path, tmp_path / "nodes"):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        write(tmp_path, "x", "text")
        assert [mode_of(folder) for folder in (tmp_path, tmp_path / "nodes")] == [mode & ~0o022] * 2


@pytest.mark.parametrize("mode, others",
                         [(0o775, ["my.txt"]), (0o1777, []), (0o777, ["fleet.json", "nodes", ".profile"])])
def test_a_folder_that_is_not_for_reports_alone_keeps_its_mode(tmp_path, mode, others):
    for name in others:
        (tmp_path / name).write_text("")
    tmp_path.chmod(mode)
    with pytest.raises(BadInput, match="is writable by other users, .* or run: chmod go-w " + str(tmp_path)):
        write(tmp_path, "x", "text")
    assert mode_of(tmp_path) == mode and sorted(os.listdir(str(tmp_path))) == sorted(others)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
@pytest.mark.parametrize("inside", ["", "nodes"])
def test_a_folder_of_another_user(tmp_path, inside):
    folder = tmp_path / inside
    folder.mkdir(exist_ok=True)
    os.chown(str(folder), 65534, -1)
    with pytest.raises(BadInput, match="belongs to the user with id 65534"):
        write(tmp_path, "x", "text")
    assert not list(tmp_path.rglob("*.json"))


def test_a_file_that_is_a_link_is_replaced_not_followed(tmp_path):
    (tmp_path / "nodes").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "nodes" / "x.json").symlink_to(victim)
    assert store.earlier_conntrack(str(tmp_path), "x")["peak"] == 0
    path = pathlib.Path(write(tmp_path, "x", "text"))
    assert victim.read_text() == "precious" and path.read_text() == "text" and not path.is_symlink()


def test_a_folder_that_is_swapped_while_it_is_open(tmp_path):
    folder, victim = tmp_path / "report", tmp_path / "victim"
    victim.mkdir()
    with store.opened(str(folder)) as opened:
        (folder / "nodes").rename(tmp_path / "old")
        (folder / "nodes").symlink_to(victim)
        store.write_node(opened, "x", "text")
    assert list(victim.iterdir()) == [] and (tmp_path / "old" / "x.json").read_text() == "text"


@cases
def test_names(host, name):
    assert store.file_name(host) == name


@given(st.lists(st.text(st.characters(), max_size=8) | st.text("a.\u4e16/", min_size=190, max_size=400), unique=True,
                max_size=5))
def test_names_stay_in_the_folder_and_differ(hosts):
    names = [store.file_name(host) for host in hosts]
    assert len(set(names)) == len(names)
    long = store.file_name("x" * 300)
    assert store.file_name(long[:-len(".json")]) != long
    assert all("/" not in name and not name.startswith(".") and name.isascii() and name.isprintable()
               and len(name) <= 255 for name in names)


@pytest.mark.parametrize("host", ["\u4e16" * 300, "x" * 5000, "a/../b", "\0", "..", "\udcff"])
def test_any_name_has_a_file(tmp_path, host):
    assert store.earlier_conntrack(str(tmp_path), host)["peak"] == 0
    write(tmp_path, host, '{"conntrack_peak": 7}')
    assert store.earlier_conntrack(str(tmp_path), host)["peak"] == 7
    assert len(os.listdir(str(tmp_path / "nodes"))) == 1


@cases
def test_a_report_that_says_anything_else_says_nothing(tmp_path, text):
    (tmp_path / "nodes").mkdir()
    with open(store.node_path(str(tmp_path), "a"), "wb") as stream:
        stream.write(text.encode("latin-1"))
    assert store.earlier_conntrack(str(tmp_path), "a")["peak"] == 0


def test_a_report_that_is_no_file(tmp_path):
    (tmp_path / "nodes").mkdir()
    os.mkfifo(store.node_path(str(tmp_path), "pipe"))
    os.mkdir(store.node_path(str(tmp_path), "folder"))
    assert [store.earlier_conntrack(str(tmp_path), name)["peak"] for name in ("pipe", "folder")] == [0, 0]


def test_a_full_disk_is_one_sentence_with_the_next_step(tmp_path, monkeypatch):
    def full(*_arguments, **_options):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(store.os, "replace", full)
    with pytest.raises(BadInput, match="could not be written: No space left on device; free some, or set "
                                       "node_report_folder to a folder with room$"):
        write(tmp_path / "report", "x", "one")
