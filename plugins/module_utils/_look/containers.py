# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container and pod of a process, with their names, and its restarts.

The names come from the names of kubelet's log files; neither the runtime nor the API is queried."""

import re

from .._parse.kube.container_state import seconds_of
from .._parse.kube.kubelet_logs import parse_container_link, parse_pod_folder
from .._parse.proc.cgroup import parse_cgroup

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
