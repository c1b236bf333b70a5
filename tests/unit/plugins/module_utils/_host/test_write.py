# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file is replaced as a whole or not at all, and keeps whose it is."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from node_tree import FIFO, link, mode, open_folder, unpack
from node_processes import as_nobody, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import apart as host_apart, write
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host

FILL = """
import os, sys
sys.path[:0] = %r
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import write
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
try:
    write.replace(Host(sys.argv[1]), "/full/a.conf", "x" * 200000)
except _errors.ChangeFailed as error:
    print(error, os.listdir(sys.argv[1] + "/full"), open(sys.argv[1] + "/full/a.conf").read())
"""


def names(folder):
    return sorted(os.listdir(str(folder)))


def test_a_new_file_gets_its_mode_and_its_folders(tmp_path):
    write.replace(Host(str(tmp_path)), "/etc/modules-load.d/a.conf", "ip_vs\n", 0o640)
    written = tmp_path / "etc/modules-load.d/a.conf"
    assert written.read_text() == "ip_vs\n"
    assert written.stat().st_mode & 0o777 == 0o640
    assert names(written.parent) == ["a.conf"]


def test_an_old_file_keeps_mode_owner_and_attributes(tmp_path):
    unpack({"etc/a.conf": mode(0o604, "old\n")}, tmp_path)
    path = str(tmp_path / "etc/a.conf")
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    try:
        os.setxattr(path, "user.label", b"kept")
        attributes = True
    except OSError:
        attributes = False  # A file system without them has nothing to keep.
    before = os.stat(path)
    write.replace(Host(str(tmp_path)), "/etc/a.conf", "new\n")
    after = os.stat(path)
    assert open(path).read() == "new\n"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert not attributes or os.getxattr(path, "user.label") == b"kept"


def test_every_byte_comes_back_and_what_is_no_file_is_not_read(tmp_path):
    data = bytes(range(256)) + b"\r\n\r \xc3"
    unpack({"etc/a.conf": data, "etc/pipe": FIFO}, tmp_path)
    host = Host(str(tmp_path))
    write.replace(host, "/etc/b.conf", write.read_exactly(host, "/etc/a.conf"))
    assert (tmp_path / "etc/b.conf").read_bytes() == data
    with pytest.raises(_errors.ChangeFailed, match="cannot be read"):
        write.read_exactly(host, "/etc/pipe")


def test_an_absolute_link_stays_inside_the_tree(tmp_path):
    unpack({"etc/a": link("/data/a"), "data/.keep": ""}, tmp_path)
    write.replace(Host(str(tmp_path)), "/etc/a", "text\n")
    assert (tmp_path / "data/a").read_text() == "text\n"
    assert os.path.islink(str(tmp_path / "etc/a"))


def test_a_folder_in_the_place_of_the_file_is_told_before_anything_is_written(tmp_path):
    unpack({"etc/a.conf/inner": "x"}, tmp_path)
    assert "not a regular file" in write.may_write(Host(str(tmp_path)), "/etc/a.conf")
    assert write.may_write(Host(str(tmp_path)), "/etc/new/b.conf") is None


@needs_root
def test_another_user_is_told_so():
    tree = unpack({"etc/.keep": ""}, open_folder())
    assert "become root" in as_nobody(lambda: write.may_write(Host(tree), "/etc/a.conf"))


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
                    write.replace(host, "/a.conf", text)
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_text() in texts
    assert not [name for name in names(tmp_path) if name != "a.conf" and name.endswith(".conf")]


def test_a_file_with_another_name_is_refused_before_and_while_it_is_written(tmp_path):
    unpack({"etc/a.conf": "old\n"}, tmp_path)
    os.link(str(tmp_path / "etc/a.conf"), str(tmp_path / "etc/other"))
    host = Host(str(tmp_path))
    assert "it has a hard link, which would keep the old text" in write.may_write(host, "/etc/a.conf")
    with pytest.raises(_errors.ChangeFailed, match="hard link"):
        write.replace(host, "/etc/a.conf", "new\n")
    assert (tmp_path / "etc/other").read_text() == "old\n" and names(tmp_path / "etc") == ["a.conf", "other"]


