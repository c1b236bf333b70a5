# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of /proc/locks."""

import fcntl
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.locks import (Lock, device_of,
                                                                                           parse_proc_locks)

# The second waiter waits for the first one, and so is one blank further in.
SAMPLE = """\
1: FLOCK  ADVISORY  WRITE 4711 00:19:1467 0 EOF
1: -> FLOCK  ADVISORY  WRITE 4712 00:19:1467 0 EOF
1:  -> FLOCK  ADVISORY  WRITE 0 00:19:1467 0 EOF
2: OFDLCK ADVISORY  READ -1 fe:00:5343541 100 100
3: POSIX  ADVISORY  WRITE 88 103:1f:14670 1073741826 1073742335
4: LEASE  ACTIVE    READ 12 08:01:9 0 EOF
5: FLOCK  ADVISORY  READ 13 <none>:0 0 EOF
6: POSIX  *NOINODE* WRITE 14 <none>:0 0 EOF
"""
WORDS = st.sampled_from(["FLOCK", "POSIX", "LEASE", "OFDLCK", "DELEG"])
LOCKS = st.builds(
    Lock, st.integers(1, 10 ** 6), st.booleans(), WORDS, st.sampled_from(["READ", "WRITE", "UNLCK"]),
    st.integers(-1, 4194304), st.tuples(st.integers(0, 0xfff), st.integers(0, 0xfffff)), st.integers(0, 2 ** 64 - 1))


def test_a_real_list():
    locks, unread = parse_proc_locks(SAMPLE)
    assert unread == []
    assert locks[:4] == [
        Lock(1, False, "FLOCK", "WRITE", 4711, (0, 0x19), 1467), Lock(1, True, "FLOCK", "WRITE", 4712, (0, 0x19), 1467),
        Lock(1, True, "FLOCK", "WRITE", 0, (0, 0x19), 1467), Lock(2, False, "OFDLCK", "READ", -1, (0xfe, 0), 5343541)]
    assert [(lock.kind, lock.device, lock.inode) for lock in locks[4:]] == [
        ("POSIX", (0x103, 0x1f), 14670), ("LEASE", (8, 1), 9), ("FLOCK", None, None), ("POSIX", None, None)]


def test_one_inode_only():
    assert [lock.pid for lock in parse_proc_locks(SAMPLE, 1467)[0]] == [4711, 4712, 0]
    assert parse_proc_locks(SAMPLE, 467) == ([], [])
    # The numbers of a range look the same.
    assert parse_proc_locks("1: POSIX  ADVISORY  WRITE 1 00:19:5 1467 1467\n", 1467) == ([], [])


@pytest.mark.parametrize("line", [
    "1: FLOCK  ADVISORY  WRITE 4711 00:19:1467 0", "1: FLOCK  ADVISORY  WRITE 4711 00:19:1467 0 EOF x", "FLOCK", "1:",
    "x: FLOCK  ADVISORY  WRITE 1 0:0:1 0 EOF",
    "1: FLOCK  ADVISORY  WRITE 4711 0x:19:1467 0 EOF", "\u0661: FLOCK  ADVISORY  WRITE 1 00:01:1 0 EOF",
])
def test_what_is_no_lock_is_kept(line):
    assert parse_proc_locks(line + "\n") == ([], [line])


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
def test_no_line_is_lost(text):
    locks, unread = parse_proc_locks(text)
    assert len(locks) + len(unread) == len([line for line in text.splitlines() if line.strip()])


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
