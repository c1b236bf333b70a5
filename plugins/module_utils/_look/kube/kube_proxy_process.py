# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel shows of a running kube-proxy: memory and CPU of its cgroup, its children, its sockets, its restarts.
PRIVATE to the collection."""

import re

from ..._host.host import ABSENT, OK, UNPARSED
from ..._parse.proc.net_tcp import parse_net_tcp
from ..._parse.shell.command_line import masked_command
from ..containers import POD_LOGS, Containers
from ..lock.hung_restores import is_restore
from ..processes import Process, name_of, uptime_seconds

_CGROUPS, _CHILDREN_LIMIT, _LINKS_LIMIT, _TABLE_LIMIT = "/sys/fs/cgroup", 5, 2000, 1024 * 1024
_TOOL = re.compile(r"(?:ip6?tables|xtables|ipset|nft|conntrack|modprobe)(?![a-z0-9])")
_LOG = re.compile(r"([0-9]{1,6})\.log\Z")
# Version 1 has no limit where the number is that of all pages (mm/page_counter.c PAGE_COUNTER_MAX).
_NO_LIMIT = 1 << 60


def process_of(host, process, own_ports, alone):
    """({source: status}, keys of the section); `own_ports` are those it listens on."""
    container = Containers(host).of(process.pid)
    status, resources = _resources(host, process.pid)
    # A program that contains it connects to others as well.
    sockets_status, sockets = _api_sockets(host, process.pid, own_ports) if alone else (ABSENT, None)
    return {"cgroup": status, "sockets": sockets_status}, {
        "pid": process.pid, "program": process.name, "state": process.state, "container": container,
        "restarts": _restarts(host, container), "resources": resources, "children": _children(host, process, alone),
        "api_sockets": sockets}


def _children(host, process, alone):
    """Programs it runs, the oldest first: it waits for iptables-restore without limit, and logs and counts nothing
    meanwhile (pkg/util/iptables/iptables.go). Of a program that contains it only restores are its own."""
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
    """Whether it is a program of kube-proxy; what a script around kube-proxy started may run for long."""
    return any(_TOOL.match(name.rpartition("/")[2]) for name in [child.name] + child.arguments[:2])


def _restarts(host, container):
    """The restarts of its container, by the number of its newest log (pkg/kubelet/kuberuntime/helpers.go); None where
    it has none."""
    if not container or not container["pod"] or not container["name"]:
        return None
    folder = "%s/%s_%s_%s/%s" % (POD_LOGS, container["namespace"], container["pod"], container["pod_uid"],
                                 container["name"])
    numbers = [int(match.group(1)) for match in map(_LOG.match, host.list_dir(folder)[1]) if match]
    return max(numbers) if numbers else None


def _resources(host, pid):
    """(status, use and limits of its cgroup)."""
    text = host.read_text("/proc/%d/cgroup" % pid)
    paths = dict(line.split(":", 2)[1:] for line in text.text.splitlines() if line.count(":") >= 2)
    named = {name: path for names, path in paths.items() for name in names.split(",")}
    if any("/.." in path for path in named.values()) or not named:
        # The path of another cgroup namespace than that of this look.
        return (UNPARSED if named else text.status), None
    if "memory" in named:
        memory, cpu = _version_1(host, named)
    else:
        memory, cpu = _version_2(host, _CGROUPS + named.get("", ""))
    if memory["used"] is None and cpu["periods"] is None:
        return ABSENT, None
    limit, used = memory["limit"], memory["used"]
    return OK, {
        "memory_limit_bytes": limit, "memory_used_bytes": used, "oom_kills": memory["oom_kills"],
        "memory_percent": round(100.0 * used / limit, 1) if limit and used is not None else None,
        "cpu_quota_percent": cpu["quota"], "throttled_seconds": cpu["throttled_seconds"],
        "throttled_percent": round(100.0 * cpu["throttled"] / cpu["periods"], 1) if cpu["periods"] else None}


def _version_2(host, folder):
    quota, _blank, period = host.read_text(folder + "/cpu.max").text.strip().partition(" ")
    events, stat = _words(host, folder + "/memory.events"), _words(host, folder + "/memory.stat")
    above = _words(host, folder.rpartition("/")[0] + "/memory.events")
    cpu, used = _words(host, folder + "/cpu.stat"), _number(host, folder + "/memory.current")
    # A container's cgroup ends with it; that of the pod counts the kills of all its containers. That of a unit counts
    # its own alone.
    kills = above.get("oom_kill") if "/pod" in folder or "-pod" in folder else None
    return ({"limit": _number(host, folder + "/memory.max"),
             "used": None if used is None else max(0, used - stat.get("inactive_file", 0)),
             "oom_kills": kills if kills is not None else events.get("oom_kill")},
            {"quota": round(100.0 * int(quota) / int(period), 1) if quota.isdigit() and period.isdigit() else None,
             "periods": cpu.get("nr_periods"), "throttled": cpu.get("nr_throttled", 0),
             "throttled_seconds": round(cpu["throttled_usec"] / 1e6, 1) if "throttled_usec" in cpu else None})


def _version_1(host, named):
    memory = _CGROUPS + "/memory" + named["memory"]
    cpu = _CGROUPS + "/cpu" + named.get("cpu", "")
    quota, period = _number(host, cpu + "/cpu.cfs_quota_us"), _number(host, cpu + "/cpu.cfs_period_us")
    limit, used = (_number(host, "%s/memory.%s_in_bytes" % (memory, name)) for name in ("limit", "usage"))
    stat, cached = _words(host, cpu + "/cpu.stat"), _words(host, memory + "/memory.stat")
    return ({"limit": limit if limit is not None and limit < _NO_LIMIT else None,
             "used": None if used is None else max(0, used - cached.get("total_inactive_file", 0)),
             "oom_kills": _words(host, memory + "/memory.oom_control").get("oom_kill")},
            {"quota": round(100.0 * quota / period, 1) if quota is not None and period else None,
             "periods": stat.get("nr_periods"), "throttled": stat.get("nr_throttled", 0),
             "throttled_seconds": round(stat["throttled_time"] / 1e9, 1) if "throttled_time" in stat else None})


def _number(host, path):
    """The whole number of a file; None for max, -1, and a file that is not there."""
    text = host.read_text(path, limit=4096).text.strip()
    return int(text) if text.isdigit() and len(text) < 20 else None


def _words(host, path):
    """{word: number} of a file with one pair a line."""
    pairs = [line.split() for line in host.read_text(path, limit=65536).text.splitlines()]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit() and len(pair[1]) < 20}


def _api_sockets(host, pid, own_ports):
    """(status, {"established", "connecting", "other"}) of its TCP connections to others: to the API server, as
    kube-proxy connects to nothing besides."""
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