def test_what_is_being_written_lies_apart_and_gets_its_mode_last(tmp_path, monkeypatch):
    unpack({"etc/network/if-up.d/fw": mode(0o4755, "old\n")}, tmp_path)
    folder, seen = tmp_path / "etc/network/if-up.d", []
    real = {"write": os.write, "fchmod": os.fchmod, "rename": os.rename}

    def watched(name):
        def instead(*args):
            apart = folder / next(each for each in names(folder) if each != "fw")
            held = (apart / "new").stat().st_mode & 0o7777
            seen.append((name, apart.name.startswith(".kubenode-"), apart.stat().st_mode & 0o7777, held,
                         (apart / "new").read_text()))
            return real[name](*args)
        return instead
    for name in real:
        monkeypatch.setattr(os, name, watched(name))
    write.replace(Host(str(tmp_path)), "/etc/network/if-up.d/fw", "new\n")
    monkeypatch.undo()
    assert seen == [("write", True, 0o700, 0o600, ""), ("fchmod", True, 0o700, 0o600, "new\n"),
                    ("rename", True, 0o700, 0o4755, "new\n")]
    assert names(folder) == ["fw"] and (folder / "fw").stat().st_mode & 0o7777 == 0o4755


def test_what_another_run_works_in_is_no_leftover(tmp_path):
    unpack({"etc/.kubenode-old": "from an earlier release",
            "etc/.kubenode-link": link("/x"), "etc/.kubenode-killed/new": "half"}, tmp_path)
    host = Host(str(tmp_path))
    with host_apart.apart(str(tmp_path / "etc")) as mine:
        ours = os.path.basename(mine)
        assert host_apart.leftovers(host, ["/etc"]) == ["/etc/.kubenode-killed", "/etc/.kubenode-link",
                                                        "/etc/.kubenode-old"]
        write.remove_leftovers(host, ["/etc", "/nowhere"])
        assert names(tmp_path / "etc") == [ours]
    assert names(tmp_path / "etc") == []


def test_runs_that_tidy_do_not_disturb_those_that_write(tmp_path):
    (tmp_path / "etc").mkdir()
    host, children = Host(str(tmp_path)), []
    for number in range(6):
        child = os.fork()
        if child == 0:
            try:
                for turn in range(60):
                    if number % 2:
                        write.remove_leftovers(host, ["/etc"])
                    else:
                        write.replace(host, "/etc/%d.conf" % number, "%d\n" % turn)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
    assert names(tmp_path / "etc") == ["0.conf", "2.conf", "4.conf"]


def failing(_path):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_directory_that_cannot_be_synced_is_told_as_what_it_is(tmp_path, monkeypatch):
    unpack({"etc/a.conf": "old\n"}, tmp_path)
    monkeypatch.setattr(write, "_sync_folder", failing)
    message = "/etc/a.conf was written, but a power failure may undo that"
    with pytest.raises(_errors.ChangeFailed, match=message) as caught:
        write.replace(Host(str(tmp_path)), "/etc/a.conf", "new\n")
    assert (caught.value.files == ["/etc/a.conf"] and caught.value.changed
            and (tmp_path / "etc/a.conf").read_text() == "new\n")


def test_attributes_that_cannot_be_read_are_never_dropped(tmp_path, monkeypatch):
    unpack({"etc/a.conf": "old\n"}, tmp_path)
    monkeypatch.setattr(os, "listxattr", failing)
    with pytest.raises(_errors.ChangeFailed, match="Input/output error"):
        write.replace(Host(str(tmp_path)), "/etc/a.conf", "new\n")
    assert (tmp_path / "etc/a.conf").read_text() == "old\n" and names(tmp_path / "etc") == ["a.conf"]
