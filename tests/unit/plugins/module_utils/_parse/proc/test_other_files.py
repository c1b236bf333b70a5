# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of /proc about processes, locks and modules."""

import fcntl
import os

import pytest
from hypothesis import example, given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.cgroup import Place, parse_cgroup
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.locks import (
    Lock, device_of, parse_proc_locks)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.module_files import parse_proc_modules

# Pod and container of a process, from /proc/PID/cgroup.

UID = "a5c1f8d5-1919-434d-add7-4afaafdaef89"
BARS = UID.replace("-", "_")
STATIC = "c9b2a5f0d31e4b7a8f60e1d2c3b4a596"
ID = "5eed917563583925ffdbd40a64efb2aaffe58638e57add8becaf460fe74f5b1c"
OTHER = "9" * 64
PARSERS = {"cgroup": parse_cgroup, "locks": parse_proc_locks, "modules": parse_proc_modules,
           "locks of inode 1467": lambda text: parse_proc_locks(text, 1467),
           "locks of inode 467": lambda text: parse_proc_locks(text, 467)}


@cases
def test_what_is_read(parser, text, found):
    assert PARSERS[parser](text) == found


@pytest.mark.parametrize("form", ["0::%s\n", "12:freezer:%s\n11:cpu,cpuacct:/\n1:name=systemd:%s\n0::/\n",
                                  "3:cpuset:/\n2:memory:%s"])
@cases
def test_names_of_groups(path, uid, container, form):
    assert parse_cgroup(form.replace("%s", path)) == Place(uid, container)


@given(st.text())
@example("0::/pod" + "a" * 32)
def test_any_text_gives_a_sound_place_or_none(text):
    place = parse_cgroup(text)
    assert place is None or (place != Place(None, None) and len(place.container_id or ID) == 64
                             and len(place.pod_uid or UID) in (32, 36))


@given(st.uuids(), st.integers(0, 2 ** 256 - 1), st.booleans(), st.text(alphabet="abc/.-_:", max_size=20))
def test_what_kubelet_writes_is_read_back(uid, number, systemd, before):
    container = "%064x" % number
    path = ("/kubepods-pod%s.slice/cri-containerd-%s.scope" % (str(uid).replace("-", "_"), container)
            if systemd else "/kubepods/pod%s/%s" % (uid, container))
    assert parse_cgroup("0::/%s%s\n" % (before, path)) == Place(str(uid), container)


# Locks and modules.

WORDS = st.sampled_from(["FLOCK", "POSIX", "LEASE", "OFDLCK", "DELEG"])
LOCKS = st.builds(
    Lock, st.integers(1, 10 ** 6), st.booleans(), WORDS, st.sampled_from(["READ", "WRITE", "UNLCK"]),
    st.integers(-1, 4194304), st.tuples(st.integers(0, 0xfff), st.integers(0, 0xfffff)), st.integers(0, 2 ** 64 - 1))


def test_the_list_of_this_kernel(tmp_path):
    with open(str(tmp_path / "lock"), "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        found = os.fstat(stream.fileno())
        with open("/proc/locks") as listed:
            locks, unread = parse_proc_locks(listed.read(), found.st_ino)
    assert unread == [] and os.getpid() in [lock.pid for lock in locks if lock.kind == "FLOCK"]


@given(st.text())
@example("1: FLOCK  ADVISORY  WRITE 4711 00:19:1467 0 EO")
@example("7: -> FLOCK  ADVISORY  WRITE 1 00:19:1467 0 EOF\x0b8: FLOCK")
@example("a b c d Dead 0x0")
def test_no_line_is_lost(text):
    locks, unread = parse_proc_locks(text)
    assert len(locks) + len(unread) == len([line for line in text.splitlines() if line.strip()])
    states, unread = parse_proc_modules(text)
    for line in text.splitlines():
        assert not line.split() or line in unread or line.split()[0] in states


@given(st.lists(LOCKS))
def test_what_the_kernel_prints_is_read_back(locks):
    text = "".join("%d: %s%-6s %-9s %-5s %d %02x:%02x:%d 0 EOF\n"
                   % (
                       lock.number, "-> " if lock.waits else "", lock.kind, "ADVISORY", lock.mode, lock.pid,
                       lock.device[0], lock.device[1], lock.inode) for lock in locks)
    assert parse_proc_locks(text) == (locks, [])
    for wanted in locks[:3]:
        assert parse_proc_locks(text, wanted.inode)[0] == [lock for lock in locks if lock.inode == wanted.inode]


@given(st.integers(0, 2 ** 31 - 1), st.integers(0, 2 ** 31 - 1))
def test_numbers_of_devices(major, minor):
    assert device_of(os.makedev(major, minor)) == (major, minor)


NAMES = st.builds("".join, st.tuples(st.sampled_from("abcxyz"), st.text("abxyz_", max_size=9)))


@given(st.lists(st.tuples(NAMES, st.sampled_from(["Live", "Loading", "Unloading"])), unique_by=lambda pair: pair[0]))
def test_what_the_kernel_prints_is_read_back_modules(modules):
    text = "".join("%s 16384 1 - %s 0xffffffffc0000000\n" % pair for pair in modules)
    assert parse_proc_modules(text) == (dict(modules), [])
