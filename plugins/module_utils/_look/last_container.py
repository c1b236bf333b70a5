# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the node knows of a container that ended: kubelet's log files, and the state that the runtime keeps on disk.
PRIVATE to the collection.

The runtime itself is not queried: its socket may hang, and a client of it can change containers.
"""

import posixpath
import re

from .._host.file_end import stream_back
from .._parse.kube.container_state import parse_container_state
from .._parse.kube.pod_log_names import SYSTEM_NAMESPACES, parse_container_link, parse_pod_folder
from .._parse.logs.line import parse_line
from .._parse.secrets import masked_line
from .cgroup import RECENT_SECONDS
from .cni.runtime import runtime_of
from .cni.sandboxes import container_state
from .containers import CONTAINER_LOGS, ID_DIGITS, POD_LOGS, restarts_of
from .logs.lines import is_log

_PODS, _STATE_LIMIT, _TAIL = 500, 256 * 1024, 8 * 1024
_LINES, _LINE, _NAME = 3, 200, 80
_KILLED = "OOMKilled"
_NUMBER = re.compile(r"([0-9]{1,6})\.log\Z")


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
