# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of the node by the name of their program. PRIVATE to the collection."""

from .. import _host


class Process(object):
    """One process: C(pid), C(name) (comm), C(arguments), C(start_time) and whether it lives in another root (None = cannot be told)."""

    def __init__(self, host, pid, name):
        self.pid = pid
        self.name = name
        self.arguments = [part for part in host.read_text("/proc/%s/cmdline" % pid).text.split("\0") if part]
        fields = host.read_text("/proc/%s/stat" % pid).text.rpartition(")")[2].split()
        self.ended = fields[:1] in (["Z"], ["X"])  # Nobody has asked yet how it ended; it runs no more.
        self.start_time = fields[19] if len(fields) > 19 else None
        ours, theirs = host.stat("/"), host.stat("/proc/%s/root/." % pid)
        self.contained = None if ours is None or theirs is None else (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino)

    def option(self, *names):
        """Value of the last C(--name=value) or C(--name value) among the arguments, or None."""
        value = None
        for index, argument in enumerate(self.arguments):
            key, equals, given = argument.partition("=")
            if key.lstrip("-") in names and key.startswith("-"):
                if equals:
                    value = given
                elif index + 1 < len(self.arguments):
                    value = self.arguments[index + 1]
        return value


def find_processes(host, names):
    """(status, [Process]) of the processes whose comm is in C(names), by pid."""
    status, entries = host.list_dir("/proc")
    found = []
    for pid in sorted((int(entry) for entry in entries if entry.isdigit())):
        name = host.read_text("/proc/%d/comm" % pid).text.strip()
        if name in names:
            found.append(Process(host, pid, name))
    return status if entries or status != _host.OK else _host.ABSENT, [process for process in found if not process.ended]
