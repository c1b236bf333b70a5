# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidate lines of the node's logs."""

import collections
import posixpath
import re

from ..._errors import BadInput
from ..._host.host import ABSENT, OK, UNPARSED
from ..._host.walk import stream_back
from ..._parse.kube.kubelet_logs import AGENTS, parse_docker_name
from ..._parse.logs.candidates import is_candidate
from ..._parse.logs.line import parse_line
from ..._parse.logs.newest import FromEnd, Newest
from ..._parse.secrets import masked_line

MOST_ROWS, MOST_CHARACTERS = 200, 32 * 1024
# One agent that repeats a line leaves room for the others.
MOST_ROWS_OF_FILE = 50
# Bytes that are read from all files together, the newest first.
MOST_BYTES = 100 * 1024 * 1024
# Bytes that are unpacked from one file, whose newest lines come last.
MOST_UNPACKED = 1024 * 1024 * 1024
MOST_FILES, _MOST_PODS = 60, 500
JOURNAL, PODS = "journal", "/var/log/pods"
# kubelet's logs of containers are files below PODS; with Docker they are links to files that Docker writes.
_PODS_LEAD_TO = (PODS, "/var/lib/docker/containers")
# Log files that kubelet, containerd and plugins write themselves (docs.rke2.io; projectcalico/calico cni-plugin
# log_file_path; aws/amazon-vpc-cni-k8s README).
_OWN_FILES = ("/var/lib/rancher/rke2/agent/logs/kubelet.log", "/var/lib/rancher/rke2/agent/containerd/containerd.log",
              "/var/lib/rancher/k3s/agent/containerd/containerd.log", "/var/log/calico/cni/cni.log",
              "/var/log/aws-routed-eni/ipamd.log", "/var/log/aws-routed-eni/plugin.log")
_SYSTEM = re.compile(r"(?:messages|syslog|kern\.log)(?:[.-][\w.-]{1,40})?\Z")
# Formats that Python cannot unpack on every node; a search of packed bytes finds short words by chance.
_PACKED = (".xz", ".zst", ".bz2", ".lz4")
_UNITS = ("kubelet", "kube-proxy", "containerd", "crio", "k3s", "k3s-agent", "rke2-server", "rke2-agent",
          "k0scontroller", "k0sworker", "snap.microk8s.daemon-kubelite", "cri-docker", "firewalld", "ufw", "nftables",
          "iptables", "ip6tables", "netfilter-persistent", "systemd-modules-load", "systemd-sysctl")
# Lines that dockerd writes itself; lines of its containers have the same unit, but another transport.
_DOCKER = ["_SYSTEMD_UNIT=docker.service", "_TRANSPORT=stdout"]
_JOURNAL_LINES = 20000
_JOURNAL_SECONDS, _AGENT_SECONDS = 5.0, 2.0
_MASKED_TO, _HEAD_TO = 2000, 800
# kube-proxy listens on the health check port of a Service once per family, and only the first attempt succeeds
# (kubernetes pkg/proxy/healthcheck/service_health.go, 1.23 to 1.34).
_PORT_TAKEN = re.compile(r"listen tcp \S{0,80}:(\d{1,5}): bind: address already in use")
_MOST_PORTS, _MOST_PACKED = 8, 1032
# Other programs may send a CONTAINER_NAME as well, but not with the unit of dockerd (systemd.journal-fields(7)).
_OF_DOCKER = "_SYSTEMD_UNIT=docker.service"
_NAMES_LIMIT, _SECONDS = 256 * 1024, 2.0
_MOST_AGENTS, _MOST_NAMES = 8, 40


