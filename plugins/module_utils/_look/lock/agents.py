# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the agents of a node share one xtables lock.

An agent in a container has a lock of its own unless the node's file is mounted into it: nothing reports that, and the
two overwrite each other's rules (kubernetes kubeadm mounts /run/xtables.lock for this reason)."""

from ..._host import container as host_container
from ..._host.host import ABSENT, OK
from ..agents import in_namespace_of_the_node, own_path
from ..containers import who

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
