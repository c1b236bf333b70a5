# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many files read at once: which are, and what no file system can do to the look."""

import os
import socket

import pytest

from case_rows import cases
from node_tree import DIRECTORY, FIFO, compressed, link, mode, open_folder, sparse, unpack
from node_processes import as_nobody
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import walk as host_walk
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host

TREE = {"top/b": "two", "top/a": mode(0o750, "one"), "top/sub/c": "three", "top/sub/deep/d": "four", "top/empty": ""}


def all_of(_data):
    return True


def walk(manifest, tmp_path, wanted=all_of, depth=0, **limits):
    """(walk, what `below` returns, what was noted)."""
    host = Host(unpack(manifest, tmp_path))
    looked = host_walk.Walk(host, **limits)
    with host.noting() as notes:
        found = looked.below("/top", wanted, depth)
    return looked, found, dict(notes)


def paths(found):
    return [each.path for each in found]


@cases
def test_files_in_their_order_as_deep_as_asked(depth, expected, tmp_path):
    looked, (status, found), notes = walk(TREE, tmp_path, depth=depth)
    assert (status, paths(found)) == ("ok", expected)
    assert (found[0].data, found[0].mode) == (b"one", 0o750)
    assert (looked.files, looked.bytes) == (len(expected) + 1, sum(len(each.data) for each in found))


def test_what_is_no_text_is_put_away(tmp_path):
    manifest = {"top/elf": b"\x7fELF\x02\x01", "top/zero": b"no script\n\0iptables -F\n",
                "top/late": b"x" * 70000 + b"\0", "top/text": "iptables -F\n"}
    looked, (status, found), notes = walk(manifest, tmp_path)
    assert (status, paths(found), notes) == ("ok", ["/top/text"], {})


@pytest.mark.parametrize("data", [b"#!/bin/sh\nipt\0ables -F\n", b"#!/bin/sh\n" + b"#" * 70000 + b"\0\niptables -F\n"])
def test_a_script_with_nul_bytes_is_not_known(data, tmp_path):
    """dash and bash pass over the bytes and run the rest."""
    looked, (status, found), notes = walk({"top/zero": data, "top/dull": b"#!/bin/sh\nexit\n\0\1\2"}, tmp_path,
                                          lambda each: b"iptables" in each)
    assert (status, found, notes) == ("ok", [], {"/top/zero": host_walk.HOLDS_NUL})


def test_huge_files_are_named_and_holes_are_not_read(tmp_path):
    manifest = {"top/hole": sparse(10 * 1024 * 1024 * 1024), "top/log": "iptables -F\n" * 100000,
                "top/edge": "x" * host_walk.FILE_LIMIT}
    looked, (status, found), notes = walk(manifest, tmp_path)
    assert (status, paths(found)) == ("ok", ["/top/edge"])
    assert notes == {"/top/log": host_walk.LARGE}


def test_of_huge_files_only_scripts_are_missed_where_people_keep_anything(tmp_path):
    manifest = {"top/data": "x" * 2000000, "top/script": "#!/bin/sh\n" + "x" * 2000000, "top/named.sh": "x" * 2000000}
    assert sorted(walk(manifest, tmp_path,
                       worth=lambda path: path.endswith(".sh"))[2]) == ["/top/named.sh", "/top/script"]


def test_fifos_and_sockets_are_not_opened(tmp_path):
    unpack({"top/fifo": FIFO, "top/a": "text", "top/linked": link("/top/fifo")}, tmp_path)
    server = socket.socket(socket.AF_UNIX)
    before = os.getcwd()
    os.chdir(str(tmp_path))
    try:
        server.bind("top/socket")
        looked = host_walk.Walk(Host(str(tmp_path)))
        status, found = looked.below("/top", all_of)
    finally:
        os.chdir(before)
        server.close()
    assert (status, paths(found)) == ("ok", ["/top/a"])


def test_links_lead_inside_of_the_tree_and_in_no_circle(tmp_path):
    manifest = {"top/loop": link("loop"), "top/folder/up": link(".."), "top/away": link("/etc/hostname"),
                "top/out": link("../../../../../etc/passwd"), "top/good": link("/else/where"), "else/where": "text",
                "top/gone": link("/nothing"), "top/dir": link("/else")}
    looked, (status, found), notes = walk(manifest, tmp_path, depth=9)
    assert [(each.path, each.data) for each in found] == [("/top/good", b"text")] and status == "ok"


def test_what_may_not_be_read_is_named():
    tree = unpack({"top/a": mode(0, "x"), "top/b": mode(0o644, "y"), "top/sub": DIRECTORY}, open_folder())

    def look():
        host = Host(tree)
        with host.noting() as notes:
            status, found = host_walk.Walk(host).below("/top", all_of, 0)
        return [status, paths(found), dict(notes)]
    assert as_nobody(look) == ["ok", ["/top/b"], {"/top/a": "denied"}]


@pytest.mark.parametrize("limits", [{"files_limit": 2}, {"bytes_limit": 4}, {"seconds": -1}])
def test_a_limit_ends_it_and_is_told(limits, tmp_path):
    looked, (status, found), notes = walk({"top/%d" % number: "xxxx" for number in range(9)}, tmp_path, **limits)
    assert status == "timeout" and not looked.done and len(found) < 9
    assert set(notes.values()) == {host_walk.LATE}


def test_only_reading_is_counted_and_that_of_folders_alone_may_end_it(tmp_path, monkeypatch):
    """On a slow machine the work between two files takes long: it hides none of them. A slow disk ends the look."""
    clock, scandir = [0.0], host_walk.os.scandir

    def judged(_data):
        clock[0] += 100
        return True

    def slow(path):
        clock[0] += 15
        return scandir(path)
    monkeypatch.setattr(host_walk.time, "monotonic", lambda: clock[0])
    looked = host_walk.Walk(Host(unpack({"top/%d" % number: "xxxx" for number in range(9)}, str(tmp_path / "files"))))
    assert len(looked.below("/top", judged)[1]) == 9 and looked.done
    monkeypatch.setattr(host_walk.os, "scandir", slow)
    root = unpack({"top/a/a": "x", "top/b/b": "x", "top/c/c": "x"}, str(tmp_path / "folders"))
    assert host_walk.Walk(Host(root)).below("/top", all_of, 1)[0] == "timeout"


def test_names_that_are_no_text(tmp_path):
    name = b"top/\xff\n\x1b[31m".decode("utf-8", "surrogateescape")
    try:
        found = walk({name: "text"}, tmp_path)[1][1]
    except UnicodeEncodeError:
        pytest.skip("this Python's file system encoding has no such names")
    assert paths(found) == ["/" + name]


def test_one_file(tmp_path):
    looked = host_walk.Walk(Host(unpack({"a": "text", "b": link("a"), "d/e": "", "z": compressed("x")}, tmp_path)))
    assert (looked.read("/b")[1].data == b"text" and looked.read("/d") == ("ok", None)
            and looked.read("/no") == ("absent", None))
    assert looked.read("/b", lambda data: False) == ("ok", None)
    assert looked.read("/z") == ("ok", None) and looked.read("/z", packed=True)[1].data[:2] == b"\x1f\x8b"
    assert looked.read("/no\0name") == ("absent", None) and looked.below("/nowhere", all_of) == ("absent", [])


def test_file_systems_of_others_are_not_entered(tmp_path):
    """The mount points of this machine are what they are; the kernel's own are among them everywhere."""
    host = Host("/")
    with host.noting() as notes:
        assert host_walk.Walk(host).below("/proc", all_of, 3) == ("unparsed", [])
    assert notes == {"/proc": host_walk.AWAY}
