# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the bytes of a program in the root of a container."""

import os
import time

import pytest

import node_tree
from node_processes import Sleeper, enter, entering, needs_fuse, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import container

LIMIT = 100000
TREE = {
    "usr/sbin/iptables": node_tree.link("/etc/alternatives/iptables"),
    "etc/alternatives/iptables": node_tree.link("/usr/sbin/xtables-nft-multi"),
    "usr/sbin/xtables-nft-multi": b"\x7fELF\0" + bytes(bytearray(range(256))) * 300,
    "opt/to-the-node": node_tree.link("/etc/passwd"),
    "opt/climbing": node_tree.link("../../../../../../etc/passwd"),
    "opt/loop": node_tree.link("loop"),
    "opt/pipe": node_tree.FIFO,
    "opt/huge": node_tree.sparse(10 * 1024 ** 3),
    "opt/full": node_tree.sparse(LIMIT),
    "opt/too-full": node_tree.sparse(LIMIT + 1),
    "opt/empty": "",
    "opt/folder/x": "",
}


@pytest.fixture
def root(tmp_path):
    return node_tree.unpack(TREE, tmp_path)


def read(root, *paths):
    with Sleeper(lambda: enter(root)) as process:
        return container.read_first(process.pid, process.start_time, paths, LIMIT)


@needs_root
def test_the_first_that_is_there(root):
    found, data = read(root, "/usr/local/sbin/iptables", "/usr/sbin/iptables", "/opt/pipe")
    about = os.stat(root + "/usr/sbin/xtables-nft-multi")
    assert found == {"status": "ok", "path": "/usr/sbin/iptables", "device": about.st_dev, "inode": about.st_ino}
    assert data == TREE["usr/sbin/xtables-nft-multi"]


@needs_root
@pytest.mark.parametrize("paths", [(), ("/usr/local/sbin/iptables",),
                                   ("/opt/to-the-node", "/opt/climbing", "/opt/loop", "/etc/alternatives/iptables/x")])
def test_nothing_there(root, paths):
    assert read(root, *paths) == ({"status": "absent", "path": None, "device": 0, "inode": 0}, b"")


@needs_root
@pytest.mark.parametrize("path", ["/opt/pipe", "/opt/huge", "/opt/too-full", "/opt/folder", "/"])
def test_what_is_no_file_of_that_size_is_not_passed_over(root, path):
    begun = time.monotonic()
    assert read(root, path, "/usr/sbin/iptables") == ({"status": "unparsed", "path": path, "device": 0, "inode": 0},
                                                      b"")
    assert time.monotonic() - begun < container.SECONDS


@needs_root
def test_sizes_at_the_limit(root):
    assert read(root, "/opt/full")[1] == b"\0" * LIMIT
    assert read(root, "/opt/empty")[0]["status"] == "ok" and read(root, "/opt/empty")[1] == b""


@needs_root
def test_a_pid_that_was_reused(root):
    with Sleeper(lambda: enter(root)) as process:
        assert container.read_first(process.pid, "1", ["/usr/sbin/iptables"], LIMIT)[0]["status"] == "absent"


def test_a_pid_that_vanished():
    with Sleeper(lambda: None) as process:
        pid, start_time = process.pid, process.start_time
    assert container.read_first(pid, start_time, ["/bin/sh"],
                                1 << 24) == ({"status": "absent", "path": None, "device": 0, "inode": 0}, b"")


@needs_fuse
def test_a_mount_that_never_answers(root):
    os.mkdir(root + "/mnt")
    with Sleeper(entering(root, "/mnt")) as process:
        found = container.read_first(process.pid, process.start_time, ["/mnt/iptables", "/usr/sbin/iptables"], LIMIT)
    assert found == ({"status": "timeout", "path": None, "device": 0, "inode": 0}, b"")
