# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks into the root of a container: no file in it leads out of the root, blocks the look, or is run; a whole program,
or where paths are, without opening any."""

import os
import shutil
import time

import pytest

from case_rows import cases
from node_tree import FIFO, executable, link, sparse, unpack
from node_processes import Sleeper, enter, entering, mount, needs_fuse, needs_mounts, needs_root, private_mounts
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import container

HOSTILE = {"etc/config": "mode: ipvs\n", "etc/passwd-of-the-node": link("/etc/passwd"),
           "etc/climbing": link("../../../../../../../etc/passwd"), "etc/through": link("/proc/1/root/etc/passwd"),
           "etc/loop": link("loop"), "etc/linked": link("/usr/../etc/./config"),
           "etc/pipe": FIFO, "etc/huge": sparse(10 * 1024 ** 3), "etc/folder/x": "", "usr/sbin/iptables": FIFO,
           "usr/sbin/conntrack": link("/opt/conntrack"), "opt/conntrack": executable("#!/bin/sh\ntouch /ran\n"),
           "usr/bin/nft": link("/nowhere"), "usr/bin/ipset": link("/etc/folder")}
FINDS = ("conntrack", "ipset", "iptables", "nft", "none")
LIMIT = 100000
PROGRAMS = {"usr/sbin/iptables": link("/etc/alternatives/iptables"),
            "etc/alternatives/iptables": link("/usr/sbin/xtables-nft-multi"),
            "usr/sbin/xtables-nft-multi": b"\x7fELF\0" + bytes(bytearray(range(256))) * 300,
            "opt/to-the-node": link("/etc/passwd"), "opt/climbing": link("../../../../../../etc/passwd"),
            "opt/loop": link("loop"), "opt/pipe": FIFO, "opt/huge": sparse(10 * 1024 ** 3),
            "opt/full": sparse(LIMIT), "opt/too-full": sparse(LIMIT + 1), "opt/empty": "", "opt/folder/x": ""}
PATHS = {"run/xtables.lock": "", "var/run": link("/run"), "etc/out": link("/etc/passwd"), "etc/pipe": FIFO, "etc/x": ""}
NOTHING = {"device": 0, "inode": 0, "modified": 0}
# Each kind of look at a path below `top`, and its result where nothing answers: that of `status`.
LOOKS = {
    "texts": (lambda pid, start, top: container.look_into(pid, start, [top + "/config"], ("conntrack",)),
              lambda top, status: {"status": status, "texts": {top + "/config": [status, ""]},
                                   "programs": {"conntrack": "unknown"}}),
    "the first": (lambda pid, start, top: container.read_first(pid, start, [top + "/config", "/opt/conntrack"], LIMIT),
                  lambda _top, status: (dict(NOTHING, status=status, path=None), b"")),
    "stat": (lambda pid, start, top: container.stat_in(pid, start, [top + "/config"]),
             lambda top, status: {top + "/config": [status, None, None, None]})}


@pytest.fixture
def root(tmp_path):
    return unpack(HOSTILE, tmp_path)


@pytest.fixture
def programs(tmp_path):
    return unpack(PROGRAMS, tmp_path)


def inside(root, look, *arguments):
    with Sleeper(lambda: enter(root)) as process:
        return look(process.pid, process.start_time, *arguments)


def text(pid, start_time, path):
    return container.look_into(pid, start_time, [path], ())["texts"][path]


@needs_root
def test_what_is_there(root):
    begun = time.monotonic()
    assert inside(root, container.look_into, ["/etc/config", "/etc/linked"], FINDS) == {
        "status": "ok", "texts": {"/etc/config": ["ok", "mode: ipvs\n"], "/etc/linked": ["ok", "mode: ipvs\n"]},
        # A FIFO and a directory of that name: how kube-proxy treats them is not known.
        "programs": {"conntrack": "present", "ipset": "unknown", "iptables": "unknown", "nft": "absent",
                     "none": "absent"}}
    assert time.monotonic() - begun < container.SECONDS
    assert not os.path.exists(root + "/ran")


@needs_root
@cases
def test_hostile_files(root, path, status):
    assert inside(root, text, path) == [status, ""]


@needs_mounts
def test_proc_of_the_container_leads_back_into_it(root):
    os.mkdir(root + "/proc")

    def prepare():
        private_mounts()
        mount("proc", root + "/proc", "proc")
        enter(root)
    with Sleeper(prepare) as process:
        for path in ("/proc/self/root/etc/passwd", "/proc/%d/root/etc/passwd" % process.pid,
                     "/proc/%d/root/etc/passwd" % os.getpid()):
            assert text(process.pid, process.start_time, path)[1] == ""


@needs_fuse
@pytest.mark.parametrize("kind", sorted(LOOKS))
def test_a_mount_that_never_answers(kind, root):
    look, result = LOOKS[kind]
    os.mkdir(root + "/mnt")
    with Sleeper(entering(root, "/mnt")) as process:
        begun = time.monotonic()
        assert look(process.pid, process.start_time, "/mnt") == result("/mnt", "timeout")
        assert time.monotonic() - begun < container.SECONDS + 3


@needs_root
@pytest.mark.parametrize("kind", sorted(LOOKS))
def test_a_pid_that_was_reused_or_vanished(kind, root):
    look, result = LOOKS[kind]
    with Sleeper(lambda: enter(root)) as process:
        assert look(process.pid, "1", "/etc") == result("/etc", "absent")
    assert look(process.pid, process.start_time, "/etc") == result("/etc", "absent")


@needs_root
def test_a_root_that_went_away(root):
    with Sleeper(lambda: enter(root)) as process:
        shutil.rmtree(root)
        found = container.look_into(process.pid, process.start_time, ["/etc/config"], ("nft",))
    assert found["texts"]["/etc/config"][0] == "absent" and found["programs"] == {"nft": "absent"}


def first(root, *paths):
    return inside(root, container.read_first, paths, LIMIT)


@needs_root
def test_the_first_program_that_is_there_up_to_the_limit(programs):
    found, data = first(programs, "/usr/local/sbin/iptables", "/usr/sbin/iptables", "/opt/pipe")
    about = os.stat(programs + "/usr/sbin/xtables-nft-multi")
    assert found == {"status": "ok", "path": "/usr/sbin/iptables", "device": about.st_dev, "inode": about.st_ino,
                     "modified": int(about.st_mtime)}
    assert data == PROGRAMS["usr/sbin/xtables-nft-multi"]
    assert first(programs, "/opt/full")[1] == b"\0" * LIMIT
    assert first(programs, "/opt/empty")[0]["status"] == "ok" and first(programs, "/opt/empty")[1] == b""


@needs_root
@pytest.mark.parametrize("paths", [(), ("/usr/local/sbin/iptables",),
                                   ("/opt/to-the-node", "/opt/climbing", "/opt/loop", "/etc/alternatives/iptables/x")])
def test_no_program_is_there(programs, paths):
    assert first(programs, *paths) == (dict(NOTHING, status="absent", path=None), b"")


@needs_root
@pytest.mark.parametrize("path", ["/opt/pipe", "/opt/huge", "/opt/too-full", "/opt/folder", "/"])
def test_what_is_no_file_of_that_size_is_not_passed_over(programs, path):
    begun = time.monotonic()
    assert first(programs, path, "/usr/sbin/iptables") == (dict(NOTHING, status="unparsed", path=path), b"")
    assert time.monotonic() - begun < container.SECONDS


@needs_root
def test_kinds_and_numbers(tmp_path):
    root = unpack(PATHS, tmp_path)
    lock = os.stat(root + "/run/xtables.lock")
    found = inside(root, container.stat_in, ["/run/xtables.lock", "/var/run/xtables.lock", "/run", "/etc/pipe",
                                             "/etc/out", "/none", "/etc/x/y"])
    own = ["ok", "file", lock.st_dev, lock.st_ino]
    assert found["/run/xtables.lock"] == found["/var/run/xtables.lock"] == own
    assert found["/run"][:2] == ["ok", "directory"] and found["/etc/pipe"][:2] == ["ok", "other"]
    assert found["/etc/out"] == found["/none"] == found["/etc/x/y"] == ["absent", None, None, None]


@needs_root
def test_no_descriptor_and_no_child_is_left(root):
    reap()
    before = os.listdir("/proc/self/fd")
    with Sleeper(lambda: enter(root)) as process:
        for _time in range(3):
            container.look_into(process.pid, process.start_time,
                                ["/etc/" + name for name in ("config", "loop", "pipe")], FINDS)
    assert os.listdir("/proc/self/fd") == before
    assert reap() == 0


def reap():
    """The number of children that this process still had to reap; a child killed after a timeout is left for the end of
    the look."""
    count = 0
    try:
        while os.waitpid(-1, 0):
            count += 1
    except OSError:
        return count
