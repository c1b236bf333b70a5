# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel shows of a running kube-proxy: memory and CPU of its cgroup, its children, its sockets, its restarts.
PRIVATE to the collection."""

import re
import time

from ..._host.host import ABSENT, OK, UNPARSED
from ..._parse.proc.net_tcp import parse_attempts, parse_net_tcp
from ..._parse.shell.command_line import masked_command
from ..cgroup import resources_of
from ..containers import Containers
from ..lock.hung_restores import is_restore
from ..processes import Process, name_of, uptime_seconds
from ..restarts import restarts_of
from ..unread import status_of_notes

_CHILDREN_LIMIT, _LINKS_LIMIT, _FDS_LIMIT, _TABLE_LIMIT = 5, 2000, 20000, 16 * 1024 * 1024
_SOCKET = "socket:["
# The first reading without a connection and the last one are so far apart.
APART_SECONDS, _PAUSE = 6.0, 1.0
_TOOL = re.compile(r"(?:ip6?tables|xtables|ipset|nft|conntrack|modprobe)(?![a-z0-9])")


def process_of(host, process, own_ports, alone):
    """({source: status}, keys of the section); `own_ports` are the ports that it listens on."""
    container = Containers(host).of(process.pid)
    restarts = restarts_of(host, container)[0]
    status, resources = resources_of(host, process, restarts)
    # A program that contains kube-proxy has other connections as well.
    sockets_status, sockets = api_sockets(host, process.pid, own_ports) if alone else (ABSENT, None)
    children_status, children = _children(host, process, alone)
    return {"cgroup": status, "children": children_status, "sockets": sockets_status}, {
        "pid": process.pid, "program": process.name, "state": process.state, "container": container,
        "restarts": restarts, "resources": resources, "children": children,
        "api_sockets": sockets}


def _children(host, process, alone):
    """(status, programs that kube-proxy runs, the oldest first): it waits for iptables-restore without a time limit and
    neither logs nor counts meanwhile (pkg/util/iptables/iptables.go). In a program that contains kube-proxy, only
    restores belong to kube-proxy."""
    pids = set()
    with host.noting() as notes:
        for task in host.list_dir("/proc/%d/task" % process.pid)[1]:
            text = host.read_text("/proc/%d/task/%s/children" % (process.pid, task)).text
            pids.update(int(pid) for pid in text.split() if pid.isdigit())
        found = [Process(host, pid, name_of(host, pid)) for pid in sorted(pids)[:_LINKS_LIMIT]]
    uptime = uptime_seconds(host)
    rows = [{"pid": child.pid, "command": masked_command(child.arguments), "age_seconds": child.age_seconds(uptime),
             "state": child.state} for child in found
            if child.arguments and not child.ended and (_is_tool(child) if alone else is_restore(child))]
    return status_of_notes(notes), sorted(rows, key=lambda row: -(row["age_seconds"] or 0))[:_CHILDREN_LIMIT]


def _is_tool(child):
    """Whether it is a program that kube-proxy runs; a program that a script around kube-proxy started may run for
    long."""
    return any(_TOOL.match(name.rpartition("/")[2]) for name in [child.name] + child.arguments[:2])


def api_sockets(host, pid, own_ports):
    """(status, {"established", "connecting", "other", "connecting_to", "readings", "seconds"}) of its outgoing TCP
    connections: all of them lead to the API server, because kube-proxy has no other connections."""
    with host.noting():
        status, links = host.list_dir("/proc/%d/fd" % pid)
        if status != OK:
            return status, None
        if len(links) > _FDS_LIMIT:
            return UNPARSED, None  # A connection among the others would not be seen.
        inodes = {host.read_link("/proc/%d/fd/%s" % (pid, link)) for link in links}
        numbers = {link[len(_SOCKET):-1] for link in inodes if link and link.startswith(_SOCKET)}
        counts = {"established": 0, "connecting": 0, "other": 0}
        attempts = []
        for name in ("tcp", "tcp6"):
            chunks = []
            read = host.stream_file("/proc/%d/net/%s" % (pid, name), chunks.append, _TABLE_LIMIT, packed=False)
            if read not in (OK, ABSENT):
                return read, None
            text = b"".join(chunks).decode("ascii", "replace")
            for row in parse_net_tcp(text, numbers):
                if row.state != "LISTEN" and row.port not in own_ports:
                    counts[{"ESTABLISHED": "established", "SYN_SENT": "connecting"}.get(row.state, "other")] += 1
            attempts += parse_attempts(text, numbers) if counts["connecting"] else []
    attempts = [("[%s]:%d" if ":" in address else "%s:%d") % (address, port) for address, port in attempts]
    return OK, dict(counts, connecting_to=attempts[:_CHILDREN_LIMIT], readings=1, seconds=0.0)


def is_disconnected(sockets):
    """Whether no reading of its connections, of several, shows one that is established."""
    return bool(sockets) and not sockets["established"] and sockets["readings"] > 1


def api_sockets_again(host, pid, own_ports, first):
    """What api_sockets() returns, read again for APART_SECONDS until a connection is established: kube-proxy connects
    again by itself after a restart of the API server. None where the process is gone."""
    begun, readings = time.monotonic(), first["readings"]
    while True:
        time.sleep(_PAUSE)
        found, readings = api_sockets(host, pid, own_ports)[1], readings + 1
        seconds = time.monotonic() - begun
        if found is None or found["established"] or seconds >= APART_SECONDS:
            return found and dict(found, readings=readings, seconds=round(seconds, 1))
