# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when an agent of the node does not run, and whether its container restarts again and again. PRIVATE to the
collection."""

import time

from .._host.host import OK
from .containers import POD_LOGS
from .last_container import last_container, pods_of, sentence
from .processes import find_processes, uptime_seconds

# A DaemonSet replaces a pod in less time. kubelet waits at most 300 s between two starts (MaxContainerBackOff), and
# forgets the wait after twice as long.
MISSING_SECONDS, LOOP_SECONDS, LOOP_RESTARTS = 120, 600, 3
_HOUR = 3600
_KUBELET_ROOT = "/var/lib/kubelet"
NONE = {"state": None, "seconds": None, "because": "", "container": None}


def outage_of_pods(host, node, names, now, since=None):
    """The outage of an agent that does not run and whose containers have one of `names`: {"state": missing, short,
    restarting or unknown, "seconds": at least without it, "because", "container"}; `since`: (seconds, because) that is
    known from another place."""
    uptime, row = uptime_seconds(host), None
    if since is None:
        status, pods = pods_of(host, names)
        if status != OK:
            return dict(NONE, state="unknown", because="%s is %s, so its last container is not known" % (
                POD_LOGS, status))
        seconds, because, row = _of_pods(host, node, names, pods, now)
    else:
        seconds, because = since
    if seconds is not None:
        seconds = round(max(0.0, seconds if uptime is None else min(seconds, uptime)), 1)
    found = dict(NONE, seconds=seconds, because=because, container=row)
    if row is not None and _is_loop(row, 0.0, uptime):
        return dict(found, state="restarting")
    return dict(found, state="unknown" if seconds is None else "missing" if seconds > MISSING_SECONDS else "short")


def outage_of_running(host, node, container, restarts, age):
    """The outage of an agent that runs, where its container restarts again and again, otherwise None."""
    if not restarts or restarts < LOOP_RESTARTS or age is None or age > LOOP_SECONDS or not container["name"]:
        return None
    row = last_container(host, node, container, time.time(), runs=True)
    return dict(NONE, state="restarting", seconds=0.0, because=sentence(row),
                container=row) if _is_loop(row, age, uptime_seconds(host)) else None


def _is_loop(row, age, uptime):
    """Whether this container ended early at least LOOP_RESTARTS times, the last time just now. After a boot the
    restarts go on counting."""
    previous, ended = row["previous_started_seconds_ago"], row["ended_seconds_ago"]
    return (row["restarts"] is not None and row["restarts"] >= LOOP_RESTARTS and row["exit_code"] not in (0, None)
            and age <= LOOP_SECONDS and ended <= LOOP_SECONDS
            and previous is not None and previous < _HOUR and uptime is not None and uptime > _HOUR)


def _of_pods(host, node, names, pods, now):
    """(seconds without the agent or None, the evidence, last container or None) by its pods."""
    named = next((pod for pod in pods if pod[0]["name"]), None)
    youngest = now - pods[0][1] if pods else None
    if named is None and pods:
        return youngest, "pod %s/%s has never had a container %s" % (
            pods[0][0]["namespace"], pods[0][0]["pod"], names[0]), None
    if named is None:
        seen = [host.stat(folder) for folder in _folders_of_pods(host)]
        return max((now - each.st_mtime for each in seen if each is not None), default=None), (
            "%s holds no pod with a container %s, and no pod came or went since" % (POD_LOGS, names[0])), None
    row = last_container(host, node, named[0], now)
    if row["ended_seconds_ago"] is None:
        return None, "when its last container ended could not be read; %s" % sentence(row), row
    # A pod that was just created may start its first container soon.
    return min(row["ended_seconds_ago"], youngest), sentence(row), row


def _folders_of_pods(host):
    """The folders that change when a pod comes or goes. kubelet removes that of a pod with the pod, and its logs up to
    a minute later (pkg/kubelet/kuberuntime/kuberuntime_gc.go)."""
    roots = {process.option("root-dir") or _KUBELET_ROOT for process in find_processes(host, ("kubelet",))[1]}
    return [POD_LOGS] + [root + "/pods" for root in roots if len(roots) == 1 and root.startswith("/")]
