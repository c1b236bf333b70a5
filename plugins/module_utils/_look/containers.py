# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container and pod of a process, with their names, and its restarts.

The names come from the names of kubelet's log files; neither the runtime nor the API is queried.

Use, limits and OOM kills of the cgroup of a process.
"""

import re

from .._host.host import ABSENT, OK, UNPARSED
from .._parse.kube.kubelet_logs import parse_container_link, parse_pod_folder, seconds_of
from .._parse.proc.cgroup import parse_cgroup
from .processes import Process, uptime_seconds

POD_LOGS, CONTAINER_LOGS = "/var/log/pods", "/var/log/containers"
# crictl and docker print and accept this many digits of a container ID.
ID_DIGITS = 13
_LOG = re.compile(r"([0-9]{1,6})\.log\Z")


class Containers:
    """`of(pid)` for any number of processes; the folders of logs are listed once, when the first container is found."""

    def __init__(self, host):
        self._host = host
        self._pods, self._links = None, None

    def of(self, pid):
        """`{"id", "name", "pod", "namespace", "pod_uid"}`, each null where it is not known; None in no container."""
        place = parse_cgroup(self._host.read_text("/proc/%d/cgroup" % pid).text)
        if place is None:
            return None
        if self._pods is None:
            self._list()
        _id, namespace, pod, name = self._links.get(place.container_id) or (None, None, None, None)
        if place.pod_uid in self._pods:
            _uid, namespace, pod = self._pods[place.pod_uid]
        return {"id": place.container_id and place.container_id[:ID_DIGITS], "name": name, "pod": pod,
                "namespace": namespace, "pod_uid": place.pod_uid}

    def _list(self):
        pods = [parse_pod_folder(name) for name in self._host.list_dir(POD_LOGS)[1]]
        links = [parse_container_link(name) for name in self._host.list_dir(CONTAINER_LOGS)[1]]
        self._pods = {pod[0]: pod for pod in pods if pod}
        self._links = {link[0]: link for link in links if link}


def who(name, container):
    """The process in a text for readers: its `name` with the pod or container, or alone on the node itself."""
    if container is None:
        return name
    if container["pod"]:
        return "%s in pod %s/%s" % (name, container["namespace"], container["pod"])
    if container["pod_uid"]:
        return "%s in the pod with UID %s" % (name, container["pod_uid"])
    return "%s in container %s" % (name, container["id"])


def restarts_of(host, container, now=None):
    """(restarts of a container, seconds since the container before it wrote its first log line), each None where it is
    not known. The number of its newest log file is the number of restarts (pkg/kubelet/kuberuntime/helpers.go)."""
    if not container or not container["pod"] or not container["name"]:
        return None, None
    folder = "%s/%s_%s_%s/%s" % (POD_LOGS, container["namespace"], container["pod"], container["pod_uid"],
                                 container["name"])
    names = host.list_dir(folder)[1]
    numbers = [int(match.group(1)) for match in map(_LOG.match, names) if match]
    if not numbers:
        return None, None
    before = "%d.log" % (max(numbers) - 1)
    # After a rotation the first line of a log is not the first line after the start.
    if before not in names or now is None or any(name.startswith(before + ".") for name in names):
        return max(numbers), None
    started = _first_time(host, folder + "/" + before)
    return max(numbers), None if started is None or started > now else round(now - started, 1)


def _first_time(host, path):
    chunks = []
    host.stream_file(path, chunks.append, 64, packed=False)
    # The first word of each line of a CRI log (kubernetes pkg/kubelet/kuberuntime/logs): 2026-11-23T08:40:02.123+01:00.
    time, blank, _rest = b"".join(chunks).decode("ascii", "replace").partition(" ")
    return seconds_of(time) if blank else None


_CGROUPS = "/sys/fs/cgroup"
# In cgroup version 1 the number of all pages means that there is no limit (mm/page_counter.c PAGE_COUNTER_MAX).
_NO_LIMIT = 1 << 60
RECENT_SECONDS, _PROCESSES = 86400, 64
# crun puts the processes of a container into a cgroup below the one that has its limits (containers/crun, crun.1.md,
# run.oci.systemd.subgroup).
_CONTAINER = re.compile(r"(.*/[^/]*[0-9a-f]{64}[^/]*)/.*\Z")


def resources_of(host, process, restarts):
    """(status, use and limits of the cgroup of a process); `restarts` is the number of restarts of its container."""
    text = host.read_text("/proc/%d/cgroup" % process.pid)
    paths = dict(line.split(":", 2)[1:] for line in text.text.splitlines() if line.count(":") >= 2)
    named = {name: path for names, path in paths.items() for name in names.split(",")}
    if any("/.." in path for path in named.values()) or not named:
        # The path belongs to another cgroup namespace than that of this process.
        return (UNPARSED if named else text.status), None
    if "memory" in named:
        folder = _CGROUPS + "/memory" + named["memory"]
        memory, cpu = _version_1(host, folder, _CGROUPS + "/cpu" + named.get("cpu", ""))
    else:
        folder = _CGROUPS + named.get("", "")
        memory, cpu = _version_2(host, _CONTAINER.sub(r"\1", folder))
    if memory["used"] is None and cpu["periods"] is None:
        return ABSENT, None
    limit, used = memory["limit"], memory["used"]
    age = _age_seconds(host, folder, process)
    return OK, {"memory_limit_bytes": limit, "memory_used_bytes": used, "oom_kills": memory["oom_kills"],
                "oom_killed_recently": _killed_recently(memory, age, restarts),
                "memory_percent": round(100.0 * used / limit, 1) if limit and used is not None else None,
                "cpu_quota_percent": cpu["quota"], "throttled_seconds": cpu["throttled_seconds"],
                "throttled_percent": round(100.0 * cpu["throttled"] / cpu["periods"], 1) if cpu["periods"] else None}


def _age_seconds(host, folder, process):
    """The age of the oldest process of the cgroup, which is the age of the container: its first process may restart the
    others (runit does so in the container of calico-node). None where no age is known."""
    uptime = uptime_seconds(host)
    pids = [int(pid) for pid in host.read_text(folder + "/cgroup.procs", 65536).text.split() if pid.isdigit()]
    with host.noting():
        ages = [each.age_seconds(uptime) for each in [process] + [Process(host, pid, "") for pid in pids[:_PROCESSES]]]
    return max((age for age in ages if age is not None), default=None)


def _killed_recently(memory, age, restarts):
    """Whether an OOM kill was less than `RECENT_SECONDS` ago; the kernel counts kills without their time. The count of
    a container starts with 0, so kills that only its pod counts happened before its start."""
    kills, since_start = memory["oom_kills"], memory["since_start"]
    if kills is None:
        return None
    if not kills and memory["forgets"] and restarts and (age is None or age <= RECENT_SECONDS):
        return None
    if not kills or (not since_start and restarts == 0):
        return False  # Kills that only the pod counts were in its other containers.
    if age is None:
        return None
    if age > RECENT_SECONDS:
        return None if since_start else False
    # A restart can have other causes; where there are at least as many kills as restarts, the last restart was a kill.
    return True if since_start or (restarts is not None and kills >= restarts) else None


def _version_2(host, folder):
    quota, _blank, period = host.read_text(folder + "/cpu.max").text.strip().partition(" ")
    events, stat = _words(host, folder + "/memory.events"), _words(host, folder + "/memory.stat")
    above = _words(host, folder.rpartition("/")[0] + "/memory.events")
    cpu, used = _words(host, folder + "/cpu.stat"), _number(host, folder + "/memory.current")
    # The cgroup of a container ends with the container; that of the pod counts the kills of all its containers. The
    # cgroup of a unit counts only its own kills.
    kills = above.get("oom_kill") if "/pod" in folder or "-pod" in folder else None
    return ({"limit": _number(host, folder + "/memory.max"),
             "used": None if used is None else max(0, used - stat.get("inactive_file", 0)),
             "oom_kills": kills if kills is not None else events.get("oom_kill"),
             "since_start": events.get("oom_kill"), "forgets": kills is None},
            {"quota": round(100.0 * int(quota) / int(period), 1) if quota.isdigit() and period.isdigit() else None,
             "periods": cpu.get("nr_periods"), "throttled": cpu.get("nr_throttled", 0),
             "throttled_seconds": round(cpu["throttled_usec"] / 1e6, 1) if "throttled_usec" in cpu else None})


def _version_1(host, memory, cpu):
    quota, period = _number(host, cpu + "/cpu.cfs_quota_us"), _number(host, cpu + "/cpu.cfs_period_us")
    limit, used = (_number(host, "%s/memory.%s_in_bytes" % (memory, name)) for name in ("limit", "usage"))
    stat, cached = _words(host, cpu + "/cpu.stat"), _words(host, memory + "/memory.stat")
    kills = _words(host, memory + "/memory.oom_control").get("oom_kill")
    return ({"limit": limit if limit is not None and limit < _NO_LIMIT else None,
             "used": None if used is None else max(0, used - cached.get("total_inactive_file", 0)),
             # The cgroup of the pod does not count the kills in cgroups below it (mm/memcontrol.c memcg_memory_event).
             "oom_kills": kills, "since_start": kills, "forgets": True},
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
