# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks into the root of a container: no file in it leads out of the root, blocks the look, or is run."""

import os
import shutil
import time

import pytest

from case_rows import cases
import node_tree
from node_processes import Sleeper, enter, entering, mount, needs_fuse, needs_mounts, needs_root, private_mounts
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import container

HOSTILE = {
    "etc/config": "mode: ipvs\n",
    "etc/passwd-of-the-node": node_tree.link("/etc/passwd"),
    "etc/climbing": node_tree.link("../../../../../../../etc/passwd"),
    "etc/through": node_tree.link("/proc/1/root/etc/passwd"),
    "etc/loop": node_tree.link("loop"),
    "etc/linked": node_tree.link("/usr/../etc/./config"),
    "etc/pipe": node_tree.FIFO,
    "etc/huge": node_tree.sparse(10 * 1024 ** 3),
    "etc/folder/x": "",
    "usr/sbin/iptables": node_tree.FIFO,
    "usr/sbin/conntrack": node_tree.link("/opt/conntrack"),
    "opt/conntrack": node_tree.executable("#!/bin/sh\ntouch /ran\n"),
    "usr/bin/nft": node_tree.link("/nowhere"),
    "usr/bin/ipset": node_tree.link("/etc/folder"),
}
FINDS = ("conntrack", "ipset", "iptables", "nft", "none")


@pytest.fixture
def root(tmp_path):
    return node_tree.unpack(HOSTILE, tmp_path)


def text(pid, start_time, path):
    return container.look_into(pid, start_time, [path], ())["texts"][path]


@needs_root
def test_what_is_there(root):
    with Sleeper(lambda: enter(root)) as process:
        begun = time.monotonic()
        found = container.look_into(process.pid, process.start_time, ["/etc/config", "/etc/linked"], FINDS)
    assert found == {
        "status": "ok", "texts": {"/etc/config": ["ok", "mode: ipvs\n"], "/etc/linked": ["ok", "mode: ipvs\n"]},
        # A FIFO and a directory of that name: how kube-proxy treats them is not known.
        "programs": {"conntrack": "present", "ipset": "unknown", "iptables": "unknown", "nft": "absent",
                     "none": "absent"},
    }
    assert time.monotonic() - begun < container.SECONDS
    assert not os.path.exists(root + "/ran")


@needs_root
@cases
def test_hostile_files(root, path, status):
    with Sleeper(lambda: enter(root)) as process:
        assert text(process.pid, process.start_time, path) == [status, ""]


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
def test_a_mount_that_never_answers(root):
    os.mkdir(root + "/mnt")
    with Sleeper(entering(root, "/mnt")) as process:
        begun = time.monotonic()
        found = container.look_into(process.pid, process.start_time, ["/mnt/config"], ("nft",))
        assert time.monotonic() - begun < container.SECONDS + 3
    assert found == {"status": "timeout", "texts": {"/mnt/config": ["timeout", ""]}, "programs": {"nft": "unknown"}}


@needs_root
def test_a_pid_that_was_reused(root):
    with Sleeper(lambda: enter(root)) as process:
        found = container.look_into(process.pid, "1", ["/etc/config"], ("conntrack",))
    assert found == {"status": "absent", "texts": {"/etc/config": ["absent", ""]}, "programs": {"conntrack": "unknown"}}


def test_a_pid_that_vanished():
    with Sleeper(lambda: None) as process:
        pid, start_time = process.pid, process.start_time
    found = container.look_into(pid, start_time, ["/etc/passwd"], ("sh",))
    assert found == {"status": "absent", "texts": {"/etc/passwd": ["absent", ""]}, "programs": {"sh": "unknown"}}


@needs_root
def test_a_root_that_went_away(root):
    with Sleeper(lambda: enter(root)) as process:
        shutil.rmtree(root)
        found = container.look_into(process.pid, process.start_time, ["/etc/config"], ("nft",))
    assert found["texts"]["/etc/config"][0] == "absent" and found["programs"] == {"nft": "absent"}


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
