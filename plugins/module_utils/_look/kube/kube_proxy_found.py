# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which process is the kube-proxy of this node: the one that listens on its ports, otherwise one with its name."""

import collections
import re
import time

from ..._host.host import OK
from ..._parse.proc.network_files import parse_net_tcp
from ..processes import Process, find_processes, named_processes, of_this_network

METRICS_PORT, HEALTH_PORT = 10249, 10256
# Programs that run kube-proxy inside their own process.
EMBEDDING = ("k3s-server", "k3s-agent", "kubelite")
NAMES = ("kube-proxy",) + EMBEDDING
# The kernel lists listening sockets before all others; 700 of them fit.
_TABLE_LIMIT = 128 * 1024
_LINKS_LIMIT, _SECONDS = 20000, 1.0
_LISTENS = "the process that listens on port"
# hyperkube and links with other names run kube-proxy as well.
ARGUMENT = re.compile(r"(?:.*/)?(?:kube-)?proxy\Z")


class Found(collections.namedtuple("Found", "status process by replaced_by listening")):
    """`status` of listing processes, `process` or None, `by` (how it was found), `replaced_by` (the name of another
    program that listens on the ports of kube-proxy), `listening` {port: [address]}."""

    @property
    def listens(self):
        """Whether a program that may be kube-proxy listens on one of its ports."""
        return self.by is not None and self.by.startswith(_LISTENS)

    @property
    def embedded(self):
        """Whether the process runs more than kube-proxy."""
        return self.process.name in EMBEDDING


def find_kube_proxy(host):
    """The `Found` of a live place."""
    status, processes = find_processes(host, NAMES)
    processes = of_this_network(host, processes)
    processes.sort(key=lambda process: process.name != "kube-proxy")
    sockets = listening_sockets(host)
    ports = [port for port in (METRICS_PORT, HEALTH_PORT) if any(row.port == port for row in sockets)]
    owner = _owner(host, {row.inode for row in sockets if row.port == ports[0]}, processes) if ports else None
    addresses = {}
    for row in sockets:
        addresses.setdefault(row.port, []).append(row.address)
    if owner is not None and (owner.name in NAMES or any(map(ARGUMENT.match, owner.arguments[:2]))):
        return Found(status, owner, "%s %d" % (_LISTENS, ports[0]), None, addresses)
    if processes:
        return Found(status, processes[0], "the name of its process", None, addresses)
    return Found(status, None, None, owner.name if owner is not None else None, addresses)


def listening_sockets(host):
    """The listening sockets of this network."""
    found = []
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        chunks = []
        host.stream_file(path, chunks.append, _TABLE_LIMIT, packed=False)
        text = b"".join(chunks).decode("ascii", "replace")
        found += [row for row in parse_net_tcp(text) if row.state == "LISTEN"]
    return found


def own_ports(host, ports):
    """The `ports` on which kube-proxy itself listens, in either family; None where only root can see that."""
    processes = of_this_network(host, find_processes(host, NAMES)[1])
    if not host.is_root():
        return None
    sockets, found = [row for row in listening_sockets(host) if row.port in ports], []
    for port in sorted({row.port for row in sockets}) if processes else ():
        owner = _owner(host, {row.inode for row in sockets if row.port == port}, processes)
        if owner is not None and any(owner.pid == process.pid for process in processes):
            found.append(port)
    return found


def _owner(host, inodes, processes):
    """The process that has one of the sockets open, one of `processes` before any other; None if not seen."""
    wanted = {"socket:[%d]" % inode for inode in inodes}
    deadline, left = time.monotonic() + _SECONDS, _LINKS_LIMIT
    first = {process.pid: process for process in processes}
    named = named_processes(host)[1]
    with host.noting():
        for pid, name in sorted(named, key=lambda row: row[0] not in first):
            status, links = host.list_dir("/proc/%d/fd" % pid)
            left -= len(links)
            if left < 0 or time.monotonic() > deadline:
                return None
            if status == OK and any(host.read_link("/proc/%d/fd/%s" % (pid, link)) in wanted for link in links):
                return first.get(pid) or Process(host, pid, name)
    return None