def collect_lines(host, sources=None):
    """`{"lines", "files", "files_left_out", "kube_proxy_ports"}` of the files `sources` of the tree, or of journal,
    agents and system. Raises BadInput for a path that names no log, and for too many paths."""
    if len(sources or ()) > MOST_FILES:
        raise BadInput("src has %d files, and one call searches at most %d; use several calls"
                       % (len(sources), MOST_FILES))
    for path in sources or ():
        _refuse_no_log(host, path)
    lines, files, left = [], [], MOST_BYTES
    if not sources and host.commands:
        for source, (status, found, size, cut) in [(JOURNAL, journal(host))] + agent_journals(host):
            files.append(_file(source, status, size, cut))
            lines += [(source, text) for text in found]
    named = list(sources or newest_first(host, system_logs(host) + own_logs(host) + agent_logs(host)))
    paths = named[:MOST_FILES]
    most = max(MOST_ROWS_OF_FILE, MOST_ROWS // (len(paths) or 1))
    for path in paths:
        status, found, size, cut = of_file(host, path, left if len(lines) < MOST_ROWS else 0, most)
        left -= size
        files.append(_file(path, status, size, cut))
        lines += [(path, text) for text in found]
    return {"lines": bounded(lines), "files": files, "files_left_out": len(named) - len(paths),
            "kube_proxy_ports": kube_proxy_ports(host, lines) if not sources and host.commands else None}


def kube_proxy_ports(host, lines):
    """Ports that are already in use according to the lines of `[(source, text)]` and that kube-proxy uses, or None."""
    ports = sorted({int(port) for _source, text in lines for port in _PORT_TAKEN.findall(text)})
    if not ports:
        return []
    from ..kube.kube_proxy_found import own_ports
    return own_ports(host, ports[:_MOST_PORTS])


def _refuse_no_log(host, path):
    if not path.startswith("/"):
        raise BadInput("src has %r, which is not an absolute path; give the whole path of the log" % path)
    if host.is_dir(path):
        raise BadInput("src %s is a directory; name the logs in it one by one" % path)
    if host.presence(path) == ABSENT:
        raise BadInput("src %s does not exist on the node; check the path and the host" % path)


def _file(path, status, size, cut):
    return {"path": path, "status": status, "read_bytes": size, "cut": cut}


def bounded(lines, most=MOST_ROWS, room=MOST_CHARACTERS):
    """Rows of at most `most` of `[(source, text)]` without secrets, of `room` characters together, in their order: the
    first of each writer, then the second of each, so that none leaves no room for the others."""
    turns, rows = collections.Counter(), {}
    ordered = []
    for number, (source, text) in enumerate(lines):
        writer = parse_line(text.partition("\n")[0]).writer
        writer = source, writer.partition("[")[0] or writer
        ordered.append((turns[writer], number))
        turns[writer] += 1
    for _turn, number in sorted(ordered)[:most]:
        source, text = lines[number]
        text = "\n".join(masked_line(line, _MASKED_TO) for line in _shortened(text.split("\n")))[:_MASKED_TO]
        if len(text) + len(source) <= room:
            room -= len(text) + len(source)
            rows[number] = {"source": source, "text": text}
    return [rows[number] for number in sorted(rows)]


def _shortened(lines):
    """The lines of a message; of one with many lines the first and all that may show a cause."""
    if sum(map(len, lines)) <= _MASKED_TO:
        return lines
    return [lines[0][:_HEAD_TO] if len(lines) > 1 else lines[0]] + [line for line in lines[1:] if is_candidate(line)]


class _Counted:
    """Keeps the newest lines and counts the searched bytes; the first `skip` bytes are not searched."""

    def __init__(self, most, skip=0):
        self.newest = Newest(most)
        self.size, self.lines = 0, 0
        self._skip = skip

    def feed(self, chunk):
        left_out = min(self._skip, len(chunk))
        self._skip -= left_out
        self.size += len(chunk) - left_out
        self.lines += chunk.count(b"\n")
        self.newest.feed(chunk[left_out:] if left_out else chunk)


def journal(host, *options, most=_JOURNAL_LINES):
    """(status, candidate lines, bytes, whether older lines were left out) of the kernel and of units. The last `most`
    lines only; journalctl reads and changes nothing."""
    terms = " + ".join(["_TRANSPORT=kernel"] + ["_SYSTEMD_UNIT=%s.service" % unit for unit in _UNITS]).split()
    return _journal(host, list(options) + terms + ["+"] + _DOCKER, _JOURNAL_SECONDS, most)


def agent_journals(host, namespaces=("",), *options, most=_JOURNAL_LINES):
    """`[(source, what journal() returns)]` of agents in containers of Docker whose lines are in the journal."""
    status, agents = agent_terms(host, namespaces)
    if status not in (OK, ABSENT):
        return [(JOURNAL + ":docker", (status, [], 0, False))]
    return [("%s:%s" % (JOURNAL, name), _journal(host, list(options) + terms, _AGENT_SECONDS, most))
            for name, terms in agents.items()]


def _journal(host, terms, seconds, most):
    counted = _Counted(MOST_ROWS_OF_FILE)
    done = host.stream(["journalctl", "--no-pager", "--quiet", "--output=short-iso", "--lines=%d" % most] + terms,
                       counted.feed, seconds, MOST_BYTES // 2)
    status = UNPARSED if done.status == OK and done.rc else done.status
    return status, counted.newest.newest(), counted.size, counted.lines >= most


def of_file(host, path, left, most):
    """(status, candidate lines, bytes read, whether the beginning was left out)."""
    real = host.tree_path(path)
    if real is None:
        return host.presence(path), [], 0, False
    if not is_log(host, path, real) or real.endswith(_PACKED):
        return UNPARSED, [], 0, False
    if left <= 0:
        return OK, [], 0, True
    if real.endswith(".gz"):
        skipped = max(0, _unpacked_size(host, real) - left)
        counted = _Counted(most, skipped)
        status = host.stream_file(real, counted.feed, MOST_UNPACKED)
        return status, counted.newest.newest(), counted.size, skipped > 0
    found = FromEnd(most)
    status, size, skipped = stream_back(host, real, found.feed, left)
    return status, found.newest(), size, skipped > 0


def is_log(host, path, real):
    """Whether the real path of `path` is that of a log: a pod may mount /var/log and link to other files. The
    folders may be links themselves."""
    return not path.startswith(PODS + "/") or real.startswith(tuple(
        (host.tree_path(folder) or folder) + "/" for folder in _PODS_LEAD_TO))


def _unpacked_size(host, path):
    """The size of the content that the end of a gzip file states (RFC 1952, ISIZE, modulo 2^32), 0 where that size is
    impossible: deflate compresses to no less than 1/1032, so these bytes are not an end, and the file was truncated."""
    ends = []
    _status, _size, before = stream_back(host, path, lambda chunk, _is_first: ends.append(chunk), 4)
    size = int.from_bytes(ends[0][-4:], "little") if ends else 0
    return size if size <= _MOST_PACKED * (before + 4) else 0


def system_logs(host):
    """Logs of the kernel and of units with their rotated files."""
    return ["/var/log/" + name for name in host.list_dir("/var/log")[1] if _SYSTEM.match(name)]


def own_logs(host):
    """Logs that programs of this node write beside the journal."""
    return [path for path in _OWN_FILES if host.stat(path) is not None]


def agent_logs(host, namespaces=("",)):
    """Logs of agents in pods whose namespace begins with one of `namespaces`, with their rotated files."""
    paths = []
    pods = [pod for pod in host.list_dir(PODS)[1] if pod.startswith(namespaces)]
    for pod in (posixpath.join(PODS, pod) for pod in pods[:_MOST_PODS]):
        for folder in (posixpath.join(pod, name) for name in host.list_dir(pod)[1] if name in AGENTS):
            paths += [posixpath.join(folder, name) for name in host.list_dir(folder)[1] if ".log" in name]
    return paths


def newest_first(host, paths, since=0):
    """The paths that were written to after `since`, a time in seconds, the newest first."""
    times = {}
    for path in paths:
        seen = host.stat(path)
        if seen is not None and seen.st_mtime > since:
            times[path] = seen.st_mtime
    return sorted(times, key=lambda path: (-times[path], path))


# Agents whose containers write into the journal, through Docker's log driver journald.
# Such a container has no file below /var/log/pods. dockerd sends its lines with CONTAINER_NAME, and with a tag as
# SYSLOG_IDENTIFIER, by default the first 12 digits of the container's ID
# (docs.docker.com/engine/logging/drivers/journald, moby daemon/logger/journald/journald.go).
def agent_terms(host, namespaces=("",)):
    """(status, `{container: terms of journalctl}`) of agents in pods whose namespace begins with one of
    `namespaces`."""
    if host.find_binary("dockerd") is None:
        return ABSENT, {}
    chunks, found = [], {}
    done = host.stream(["journalctl", "--no-pager", "--quiet", "--field=CONTAINER_NAME"], chunks.append, _SECONDS,
                       _NAMES_LIMIT)
    if done.status != OK or done.rc:
        return UNPARSED if done.status == OK else done.status, {}
    for name in sorted(b"".join(chunks).decode("utf-8", "replace").splitlines()):
        container, _pod, namespace = parse_docker_name(name) or (None, None, "")
        # The names of pod folders also begin with the namespace and an underscore.
        if container in AGENTS and (namespace + "_").startswith(namespaces):
            found.setdefault(container, []).append("CONTAINER_NAME=" + name)
    return OK, {container: found[container][-_MOST_NAMES:] + [_OF_DOCKER] for container in sorted(found)[:_MOST_AGENTS]}
