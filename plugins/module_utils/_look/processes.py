# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of the node by the name of their program.

The programs of a node that write rules: kube-proxy, kubelet, network plugins and firewalls.

What a look could not see, as texts for findings.
"""

import re

from .._host import notes as host_notes, walk
from .._host.host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED

AGENTS = ("antrea-agent", "aws-k8s-agent", "aws-vpc-cni", "azure-npm", "calico-felix", "calico-node", "cilium-agent",
          "dockerd", "firewalld", "flanneld", "ip-masq-agent", "k0s", "k3s-agent", "k3s-server", "kindnetd",
          "kube-ovn-daemon", "kube-proxy", "kube-router", "kubelet", "kubelite", "node-cache", "ovnkube", "weave-npc",
          "weaver")
VARIABLE = "XTABLES_LOCKFILE="
# comm is the name of the link by which the program was started, cut to 15 characters, or the name of the multi-call
# binary (xtables-nft-multi).
_COMM = re.compile(r"(ip6?tables|xtables-)")


def is_iptables(comm):
    """Whether a process of that name may be an iptables program; its arguments decide that."""
    return bool(_COMM.match(comm))


def in_namespace_of_the_node(host, process):
    """Whether the process is in the network namespace of the node, which is the namespace of this process and of the
    rules that it reads; None where that is not known."""
    ours = host.read_link("/proc/self/ns/net") or host.read_link("/proc/1/ns/net")
    theirs = host.read_link("/proc/%d/ns/net" % process.pid)
    return None if ours is None or theirs is None else ours == theirs


def of_this_network(host, processes):
    """The processes that belong to this node: kind, k3d and Docker in Docker run whole nodes in network namespaces of
    their own. If no process certainly belongs to it, the processes that may belong to it."""
    known = [(process, in_namespace_of_the_node(host, process)) for process in processes]
    return [process for process, here in known if here] or [process for process, here in known if here is None]


def own_path(host, process):
    """The path that XTABLES_LOCKFILE has in the environment of the process, or None; no other variable is kept."""
    variables = host.read_text("/proc/%d/environ" % process.pid).text.split("\0")
    named = [variable[len(VARIABLE):] for variable in variables if variable.startswith(VARIABLE)]
    return named[-1] if named else None


# This many paths are named for each source; more paths add no information, and each enlarges the evidence.
PATHS_LIMIT = 5


def reason_of(host, path, why):
    """One sentence; `why` is the reason that `Host.noting` recorded for the path: a status, or half a sentence."""
    if why == DENIED:
        return "%s is not readable %s" % (path, "even as root" if host.is_root()
                                          else "as user '%s'; run with become" % host_notes.user_name())
    if why == UNPARSED:
        return "%s cannot be read as a file: look at it with ls -l and file" % path
    return "%s %s" % (path, why)


def status_of_notes(notes):
    """One status for all notes: denied if one of them is denied, timeout if all of them are timeouts, otherwise
    unparsed; ok without notes."""
    found = set(notes.values())
    if not found:
        return OK
    return DENIED if DENIED in found else TIMEOUT if found == {walk.LATE} else UNPARSED


def unread_rows(host, notes_by_source):
    """([{"source", "path", "reason"}], the number of all notes) of `{source: notes}`."""
    rows = [{"source": source, "path": path, "reason": reason_of(host, path, notes_by_source[source][path])}
            for source in sorted(notes_by_source) for path in sorted(notes_by_source[source])[:PATHS_LIMIT]]
    return rows, sum(len(notes) for notes in notes_by_source.values())


# Ticks of /proc/PID/stat in a second: USER_HZ, part of the kernel's ABI and 100 on all machines that run Kubernetes
# (include/asm-generic/param.h; 1024 on alpha and ia64 only).
_TICKS = 100.0


class Process:
    """One process: `pid`, `name` (comm), `arguments`, `state`, `start_time`, `status` of reading these, `ended`, and
    `contained`: whether it has another root directory (None: not known)."""

    def __init__(self, host, pid, name):
        self.pid, self.name = pid, name
        with host.noting() as notes:
            self.arguments = [part for part in host.read_text("/proc/%s/cmdline" % pid).text.split("\0") if part]
            self.state, self.start_time = _state_and_start(host, pid)
        self.status = status_of_notes(notes)
        self.ended = self.state in ("Z", "X")  # It no longer runs; its parent has not waited for it yet.
        ours, theirs = host.stat("/"), host.stat("/proc/%s/root/." % pid)
        self.contained = None if ours is None or theirs is None else (ours.st_dev,
                                                                      ours.st_ino) != (theirs.st_dev, theirs.st_ino)

    def age_seconds(self, uptime):
        """Seconds since it started, with `uptime_seconds()`; None where one of the two times is not known."""
        if uptime is None or not (self.start_time or "").isdigit():
            return None
        return round(max(0.0, uptime - int(self.start_time) / _TICKS), 1)

    def is_the_same(self, host):
        """Whether the pid still belongs to this process, so that everything read in the meantime is about it."""
        return self.start_time is not None and _state_and_start(host, self.pid)[1] == self.start_time

    def is_roots(self, host):
        """Whether root runs it; False also where the process no longer exists."""
        found = host.stat("/proc/%d" % self.pid)
        return found is not None and found.st_uid == 0

    def option(self, *names):
        return option_of(self.arguments, *names)


def option_of(arguments, *names):
    """Value of the last `--name=value` or `--name value` among the arguments, or None."""
    return next(reversed(options_of(arguments, *names)), None)


def options_of(arguments, *names):
    """Values of all of them, in their order."""
    values = []
    for index, argument in enumerate(arguments):
        key, equals, given = argument.partition("=")
        if key.lstrip("-") in names and key.startswith("-"):
            values += [given] if equals else arguments[index + 1:index + 2]
    return values


def _state_and_start(host, pid):
    """Fields 3 and 22 of /proc/PID/stat, counted from the last parenthesis, as the name before it may hold any
    character."""
    fields = host.read_text("/proc/%s/stat" % pid).text.rpartition(")")[2].split()
    return (fields[0] if fields else None), (fields[19] if len(fields) > 19 else None)


def uptime_seconds(host):
    """Seconds since the node was started (/proc/uptime), or None."""
    try:
        return float(host.read_text("/proc/uptime").text.split()[0])
    except (IndexError, ValueError):
        return None


def name_of(host, pid):
    """The comm of a process, empty where it is gone."""
    return host.read_text("/proc/%d/comm" % pid).text.strip()


def pids(host):
    """(status, [pid]) of all processes, sorted."""
    status, entries = host.list_dir("/proc")
    found = sorted(int(entry) for entry in entries if entry.isdigit())
    if host.root == "/" and status == OK and 1 not in found:
        # Every pid namespace has a process 1. If it is missing, /proc is mounted with hidepid=2 and shows only the
        # processes of this user (man 5 proc).
        status = DENIED
    return status if entries or status != OK else ABSENT, found


def named_processes(host):
    """(status, [(pid, comm)]) as read at the first call, so that all sections of one look see the same processes."""
    if "processes" not in host.kept:
        status, listed = pids(host)
        with host.noting() as notes:
            named = [(pid, name_of(host, pid)) for pid in listed]
        host.kept["processes"] = status_of_notes(notes) if notes else status, named
    return host.kept["processes"]


def find_processes(host, names):
    """(status, [Process]) of the processes whose comm is in `names`, or for which `names(comm)` is true, by pid."""
    wanted = names if callable(names) else names.__contains__
    status, named = named_processes(host)
    found = [Process(host, pid, name) for pid, name in named if wanted(name)]
    if status == OK:
        status = next((process.status for process in found if process.status != OK), OK)
    return status, [process for process in found if not process.ended]
