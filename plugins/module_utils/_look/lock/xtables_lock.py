# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_xtables_lock: its holder, the processes that wait for it, and whether all agents share it.

On most nodes the lock is free during the look, so the code that describes processes is imported when it is needed.

The file of the xtables lock and its holder, by stat() and /proc/locks; the file itself is never opened.

iptables takes flock(LOCK_EX) on /run/xtables.lock, or on the file that XTABLES_LOCKFILE names (iptables xshared.c).

Whether the agents of a node share one xtables lock.

An agent in a container has a lock of its own unless the node's file is mounted into it: nothing reports that, and the
two overwrite each other's rules (kubernetes kubeadm mounts /run/xtables.lock with the type
FileOrCreate for this reason).
"""

import stat
import time

from ..._errors import BadInput
from ..._host import container as host_container
from ..._host.host import ABSENT, DENIED, OK, UNPARSED
from ..._names import UNCOLLECTED
from ..backends.iptables_builds import backend_of
from ..containers import who
from ..host.place import FIRST_PID_NAMESPACE
from ..processes import AGENTS, find_processes, in_namespace_of_the_node, is_iptables, name_of, own_path, uptime_seconds
from .holder import device_of, parse_proc_locks

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


HUNG_AFTER_SECONDS, SAMPLE_SECONDS_MAX = 300, 60
NAMES = ("/proc/net/ip_tables_names", "/proc/net/ip6_tables_names")
PROGRAMS = ("iptables", "iptables-restore", "ip6tables", "ip6tables-restore")
INTERVAL, _HOLDERS_LIMIT = 0.05, 5


def collect_xtables_lock(host, node, path=None, hung_after_seconds=HUNG_AFTER_SECONDS, window_seconds=0):
    """The evidence dict; only nulls outside of a live place, where no process could hold a lock. Raises BadInput."""
    _check(path, hung_after_seconds, window_seconds)
    section = {
        "schema": 1, "collected": dict.fromkeys(("legacy_tables", "lock_file", "locks", "processes", "uptime"), ABSENT),
        "path": path or DEFAULT_PATH, "path_source": "the option path" if path else "the default of iptables",
        "kind": None, "device": None, "inode": None, "matters": None, "matters_because": "only a live node has a lock",
        "doubt": None, "holder": None, "waiters": [], "waiter_count": 0, "hung": [], "hung_count": 0,
        "hung_after_seconds": hung_after_seconds, "agents": [], "agents_left_out": 0, "sample": None}
    if node["place"] == "bundle":
        section["collected"] = dict.fromkeys(section["collected"], UNCOLLECTED)
        section["matters_because"] = "a bundle does not show which process holds the lock"
    if node["place"] == "live":
        _fill(host, section, path is None, window_seconds)
    return section


def _check(path, hung_after_seconds, window_seconds):
    if path is not None and not path.startswith("/"):
        raise BadInput("path %r is not absolute; give the path of the lock file, such as %s" % (path, DEFAULT_PATH))
    if hung_after_seconds < 1:
        raise BadInput("hung_after_seconds is %d; give 1 or more" % hung_after_seconds)
    if not 0 <= window_seconds <= SAMPLE_SECONDS_MAX:
        raise BadInput("window_seconds is %d; give 0 (no window) to %d" % (window_seconds, SAMPLE_SECONDS_MAX))


def _fill(host, section, find_path, window_seconds):
    status, processes = find_processes(host, lambda comm: comm in AGENTS or is_iptables(comm))
    agents = [process for process in processes if process.name in AGENTS]
    if find_path:
        section["path"], section["path_source"] = _path_in_force(host, agents)
    mounted = mounted_devices(host)

    def read_locks():
        # A file that is created or replaced in the meantime is another lock.
        return Locks(host, LockFile(host, section["path"]), mounted)

    with host.noting() as notes:
        section["matters"], section["matters_because"] = lock_matters(host)
    locks = read_locks()
    if locks.holders or locks.waiters:
        locks = _fill_holder(section, host, read_locks)
    if section["matters"] is False and locks.waiters:
        # A holder of the lock also blocks the creation of the first legacy table.
        section["matters"], section["matters_because"] = True, "a process waits for the lock: a legacy iptables runs"
    uptime = host.read_text("/proc/uptime").status
    if uptime_seconds(host) is None and (uptime == OK or (uptime == ABSENT and processes)):
        # A kernel that lists processes has this file too; without it their run time is unknown.
        uptime = UNPARSED
    section["collected"] = {"locks": locks.status, "processes": status, "lock_file": locks.file.status,
                            "uptime": uptime,
                            "legacy_tables": next((notes[path] for path in NAMES if path in notes), OK)}
    if locks.status == OK and not locks.holders and not sees_every_lock(host):
        section["collected"]["locks"] = DENIED
    section["kind"], section["inode"], section["doubt"] = locks.file.kind, locks.file.inode, locks.doubt
    section["device"] = None if locks.file.device is None else "%02x:%02x" % device_of(locks.file.device)
    if processes:
        _fill_processes(section, host, processes, agents, locks)
    if window_seconds:
        section["sample"] = sample(window_seconds, read_locks, lambda pid: name_of(host, pid))


def _fill_processes(section, host, processes, agents, locks):
    from ..containers import Containers
    from .holder import hung_restores
    containers = Containers(host)
    section["hung"], section["hung_count"] = hung_restores(
        host, processes, section["hung_after_seconds"], uptime_seconds(host), locks, containers)
    section["agents"], section["agents_left_out"] = agent_rows(host, agents, locks.file, containers)


def _fill_holder(section, host, read_locks):
    from ..containers import Containers
    from .holder import Rows, find_holder, hold_time, waiting
    rows = Rows(host, Containers(host), uptime_seconds(host))
    locks, holder = find_holder(host, read_locks, rows)
    section["waiters"], section["waiter_count"] = waiting(locks, rows), len(locks.waiters)
    if holder:
        holder["age_seconds"], holder["age_is"] = hold_time(holder, section["waiters"], read_locks)
    section["holder"] = holder
    return locks


def _path_in_force(host, agents):
    """The path that all agents are configured with, otherwise the path that iptables was built with."""
    paths = {own_path(host, agent) for agent in agents}
    path = paths.pop() if len(paths) == 1 else None
    if path is None or not path.startswith("/"):
        return DEFAULT_PATH, "the default of iptables"
    return path, "XTABLES_LOCKFILE of %s" % ", ".join(sorted({agent.name for agent in agents}))


# Whether the xtables lock matters on a node: only legacy iptables takes it.
# The nft variants of iptables and nft itself never take it, because the kernel serialises their changes (iptables
# xshared.c is called from legacy sources only).
def lock_matters(host):
    """(true, false or null, why). The lists of tables belong to the network namespace of this look, and reading makes
    none."""
    lists = [host.read_text(path) for path in NAMES]
    tables = sorted(set(" ".join(text.text for text in lists).split()))
    if tables:
        return (True,
                "legacy tables exist (%s): every legacy iptables that touches them takes the lock" % ", ".join(tables))
    kinds = {_kind(host, program) for program in PROGRAMS} - {None}
    if "legacy" in kinds:
        return True, "iptables of the node is legacy: its next command takes the lock"
    if any(text.status not in (OK, ABSENT) for text in lists):
        return None, "the list of legacy tables could not be read"
    if "unknown" in kinds:
        return None, "no legacy table exists, and the file does not show which backend the iptables of the node uses"
    return False, "no legacy table exists and %s: nft writers take no lock" % ("iptables of the node is nft"
                                                                               if kinds else "the node has no iptables")


def _kind(host, program):
    status, path = host.binary(program)
    if not path:
        return None if status == ABSENT else "unknown"
    kind = backend_of(host, path)
    return "unknown" if kind == "wrapper" else kind


def sample(seconds, read_locks, name_of, clock=time.monotonic, sleep=time.sleep):
    """Read the lock every 0.05 s for `seconds`. A hold lasts from the first reading that shows its pid to the first one
    that no longer does. None where a reading failed."""
    begun = since = clock()
    readings, held, longest, last = 0, 0, 0.0, None
    counts, names = {}, {}
    while True:
        now = clock()
        locks = read_locks()
        if locks.status not in (OK, ABSENT):
            return None
        readings += 1
        pid = locks.holders[0].pid if locks.holders else None
        if last is not None:
            longest = max(longest, now - since)
        if pid != last:
            since, last = now, pid
        if pid is not None:
            held += 1
            counts[pid] = counts.get(pid, 0) + 1
            names.setdefault(pid, name_of(pid))
        if now - begun >= seconds:
            break
        sleep(min(INTERVAL, max(0.0, begun + seconds - now)))
    most = sorted(counts, key=lambda pid: (-counts[pid], pid))[:_HOLDERS_LIMIT]
    return {"seconds": round(now - begun, 2), "readings": readings, "held_percent": round(100.0 * held / readings, 1),
            "longest_hold_seconds": round(longest, 2),
            "holders": [{"pid": pid, "comm": names[pid] or None, "readings": counts[pid]} for pid in most]}


AGENTS_LIMIT = 16


def agent_rows(host, processes, lock_file, containers):
    """(rows, how many were left out) of the agents in the network of the node."""
    agents = [(process, in_namespace_of_the_node(host, process)) for process in processes]
    agents = [pair for pair in agents if pair[1] is not False]
    rows = [_row(host, process, known, lock_file, containers) for process, known in agents[:AGENTS_LIMIT]]
    return [row for row in rows if row], len(agents[AGENTS_LIMIT:])


def _row(host, process, known, lock_file, containers):
    path = own_path(host, process) or lock_file.path
    container = containers.of(process.pid)
    lock, reason = _lock_of(host, process, path,
                            lock_file) if known else ("unknown", "whether it uses the network of the node is not known")
    if not process.is_the_same(host):
        return None
    return {"pid": process.pid, "comm": process.name, "container": container, "who": who(process.name, container),
            "path": path, "lock": lock, "reason": reason}


def _lock_of(host, process, path, lock_file):
    if host.root != "/":
        return "unknown", "a tree has no running processes"
    if not path.startswith("/"):
        return "unknown", "its XTABLES_LOCKFILE is relative to its working directory"
    status, kind, device, inode = host_container.stat_in(process.pid, process.start_time, [path])[path]
    if status == ABSENT:
        return "absent", "its %s does not exist yet: it has changed no rule with legacy iptables" % path
    if status != OK:
        return "unknown", "%s in its root could not be read: %s" % (path, status)
    if kind == "directory":
        return "directory", "%s is a directory: each of its legacy iptables commands fails" % path
    if kind != "file":
        return "unknown", "%s is neither a file nor a directory" % path
    if (device, inode) == (lock_file.device, lock_file.inode):
        return "shared", "the same file as %s of the node" % lock_file.path
    return "private", "its %s is another file than %s of the node" % (path, lock_file.path)
