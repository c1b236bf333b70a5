# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of /proc/locks. PRIVATE to the collection."""

import collections
import re

# `device` is (major, minor), `inode` a number; both None without a file. `waits`: it does not hold the lock yet.
Lock = collections.namedtuple("Lock", "number waits kind mode pid device inode")

# ID: [-> ]KIND  STATE MODE PID MAJ:MIN:INODE START END, device numbers in hex and the inode in decimal (fs/locks.c
# lock_get_status). A waiter has the ID of its holder, and one more blank before the arrow for each level of waiting.
_LINE = re.compile(r"(\d+): *(-> ?)?(\w+) +(\*?\w+\*?) +(\w+) +(-?\d+) (?:([0-9a-f]+):([0-9a-f]+):(\d+)|<none>:0) "
                   r"(\d+) (\d+|EOF) *\Z", re.ASCII)


def parse_proc_locks(text, inode=None):
    """([Lock] in the order of the file, [lines that are not locks]); only locks of `inode`, if it is given."""
    locks, unread = [], []
    mark = "" if inode is None else ":%d " % inode
    for line in text.splitlines():
        # Databases hold thousands of locks, and a sample reads the list again and again.
        if mark not in line or not line.strip():
            continue
        match = _LINE.match(line)
        if match is None:
            unread.append(line)
            continue
        number, arrow, kind, _state, mode, pid, major, minor, found = match.groups()[:9]
        device = None if major is None else (int(major, 16), int(minor, 16))
        lock = Lock(int(number), bool(arrow), kind, mode, int(pid), device, None if found is None else int(found))
        if inode in (None, lock.inode):
            locks.append(lock)
    return locks, unread


def device_of(number):
    """(major, minor) of a `st_dev` (glibc sysdeps/unix/sysv/linux/sys/sysmacros.h)."""
    return (number >> 8 & 0xfff) | (number >> 32 & 0xfffff000), (number & 0xff) | (number >> 12 & 0xffffff00)
