# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel shows of a running kube-proxy: memory and CPU of its cgroup, its children, its sockets, its restarts.
PRIVATE to the collection."""

import re

from ..._host.host import ABSENT, OK
from ..._parse.proc.net_tcp import parse_net_tcp
from ..._parse.shell.command_line import masked_command
from ..cgroup import resources_of
from ..containers import Containers
from ..lock.hung_restores import is_restore
from ..processes import Process, name_of, uptime_seconds
from ..restarts import restarts_of

_CHILDREN_LIMIT, _LINKS_LIMIT, _TABLE_LIMIT = 5, 2000, 1024 * 1024
_TOOL = re.compile(r"(?:ip6?tables|xtables|ipset|nft|conntrack|modprobe)(?![a-z0-9])")


def process_of(host, process, own_ports, alone):
    """({source: status}, keys of the section); `own_ports` are the ports that it listens on."""
    container = Containers(host).of(process.pid)
    restarts = restarts_of(host, container)[0]
    status, resources = resources_of(host, process, restarts)
    # A program that contains kube-proxy has other connections as well.
    sockets_status, sockets = _api_sockets(host, process.pid, own_ports) if alone else (ABSENT, None)
    return {"cgroup": status, "sockets": sockets_status}, {
        "pid": process.pid, "program": process.name, "state": process.state, "container": container,
        "restarts": restarts, "resources": resources, "children": _children(host, process, alone),
        "api_sockets": sockets}


def _children(host, process, alone):
    """Programs that kube-proxy runs, the oldest first: it waits for iptables-restore without a time limit, and neither
    logs nor counts meanwhile (pkg/util/iptables/iptables.go). In a program that contains kube-proxy, only restores
    belong to kube-proxy."""
    pids = set()
    with host.noting():
        for task in host.list_dir("/proc/%d/task" % process.pid)[1]:
            text = host.read_text("/proc/%d/task/%s/children" % (process.pid, task)).text
            pids.update(int(pid) for pid in text.split() if pid.isdigit())
        found = [Process(host, pid, name_of(host, pid)) for pid in sorted(pids)[:_LINKS_LIMIT]]
    uptime = uptime_seconds(host)
    rows = [{"pid": child.pid, "command": masked_command(child.arguments), "age_seconds": child.age_seconds(uptime),
             "state": child.state} for child in found
            if child.arguments and not child.ended and (_is_tool(child) if alone else is_restore(child))]
    return sorted(rows, key=lambda row: -(row["age_seconds"] or 0))[:_CHILDREN_LIMIT]


def _is_tool(child):
    """Whether it is a program that kube-proxy runs; a program that a script around kube-proxy started may run for
    long."""
    return any(_TOOL.match(name.rpartition("/")[2]) for name in [child.name] + child.arguments[:2])


def _api_sockets(host, pid, own_ports):
    """(status, {"established", "connecting", "other"}) of its outgoing TCP connections: all of them lead to the API
    server, because kube-proxy has no other connections."""
    with host.noting():
        status, links = host.list_dir("/proc/%d/fd" % pid)
        if status != OK:
            return status, None
        inodes = {host.read_link("/proc/%d/fd/%s" % (pid, link)) for link in links[:_LINKS_LIMIT]}
        counts = {"established": 0, "connecting": 0, "other": 0}
        for name in ("tcp", "tcp6"):
            chunks = []
            read = host.stream_file("/proc/%d/net/%s" % (pid, name), chunks.append, _TABLE_LIMIT, packed=False)
            if read not in (OK, ABSENT):
                return read, None
            for row in parse_net_tcp(b"".join(chunks).decode("ascii", "replace")):
                if row.state != "LISTEN" and row.port not in own_ports and "socket:[%d]" % row.inode in inodes:
                    counts[{"ESTABLISHED": "established", "SYN_SENT": "connecting"}.get(row.state, "other")] += 1
    return OK, counts
