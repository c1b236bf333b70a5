# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of the xtables lock and its holder, by stat() and /proc/locks; the file itself is never opened.

iptables takes flock(LOCK_EX) on /run/xtables.lock, or on the file that XTABLES_LOCKFILE names (iptables xshared.c)."""

import stat

from ..._host.host import ABSENT, DENIED, OK, UNPARSED
from ..._parse.proc.locks import device_of, parse_proc_locks
from ..host.place import FIRST_PID_NAMESPACE

DEFAULT_PATH = "/run/xtables.lock"


class LockFile:
    """`path`, `status` of its stat(), `kind` (file, absent, directory, other; None: unseen), `device` and `inode`."""

    def __init__(self, host, path):
        self.path = path
        self.device = self.inode = self.kind = None
        found = host.stat(path)
        if found is None:
            folder, _slash, name = path.rpartition("/")
            listed, names = host.list_dir(folder or "/")
            self.status = DENIED if listed == DENIED or name in names else ABSENT
            self.kind = "absent" if self.status == ABSENT else None
            return
        self.status = OK
        self.device, self.inode = found.st_dev, found.st_ino
        self.kind = "file" if stat.S_ISREG(found.st_mode) else "directory" if stat.S_ISDIR(found.st_mode) else "other"


class Locks:
    """One reading of /proc/locks: `status`, `holders` and `waiters` of `file` (each a Lock), `doubt`, why they may not
    belong to that file, or None."""

    def __init__(self, host, lock_file, mounted):
        self.file = lock_file
        self.holders, self.waiters, self.doubt = [], [], None
        if lock_file.kind == "absent":
            # No process can hold it. Opening /proc/locks stops all file locking for a moment (fs/locks.c locks_start).
            self.status = ABSENT
            return
        read = host.read_text("/proc/locks")
        self.status = read.status
        if lock_file.kind != "file" or not read.ok:
            return
        rows, unread = parse_proc_locks(read.text, lock_file.inode)
        if unread:
            self.status = UNPARSED
        device = device_of(lock_file.device)
        ours = [row for row in rows if row.kind == "FLOCK" and row.device == device]
        if not ours and device not in mounted:
            # On Btrfs and overlays stat() returns a synthetic device, and /proc/locks that of the super block.
            ours = [row for row in rows if row.kind == "FLOCK" and row.device is not None and row.device[0] == 0]
            if ours:
                self.doubt = ("identified by the inode alone: no file system is mounted from the device %02x:%02x that "
                              "the file claims to be on" % device)
        self.holders = [row for row in ours if not row.waits]
        self.waiters = [row for row in ours if row.waits]


def mounted_devices(host):
    """Numbers of all devices that file systems are mounted from (man 5 proc, mountinfo: third field, in decimal)."""
    fields = [line.split()[2:3] for line in host.read_text("/proc/self/mountinfo").text.splitlines()]
    pairs = [field[0].split(":") for field in fields if field]
    return {(int(pair[0]), int(pair[1])) for pair in pairs
            if len(pair) == 2 and pair[0].isdigit() and pair[1].isdigit()}


def sees_every_lock(host):
    """Whether /proc belongs to the first pid namespace: in any other namespace /proc/locks leaves out locks of
    processes outside of it (fs/locks.c)."""
    namespace = host.read_link("/proc/1/ns/pid")
    if namespace is not None:
        return namespace == FIRST_PID_NAMESPACE
    return host.read_text("/proc/2/comm").text.strip() == "kthreadd"
