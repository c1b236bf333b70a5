# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file is replaced as a whole or not at all, and keeps whose it is."""

import os
import signal
import subprocess
import sys
import time

import pytest

import node_tree
from node_processes import as_nobody, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors, _host_change
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import Host


def names(folder):
    return sorted(os.listdir(str(folder)))


def test_a_new_file_gets_its_mode_and_its_folders(tmp_path):
    _host_change.replace(Host(str(tmp_path)), "/etc/modules-load.d/a.conf", "ip_vs\n", 0o640)
    written = tmp_path / "etc/modules-load.d/a.conf"
    assert written.read_text() == "ip_vs\n"
    assert written.stat().st_mode & 0o777 == 0o640
    assert names(written.parent) == ["a.conf"]


def test_an_old_file_keeps_mode_owner_and_attributes(tmp_path):
    node_tree.unpack({"etc/a.conf": node_tree.mode(0o604, "old\n")}, tmp_path)
    path = str(tmp_path / "etc/a.conf")
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    try:
        os.setxattr(path, "user.label", b"kept")
        attributes = True
    except OSError:
        attributes = False  # A file system without them has nothing to keep.
    before = os.stat(path)
    _host_change.replace(Host(str(tmp_path)), "/etc/a.conf", "new\n")
    after = os.stat(path)
    assert open(path).read() == "new\n"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert not attributes or os.getxattr(path, "user.label") == b"kept"


def test_every_byte_comes_back(tmp_path):
    data = bytes(range(256)) + b"\r\n\r \xc3"
    node_tree.unpack({"etc/a.conf": data}, tmp_path)
    host = Host(str(tmp_path))
    _host_change.replace(host, "/etc/b.conf", _host_change.read_exactly(host, "/etc/a.conf"))
    assert (tmp_path / "etc/b.conf").read_bytes() == data


def test_an_absolute_link_stays_inside_the_tree(tmp_path):
    node_tree.unpack({"etc/a": node_tree.link("/data/a"), "data/.keep": ""}, tmp_path)
    _host_change.replace(Host(str(tmp_path)), "/etc/a", "text\n")
    assert (tmp_path / "data/a").read_text() == "text\n"
    assert os.path.islink(str(tmp_path / "etc/a"))


def test_a_folder_in_the_place_of_the_file_is_told_before_anything_is_written(tmp_path):
    node_tree.unpack({"etc/a.conf/inner": "x"}, tmp_path)
    assert "no regular file" in _host_change.may_write(Host(str(tmp_path)), "/etc/a.conf")
    assert _host_change.may_write(Host(str(tmp_path)), "/etc/new/b.conf") is None


@needs_root
def test_another_user_is_told_so():
    tree = node_tree.unpack({"etc/.keep": ""}, node_tree.open_folder())
    assert "become root" in as_nobody(lambda: _host_change.may_write(Host(tree), "/etc/a.conf"))


FILL = """
import os, sys
sys.path[:0] = %r
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors, _host_change
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import Host
try:
    _host_change.replace(Host(sys.argv[1]), "/full/a.conf", "x" * 200000)
except _errors.ChangeFailed as error:
    print(error, os.listdir(sys.argv[1] + "/full"), open(sys.argv[1] + "/full/a.conf").read())
"""


@needs_root
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "full").mkdir()
    script = 'mount -t tmpfs -o size=64k none "$1/full" && echo old > "$1/full/a.conf" && exec "$0" -c "$2" "$1"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script.replace("$0", sys.executable), "sh", str(tmp_path), FILL % (sys.path,)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    assert done.stdout == "/full/a.conf cannot be written: No space left on device ['a.conf'] old\n\n", done.stdout


def test_a_kill_in_the_middle_leaves_the_old_or_the_new_file(tmp_path):
    texts = ["a" * 300000, "b" * 200000]
    host, path = Host(str(tmp_path)), tmp_path / "a.conf"
    path.write_text(texts[0])
    for pause in (0.001, 0.004, 0.01, 0.03):
        child = os.fork()
        if child == 0:
            while True:
                for text in texts:
                    _host_change.replace(host, "/a.conf", text)
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_text() in texts
    assert not [name for name in names(tmp_path) if name != "a.conf" and name.endswith(".conf")]


def test_what_is_no_file_is_not_read(tmp_path):
    node_tree.unpack({"etc/a.conf": node_tree.FIFO}, tmp_path)
    with pytest.raises(_errors.ChangeFailed, match="cannot be read"):
        _host_change.read_exactly(Host(str(tmp_path)), "/etc/a.conf")
