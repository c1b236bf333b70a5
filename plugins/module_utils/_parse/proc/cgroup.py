# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cgroup of a process: its unit, its container and its pod. PRIVATE to the collection."""

import collections
import re

# The pod and the container of a process, by /proc/PID/cgroup.
# kubelet names the cgroup of a pod after its UID (kubernetes pkg/kubelet/cm/pod_container_manager_linux.go), the
# runtime names the cgroup below it after the container:
#     /kubepods/burstable/pod<UID>/<ID>                                       cgroupfs driver, any runtime
#     /kubepods.slice/kubepods-pod<UID>.slice/cri-containerd-<ID>.scope       systemd driver; crio-<ID>, docker-<ID>;
#                                                                 '_' for '-' in the UID
#     /system.slice/containerd.service/kubepods-pod<UID>.slice:cri-containerd:<ID>
#                                                                 containerd and kubelet use different drivers
#     /docker/<ID>, /system.slice/docker-<ID>.scope, /machine.slice/libpod-<ID>.scope                         no pod

# `pod_uid` as the API spells it, `container_id` all 64 digits; either may be None.
Place = collections.namedtuple("Place", "pod_uid container_id")

# A static pod's UID is a hash without hyphens (kubernetes pkg/kubelet/config/common.go).
_POD = re.compile(r"(?<![a-z0-9])pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])")
_CONTAINER = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
# The monitor of a CRI-O container runs beside it, in a group with the container's name.
_MONITOR = "conmon-"


def parse_cgroup(text):
    """The `Place` of the process, None where it belongs to no container. Lines: hierarchy:controllers:path (man 7
    cgroups)."""
    places = [_place(line.split(":", 2)[2]) for line in text.splitlines() if line.count(":") >= 2]
    known = [place for place in places if place != Place(None, None)]
    # In version 1 the process may be in the root group, or only in the pod's group, of some hierarchies.
    return max(known, key=lambda place: (place.pod_uid is not None, place.container_id is not None)) if known else None


def _place(path):
    pod = _POD.search(path)
    if pod:
        # A container of a pod may run containers of its own; the first one is the pod's.
        below = path[pod.end():]
        found = _CONTAINER.search(below)
        own = found and _MONITOR not in below[:found.start()]
        return Place(pod.group(1).replace("_", "-"), found.group(0) if own else None)
    found = _CONTAINER.findall(path)
    return Place(None, found[-1] if found and _MONITOR not in path else None)


# /proc/PID/cgroup: the systemd service of a process.
# Sample:
#     1:name=systemd:/system.slice/kubelet.service
#     0::/system.slice/k3s.service
# systemd keeps its units in the hierarchy of its name, or in the unified hierarchy if there is no other (man 7
# cgroups). Below the `.slice` directories the first directory is the unit; a unit with Delegate= manages the
# directories below it itself.
_UNIT = re.compile(r"_?([A-Za-z0-9:_.\\@-]{1,255}\.service)\Z")


def parse_cgroup_unit(text):
    """Name of the service of the system's own systemd; None for a scope, a container or a user's service."""
    paths = {}
    for line in text.splitlines():
        _number, _colon, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon and controllers in ("name=systemd", ""):
            paths[controllers] = path
    path = paths.get("name=systemd", paths.get("", ""))
    below = [part for part in path.split("/") if part and not part.endswith(".slice")]
    match = _UNIT.match(below[0]) if below else None
    # user@1000.service is the manager of a user's services; it must not be restarted for one of them.
    return match.group(1) if match and not match.group(1).startswith("user@") else None
