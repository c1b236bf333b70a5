# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The holder of the xtables lock, the processes that wait for it, and for how long.

/proc/locks names the process that took the lock. That process may be gone while a child still has the descriptor open,
so open descriptors are checked before a process is reported as the holder.

Restores of rules that run for too long.

Parser of /proc/locks.
"""

import collections
import re
import time

from ..._host import walk
from ..._host.host import OK
from ..._parse.secrets import masked_command
from ..containers import who
from ..processes import Process, name_of, pids

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


# The lock changes hands in milliseconds, so inconsistent readings are repeated.
_TRIES = 3
_WAITERS_LIMIT = 5
_FIELDS = ("comm", "command", "container", "started_seconds_ago", "who")
# Programs that run for one change of the rules: they have held the lock no longer than they run.
_SHORT_LIVED = re.compile(r"(ip6?tables|xtables-|flock\Z)")
# All other holders are watched for this long, to distinguish an agent that is changing a rule from one that keeps it.
_WATCH_SECONDS = 0.25
_WATCH_INTERVAL = 0.05


class Rows:
    """Describes processes as rows of the evidence; `containers` and `uptime` as their own modules give them."""

    def __init__(self, host, containers, uptime):
        self._host, self._containers, self._uptime = host, containers, uptime

    def of(self, pid):
        """The row of a process; only nulls for `None`, for a process that is gone, and for a pid that was reused
        meanwhile."""
        if pid is None:
            return dict.fromkeys(_FIELDS)
        process = Process(self._host, pid, name_of(self._host, pid))
        container = self._containers.of(pid)
        if not process.is_the_same(self._host):
            return dict.fromkeys(_FIELDS)
        return {"comm": process.name, "command": masked_command(process.arguments), "container": container,
                "started_seconds_ago": process.age_seconds(self._uptime), "who": who(process.name, container)}


def has_lock(fdinfo, inode):
    """Whether a descriptor holds a flock of that file (fs/locks.c show_fd_locks prints `lock:` before the line of
    /proc/locks)."""
    lines = [line.partition("lock:")[2].strip() for line in fdinfo.splitlines() if line.startswith("lock:")]
    return any(lock.kind == "FLOCK" for lock in parse_proc_locks("\n".join(lines), inode)[0])


def find_holder(host, read_locks, rows):
    """(Locks, row of the holder or None); `read_locks()` gives a fresh reading each time."""
    owner = None
    for _time in range(_TRIES):
        locks = read_locks()
        if not locks.holders:
            return locks, None
        owner, status = _owner(host, locks.holders[0].pid, locks.file)
        if owner is not None:
            break
    recorded = locks.holders[0].pid
    if owner is None and status != OK:
        # Not all descriptors were readable: the recorded process probably still holds the lock, but that is not known.
        return locks, dict(rows.of(recorded), pid=recorded, alive=None, held_through_pid=None)
    return locks, dict(rows.of(owner), pid=recorded, alive=owner == recorded, held_through_pid=owner)


def _owner(host, recorded, lock_file):
    """(pid of a process that holds the lock through an open descriptor, the recorded process first, or None; the status
    of reading descriptors)."""
    descriptors = walk.Descriptors(host)
    if any(has_lock(text, lock_file.inode) for text in descriptors.of(recorded)):
        return recorded, descriptors.status
    name = lock_file.path.rpartition("/")[2]
    for pid in pids(host)[1]:
        if pid != recorded and any(has_lock(text, lock_file.inode) for text in descriptors.of(pid, name)):
            return pid, descriptors.status
    return None, descriptors.status


def waiting(locks, rows):
    """Rows of the first waiters, by pid of the process that asked for the lock."""
    found = [dict(rows.of(lock.pid), pid=lock.pid, alive=True, held_through_pid=None)
             for lock in locks.waiters[:_WAITERS_LIMIT]]
    return [dict(row, age_seconds=row["started_seconds_ago"], age_is="at_most") for row in found]


def hold_time(holder, waiters, read_locks):
    """(seconds, word) for how long the lock is held: `at_most`, `at_least`, or `over` where it was released while it
    was watched. The kernel does not record the time. A program that runs for one change holds the lock for at most its
    age. An agent that runs for days is watched instead. A process that waits for the lock has waited for about as
    long as it runs."""
    if _SHORT_LIVED.match(holder["comm"] or "") and holder["started_seconds_ago"] is not None:
        return holder["started_seconds_ago"], "at_most"
    begun = time.monotonic()
    while time.monotonic() - begun < _WATCH_SECONDS:
        time.sleep(_WATCH_INTERVAL)
        if holder["pid"] not in [lock.pid for lock in read_locks().holders]:
            return round(time.monotonic() - begun, 2), "over"
    waited = [row["age_seconds"] for row in waiters
              if row["age_seconds"] is not None and _SHORT_LIVED.match(row["comm"] or "")]
    return max([round(time.monotonic() - begun, 2)] + waited), "at_least"


HUNG_LIMIT = 5
_PROGRAM = re.compile(r"ip6?tables(-nft|-legacy)?-restore\Z")
# Kernel functions in which a process sleeps while it waits for a flock (fs/locks.c).
_WAITS_IN = re.compile(r"locks_lock_inode_wait|flock_lock_inode_wait")


def is_restore(process):
    """Whether the program itself, or the program that a multi-call binary or a shell runs, restores rules."""
    return any(_PROGRAM.match(argument.rpartition("/")[2]) for argument in process.arguments[:2])


def hung_restores(host, processes, seconds, uptime, locks, containers):
    """(rows of the oldest, how many) of the restores among `processes` that run for more than `seconds`."""
    ages = [(process.age_seconds(uptime), process) for process in processes if is_restore(process)]
    old = sorted([pair for pair in ages if pair[0] is not None and pair[0] > seconds], key=lambda pair: -pair[0])
    rows = []
    for age, process in old[:HUNG_LIMIT]:
        container = containers.of(process.pid)
        row = {"pid": process.pid, "command": masked_command(process.arguments), "age_seconds": age,
               "state": process.state, "waits_for_lock": _waits(host, process.pid, locks), "container": container,
               "who": who(process.name, container)}
        if process.is_the_same(host):
            rows.append(row)
    return rows, len(rows) + len(old[HUNG_LIMIT:])


def _waits(host, pid, locks):
    """Whether the process waits for the lock; None where that is unknown. Before iptables 1.8.8 a restore with `-w`
    tries to take the lock once a second and sleeps in between."""
    if pid in [lock.pid for lock in locks.waiters] or _WAITS_IN.search(host.read_text("/proc/%d/wchan" % pid).text):
        return True
    descriptors = walk.Descriptors(host)
    opened = list(descriptors.of(pid, locks.file.path.rpartition("/")[2]))
    if opened:
        return not any(has_lock(text, locks.file.inode) for text in opened)
    return False if descriptors.status == OK else None
