# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restores of rules that run for too long."""

import re

from ..._host import descriptors as host_descriptors
from ..._host.host import OK
from ..._parse.shell.command_line import masked_command
from ..containers import who
from .holder import has_lock

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
    descriptors = host_descriptors.Descriptors(host)
    opened = list(descriptors.of(pid, locks.file.path.rpartition("/")[2]))
    if opened:
        return not any(has_lock(text, locks.file.inode) for text in opened)
    return False if descriptors.status == OK else None
