# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod sandboxes that a container runtime has, by the directories of its state."""

import json

from ..._host.host import ABSENT, OK
from ..processes import find_processes
from .files import CONTAINERD_CONFIG, containerd_keys, crio_keys, read_keys

_STORAGE_CONFIG, _DOCKER_CONFIG = "/etc/containers/storage.conf", "/etc/docker/daemon.json"


def sandbox_ids(host, runtime):
    """(status, set of the sandbox IDs, or None unless the status is ok). The status is `absent` where it is not certain
    which directory the runtime uses."""
    folders = _FOLDERS.get(runtime.name, lambda *_each: [])(host, runtime)
    found, status = set(), ABSENT
    for index, folder in enumerate(folders):
        read, names = host.list_dir(folder)
        # The first directory has every sandbox, also ones that kubelet has not removed yet; a boot ends tasks.
        status = read if not index or read not in (OK, ABSENT) else status
        found.update(names)
    if status == OK and not found:
        return ABSENT, None  # Every node runs pods, so a runtime without a sandbox is not the one that kubelet uses.
    return status, found if status == OK else None


def running_ids(host, runtime):
    """(status, set of names with the IDs of the sandboxes that run, or None unless the status is ok). A boot empties
    these directories, so a sandbox of before the boot is not among them."""
    found = [host.list_dir(folder) for folder in _RUNNING.get(runtime.name, lambda *_each: [])(host, runtime)]
    known = [names for status, names in found if status == OK and names]
    if known:
        return OK, set().union(*known)
    return next((status for status, _names in found if status not in (OK, ABSENT)), ABSENT), None


def container_state(host, runtime, container_id):
    """The path of the file in which the runtime keeps the state of a container, or None."""
    folder = next(iter(_FOLDERS.get(runtime.name, lambda *_each: [])(host, runtime)), None)
    if folder is None:
        return None
    if runtime.name == "containerd":  # internal/cri/store/container/status.go, beside the directories of sandboxes.
        return "%s/containers/%s/status" % (folder.rpartition("/")[0], container_id)
    # CRI-O: internal/oci/container.go, StatePath; Docker: its checkpoint.
    return "%s/%s/%s" % (folder, container_id, "userdata/state.json" if runtime.name == "cri-o" else "config.v2.json")


def _of_containerd(host, runtime):
    """containerd: its CRI plugin creates a directory for each sandbox and removes it with the sandbox (sandboxesDir);
    each task has a second directory while it runs."""
    wanted = runtime.source or CONTAINERD_CONFIG
    process = next((each for each in find_processes(host, ("containerd",))[1]
                    if (each.option("config", "c") or CONTAINERD_CONFIG) == wanted), None)
    status, keys = containerd_keys(host, wanted)
    if process is None or status not in (OK, ABSENT):
        return []
    root = process.option("root") or keys.get(("root",), "/var/lib/containerd")
    state = process.option("state") or keys.get(("state",), "/run/containerd")
    if not _is_path(root) or not _is_path(state):
        return []
    return [root + "/io.containerd.grpc.v1.cri/sandboxes", state + "/io.containerd.runtime.v2.task/k8s.io"]


def _of_crio(host, _runtime):
    """cri-o: each sandbox has a container of containers/storage, which is removed with the sandbox."""
    process = next(iter(find_processes(host, ("crio",))[1]), None)
    status, own, _source = crio_keys(host)
    read, storage = read_keys(host, _STORAGE_CONFIG)
    if process is None or status not in (OK, ABSENT) or read not in (OK, ABSENT):
        return []
    storage = storage or {}
    root = (process.option("root", "r") or own.get(("crio", "root")) or storage.get(("storage", "graphroot"))
            or "/var/lib/containers/storage")
    driver = (process.option("storage-driver", "s") or own.get(("crio", "storage_driver"))
              or storage.get(("storage", "driver")) or "overlay")
    return ["%s/%s-containers" % (root, driver)] if _is_path(root) and isinstance(driver, str) else []


def _of_cri_dockerd(host, _runtime):
    """cri-dockerd: each sandbox is a container of Docker, which has a directory until it is removed (moby
    daemon/daemon.go). With userns-remap that directory is in another place."""
    process = next(iter(find_processes(host, ("dockerd",))[1]), None)
    text = host.read_text(process and process.option("config-file") or _DOCKER_CONFIG)
    if process is None or process.option("userns-remap") or text.status not in (OK, ABSENT):
        return []
    try:
        settings = json.loads(text.text) if text.ok else {}
    except (ValueError, RecursionError):
        return []
    if not isinstance(settings, dict) or settings.get("userns-remap"):
        return []
    root = process.option("data-root", "g") or settings.get("data-root") or "/var/lib/docker"
    return [root + "/containers"] if _is_path(root) else []


def _is_path(value):
    return isinstance(value, str) and value.startswith("/")


def _run_of_crio(host, runtime):
    """cri-o: each sandbox has a run directory of containers/storage until it is removed, also without an infra
    container (drop_infra_ctr)."""
    folders = _of_crio(host, runtime)
    process = next(iter(find_processes(host, ("crio",))[1]), None)
    root = process and (process.option("runroot") or crio_keys(host)[1].get(("crio", "runroot"))
                        or (read_keys(host, _STORAGE_CONFIG)[1] or {}).get(("storage", "runroot"))
                        or "/run/containers/storage")
    return ["%s/%s" % (root, folders[0].rpartition("/")[2])] if folders and _is_path(root) else []


_FOLDERS = {"containerd": _of_containerd, "cri-o": _of_crio, "cri-dockerd": _of_cri_dockerd}
# containerd removes the directory of a task when the task ends. dockerd uses the containerd of the node, or one that it
# starts (moby libcontainerd/supervisor).
_TASKS_OF_DOCKER = ["%s/io.containerd.runtime.v2.task/moby" % state
                    for state in ("/run/containerd", "/run/docker/containerd/daemon")]
_RUNNING = {"containerd": lambda host, runtime: _of_containerd(host, runtime)[1:], "cri-o": _run_of_crio,
            "cri-dockerd": lambda _host, _runtime: _TASKS_OF_DOCKER}
