# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when an agent of the node does not run, and whether its container restarts again and again.

Since when a node has no kube-proxy, and whether another program takes its place.
"""

import posixpath
import re
import time

from .._host import container as host_container
from .._host.host import ABSENT, OK
from .._host.walk import stream_back
from .._parse.kube.component_config import parse_go_bool
from .._parse.kube.kubelet_logs import SYSTEM_NAMESPACES, parse_container_link, parse_container_state, parse_pod_folder
from .._parse.logs.line import parse_line
from .._parse.secrets import masked_line
from .cni.files import runtime_of
from .cni.sandboxes import container_state
from .containers import CONTAINER_LOGS, ID_DIGITS, POD_LOGS, RECENT_SECONDS, restarts_of
from .kube.kube_proxy_found import ARGUMENT
from .logs.lines import is_log
from .processes import Process, find_processes, named_processes, of_this_network, option_of, uptime_seconds

# A DaemonSet replaces a pod in less time. kubelet waits at most 300 s between two starts (MaxContainerBackOff), and
# forgets the wait after twice as long.
MISSING_SECONDS, LOOP_SECONDS, LOOP_RESTARTS = 120, 600, 3
_HOUR = 3600
_KUBELET_ROOT = "/var/lib/kubelet"
NONE = {"state": None, "seconds": None, "because": "", "container": None}
_PODS, _STATE_LIMIT, _TAIL = 500, 256 * 1024, 8 * 1024
_LINES, _LINE, _NAME = 3, 200, 80
_KILLED = "OOMKilled"
_NUMBER = re.compile(r"([0-9]{1,6})\.log\Z")


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


# What the node knows of a container that ended: kubelet's log files, and the state that the runtime keeps on disk.
# The runtime itself is not queried: its socket may hang, and a client of it can change containers.
def pods_of(host, names):
    """(status, [container as `Containers.of` names it], the newest first; seconds since 1970 of the newest change of
    each). A pod without a log of its container has the name None."""
    status, entries = host.list_dir(POD_LOGS)
    found = []
    for entry in [entry for entry in entries if entry.startswith(SYSTEM_NAMESPACES)][:_PODS]:
        pod, folder = parse_pod_folder(entry), posixpath.join(POD_LOGS, entry)
        if pod is None:
            continue
        name = next((name for name in host.list_dir(folder)[1] if name in names), None)
        if name is None and not pod[2].startswith(tuple(each + "-" for each in names)):
            continue
        times = [host.stat(path) for path in [folder] + ([posixpath.join(folder, name)] if name else [])]
        found.append(({"id": None, "name": name, "pod": pod[2], "namespace": pod[1], "pod_uid": pod[0]},
                      max([seen.st_mtime for seen in times if seen is not None], default=0)))
    return status, sorted(found, key=lambda row: -row[1])


def last_container(host, node, container, now, runs=False):
    """The evidence of the last container that ended, of the pod and the name in `container`; None in a field that is
    not known. `runs`: a newer one runs."""
    restarts, previous = restarts_of(host, container, now)
    row = {"id": None, "name": container["name"], "pod": container["pod"], "namespace": container["namespace"],
           "restarts": restarts, "exit_code": None, "reason": None, "message": None, "started_seconds_ago": None,
           "ended_seconds_ago": None, "previous_started_seconds_ago": previous, "log": []}
    folder = "%s/%s_%s_%s/%s" % (POD_LOGS, container["namespace"], container["pod"], container["pod_uid"],
                                 container["name"])
    identity, number, state = max(_states(host, node, container, folder), default=(None, None, None),
                                  key=lambda found: found[2].finished)
    if state is not None and state.finished <= now:
        row.update(id=identity[:ID_DIGITS], exit_code=state.exit_code, reason=state.reason,
                   message=masked_line(state.message, _LINE) or None, ended_seconds_ago=round(now - state.finished, 1),
                   started_seconds_ago=None if state.started is None else round(max(0.0, now - state.started), 1))
    if number is None and restarts is not None:
        number = restarts - 1 if runs else restarts
    if number is not None:
        row["log"] = _last_lines(host, "%s/%d.log" % (folder, number))
    return row


def _states(host, node, container, folder):
    """A generator of (ID, number of its log or None, `State`) of the containers that ended and were not removed."""
    runtime, begin = runtime_of(host, node), "%s_%s_%s-" % (container["pod"], container["namespace"], container["name"])
    for entry in host.list_dir(CONTAINER_LOGS)[1]:
        link = parse_container_link(entry) if entry.startswith(begin) else None
        path = link and container_state(host, runtime, link[0])
        if not path:
            continue
        text = host.read_text(path, _STATE_LIMIT)
        state = parse_container_state(text.text) if text.ok else None
        if state is not None and state.finished is not None:
            leads = host.read_link(posixpath.join(CONTAINER_LOGS, entry)) or ""
            found = _NUMBER.match(posixpath.basename(leads)) if posixpath.dirname(leads) == folder else None
            yield link[0], int(found.group(1)) if found else None, state


def _last_lines(host, path):
    """Texts of the last lines of a log, the oldest first, without secrets."""
    real, chunks = host.tree_path(path), []
    if real is None or not is_log(host, path, real):
        return []
    stream_back(host, real, lambda chunk, _first: chunks.insert(0, chunk), _TAIL)
    lines = b"".join(chunks).decode("utf-8", "replace").splitlines()
    texts = [parse_line(line).text.strip() for line in lines if line.strip()]
    return [masked_line(text, _LINE) for text in texts if text][-_LINES:]


def with_last_kill(host, node, container, resources, now):
    """`resources` of a container that was restarted, with the OOM kill that ended the container before it: the cgroup
    of a container ends with it, but the runtime keeps its last state."""
    if not resources or resources["oom_killed_recently"] is not None or not container or not container["name"]:
        return resources
    row = last_container(host, node, container, now, runs=True)
    if row["reason"] is None:
        return resources
    if row["reason"] == _KILLED:
        return dict(resources, oom_kills=max(1, resources["oom_kills"] or 0),
                    oom_killed_recently=row["ended_seconds_ago"] <= RECENT_SECONDS)
    # The containers before the last one ended before it started.
    only = row["restarts"] == 1 or (row["started_seconds_ago"] or 0) > RECENT_SECONDS
    return dict(resources, oom_killed_recently=False) if only else resources


def sentence(row):
    """The row in words, for a finding."""
    if row is None:
        return ""
    times = [] if row["ended_seconds_ago"] is None else ["ended %d s ago" % row["ended_seconds_ago"]]
    times += [] if row["exit_code"] is None else ["exit code %d (%s)" % (row["exit_code"], row["reason"])]
    times += [] if row["restarts"] is None else ["%d restarts" % row["restarts"]]
    words = "its last container in pod %s/%s: %s" % (
        row["namespace"], row["pod"], ", ".join(times) or "the runtime has no state of it")
    tail = [text for text in [row["message"]] if text] + row["log"][-2:]
    return words + ("; its last lines: %s" % " | ".join(tail) if tail else "")


NAMES = ("kube-proxy",)
# Programs that can do the work of kube-proxy; OVN-Kubernetes and OpenShift SDN always do.
_OTHERS = ("antrea-agent", "calico-felix", "calico-node", "cilium-agent", "kube-ovn-daemon", "kube-router",
           "openshift-sdn-n", "ovnkube")
# cilium/cilium pkg/option: all values of kube-proxy-replacement; partial and probe leave it open.
_CILIUM, _CILIUM_VALUES = "/tmp/cilium/config-map/kube-proxy-replacement", {
    "true": True, "strict": True, "false": False, "disabled": False}
_ANTREA, _PROXY_ALL = "/etc/antrea/antrea-agent.conf", re.compile(r"^[ ]+proxyAll:[ ]*true\b", re.MULTILINE)
# Maps of Felix's BPF mode, which has one for each version of its layout (projectcalico/calico felix/bpf/nat/maps.go).
_FELIX, _FELIX_MAPS = "FELIX_BPFENABLED=", ["/sys/fs/bpf/tc/globals/cali_v%d_nat_fe%s" % (family, version)
                                            for family in (4, 6) for version in ("", "2", "3", "4")]
_UNIT = "kube-proxy.service"
_UNIT_FOLDERS = ("/etc/systemd/system/", "/run/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/")
_ARGUMENTS_LIMIT = 128 * 1024


def replacement_of(host):
    """(name of a program that replaces kube-proxy, or None; why it is not known whether one does, or None)."""
    doubt = None
    for process in of_this_network(host, find_processes(host, _OTHERS)[1]):
        replaces = _replaces(host, process)
        if replaces:
            return process.name, None
        if replaces is None:
            doubt = "%s runs, which can replace kube-proxy, and its setting for that could not be read" % process.name
    return None, doubt


def _replaces(host, process):
    """Whether this program does the work of kube-proxy; None where that is not known."""
    if process.name in ("ovnkube", "openshift-sdn-n"):
        return True
    if process.status != OK:
        return None
    if process.name == "kube-router":
        given = option_of(process.arguments, "run-service-proxy")
        alone = "--run-service-proxy" in process.arguments
        return parse_go_bool("true" if given is None or alone else given)
    if process.name in ("calico-node", "calico-felix"):
        return _felix(host, process)
    if process.name == "kube-ovn-daemon":
        return None
    path = _CILIUM if process.name == "cilium-agent" else _ANTREA
    status, text = _file_of(host, process, path)
    if process.name == "antrea-agent":
        return bool(_PROXY_ALL.search(text)) if status == OK else None
    return _CILIUM_VALUES.get(text.strip() if status == OK else option_of(process.arguments, "kube-proxy-replacement"))


def _felix(host, process):
    environment = host.read_text("/proc/%d/environ" % process.pid)
    given = [part[len(_FELIX):] for part in environment.text.split("\0") if part.startswith(_FELIX)]
    if given and parse_go_bool(given[-1]):
        return True
    seen = {host.presence(path) for path in _FELIX_MAPS}
    if host.root == "/" and process.contained:
        found = host_container.stat_in(process.pid, process.start_time, _FELIX_MAPS)
        seen |= {row[0] for row in found.values()}
    return True if OK in seen else False if seen == {ABSENT} and environment.ok else None


def _file_of(host, process, path):
    if process.contained is False:
        text = host.read_text(path)
        return text.status, text.text
    if not process.contained or host.root != "/":
        return None, ""
    return host_container.look_into(process.pid, process.start_time, [path], [])["texts"][path]


def switched_off_outage(process):
    """That of a node whose server of k3s runs no kube-proxy."""
    return dict(NONE, state="disabled", because="%s runs with disable-kube-proxy" % process.name)


def outage_of(host, node, doubt):
    """The outage of a node on which no kube-proxy runs and no known program replaces it."""
    seconds, because = _unit(host)
    found = outage_of_pods(host, node, NAMES, time.time(), (seconds, because) if because else None)
    doubt = doubt or _other_name(host)
    return dict(found, state="unknown", because=doubt) if doubt else found


def _other_name(host):
    """Why a process may be a kube-proxy under another name, such as hyperkube, or a container of Docker alone."""
    with host.noting():
        for pid, name in named_processes(host)[1]:
            arguments = host.read_text("/proc/%d/cmdline" % pid, _ARGUMENTS_LIMIT).text.split("\0")
            if any(map(ARGUMENT.match, arguments[:2])) and of_this_network(host, [Process(host, pid, name)]):
                return "process %d (%s) may be a kube-proxy under another name" % (pid, name)
    names = {name for _pid, name in named_processes(host)[1]}
    if "dockerd" in names and "cri-dockerd" not in names:
        return "Docker runs here, and its containers are not searched for a kube-proxy"
    return None


def _unit(host):
    """(seconds since the unit of kube-proxy stopped or None, its state in words); (None, None) without such a unit."""
    if not any(host.exists(folder + _UNIT) for folder in _UNIT_FOLDERS):
        return None, None
    keys = ("ActiveState", "ExecMainStatus", "InactiveEnterTimestampMonotonic", "NRestarts", "Result")
    done = host.run(["systemctl", "show", "--no-pager", "--property=" + ",".join(keys), "--", _UNIT])
    held = dict(line.partition("=")[::2] for line in done.out.splitlines()) if done.ok else {}
    if held.get("ActiveState") not in ("inactive", "failed"):
        return None, "%s is %s" % (_UNIT, held.get("ActiveState", "not readable"))
    since = held.get("InactiveEnterTimestampMonotonic", "")
    words = "%s is %s (%s, exit code %s, %s restarts)" % tuple([_UNIT] + [held.get(key, "") for key in (
        "ActiveState", "Result", "ExecMainStatus", "NRestarts")])
    return time.monotonic() - int(since) / 1e6 if re.match(r"[1-9][0-9]{0,18}\Z", since) else None, words
