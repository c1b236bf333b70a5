# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidate lines of the node's logs. PRIVATE to the collection."""

import posixpath
import re

from ..._errors import BadInput
from ..._host.file_end import stream_end
from ..._host.host import ABSENT, OK, UNPARSED
from ..._parse.logs.newest import Newest
from ..._parse.secrets import masked_line

MOST_ROWS = 200
MOST_CHARACTERS = 32 * 1024
# One agent that repeats itself leaves room for the others.
MOST_ROWS_OF_FILE = 50
# What is read of all files together, the newest first.
MOST_BYTES = 48 * 1024 * 1024
MOST_FILES = 60
_MOST_PODS = 500
JOURNAL = "journal"
PODS = "/var/log/pods"
# kubelet's logs of containers are files below PODS, or with Docker links to what it writes itself.
_PODS_LEAD_TO = (PODS, "/var/lib/docker/containers")
_SYSTEM = re.compile(r"(?:messages|syslog|kern\.log)(?:[.-][\w.-]{1,40})?\Z")
# What Python does not unpack on every node; in packed bytes a short word is found by chance.
_PACKED = (".xz", ".zst", ".bz2", ".lz4")
# Containers of agents that change rules or network of a node; the text of other pods is not read.
_AGENTS = ("kube-proxy", "kube-flannel", "calico-node", "cilium-agent", "kube-router", "aws-node", "aws-eks-nodeagent",
           "weave", "weave-npc", "kube-ovn-cni", "antrea-agent", "kindnet-cni", "install-cni", "install-cni-plugin")
_UNITS = ("kubelet", "kube-proxy", "containerd", "crio", "docker", "k3s", "k3s-agent", "rke2-server", "rke2-agent",
          "k0scontroller", "k0sworker", "snap.microk8s.daemon-kubelite")
_JOURNAL_LINES = 20000
_JOURNAL_SECONDS = 5.0
_MASKED_TO = 2000


def collect_lines(host, sources=None):
    """`{"lines", "files"}` of the files `sources` of the tree, or of journal, agents and system.

    Raises BadInput for a path that names no log, and for too many of them.
    """
    if len(sources or ()) > MOST_FILES:
        raise BadInput("src has %d files, and one call searches at most %d; use several calls"
                       % (len(sources), MOST_FILES))
    for path in sources or ():
        _refuse_no_log(host, path)
    lines, files, left = [], [], MOST_BYTES
    if not sources and host.commands:
        status, found, size = _journal(host)
        files.append(_file(JOURNAL, status, size, False))
        lines += [(JOURNAL, text) for text in found]
    paths = list(sources or _newest_first(host))[:MOST_FILES]
    most = max(MOST_ROWS_OF_FILE, MOST_ROWS // (len(paths) or 1))
    for path in paths:
        status, found, size, cut = _of_file(host, path, left, most)
        left -= size
        files.append(_file(path, status, size, cut))
        lines += [(path, text) for text in found]
    return {"lines": _bounded(lines), "files": files}


def _refuse_no_log(host, path):
    if not path.startswith("/"):
        raise BadInput("src has %r, which is not an absolute path; give the whole path of the log" % path)
    if host.is_dir(path):
        raise BadInput("src %s is a directory; name the logs in it one by one" % path)
    if host.presence(path) == ABSENT:
        raise BadInput("src %s does not exist on the node; check the path and the host" % path)


def _file(path, status, size, cut):
    return {"path": path, "status": status, "read_bytes": size, "cut": cut}


def _bounded(lines):
    rows, room = [], MOST_CHARACTERS
    for source, text in lines[:MOST_ROWS]:
        text = "\n".join(masked_line(line, _MASKED_TO) for line in text.split("\n"))[:_MASKED_TO]
        room -= len(text) + len(source)
        if room < 0:
            break
        rows.append({"source": source, "text": text})
    return rows


class _Counted:
    """Newest lines and how many bytes they were chosen from."""

    def __init__(self, most):
        self.newest = Newest(most)
        self.size = 0

    def feed(self, chunk):
        self.size += len(chunk)
        self.newest.feed(chunk)


def _journal(host):
    """(status, candidate lines, bytes). The last lines only; journalctl reads and changes nothing."""
    counted = _Counted(MOST_ROWS_OF_FILE)
    terms = " + ".join(["_TRANSPORT=kernel"] + ["_SYSTEMD_UNIT=%s.service" % unit for unit in _UNITS]).split()
    done = host.stream(["journalctl", "--no-pager", "--quiet", "--output=short-iso", "--lines=%d" % _JOURNAL_LINES]
                       + terms, counted.feed, _JOURNAL_SECONDS, MOST_BYTES // 2)
    status = UNPARSED if done.status == OK and done.rc else done.status
    return status, counted.newest.newest(), counted.size


def _of_file(host, path, left, most):
    """(status, candidate lines, bytes read, whether the beginning was left out)."""
    real = host.tree_path(path)
    if real is None:
        return host.presence(path), [], 0, False
    if path.startswith(PODS + "/") and not real.startswith(_folders_behind(host, _PODS_LEAD_TO)):
        # A pod may mount /var/log and lay links there; what they lead to is no log.
        return UNPARSED, [], 0, False
    if real.endswith(_PACKED):
        return UNPARSED, [], 0, False
    if left <= 0:
        return OK, [], 0, True
    counted = _Counted(most)
    if real.endswith(".gz"):
        status = host.stream_file(real, counted.feed, left)
        return status, counted.newest.newest(), counted.size, counted.size >= left
    status, skipped = stream_end(host, real, counted.feed, left)
    return status, counted.newest.newest(), counted.size, skipped > 0


def _folders_behind(host, folders):
    """Beginnings of the paths below these folders, which may be links of the node themselves."""
    return tuple((host.tree_path(folder) or folder) + "/" for folder in folders)


def _newest_first(host):
    """The logs of agents and system with their rotated files, the newest first."""
    paths = ["/var/log/" + name for name in host.list_dir("/var/log")[1] if _SYSTEM.match(name)]
    for pod in host.list_dir(PODS)[1][:_MOST_PODS]:
        for agent in _AGENTS:
            folder = posixpath.join(PODS, pod, agent)
            paths += [posixpath.join(folder, name) for name in host.list_dir(folder)[1] if ".log" in name]
    times = {}
    for path in paths:
        seen = host.stat(path)
        if seen is not None:
            times[path] = seen.st_mtime
    return sorted(times, key=lambda path: (-times[path], path))
