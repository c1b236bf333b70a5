# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""iptables builds in the containers of programs that write rules of the node.

Their files are read and never run: the bytes of a build contain its backend and version. Limits for reading from
containers: _host/container.py.

Which backend the kube-proxy that runs here writes to, by the iptables it uses.

Used only where both backends hold its rules. At its first run a wrapper links itself to one backend
(kubernetes-sigs/iptables-wrappers).

The backend of an iptables program of the node, by the file its links lead to.

Names of links prove nothing, and a wrapper (kubernetes-sigs/iptables-wrappers, Calico) changes links: no program is
run.
"""

import time

from ... import _versions
from ..._host import container as host_container
from ..._host.host import ABSENT, BINARY_DIRECTORIES, DENIED, OK, TIMEOUT, UNPARSED
from ..._parse.program_files import parse_iptables_program
from ..containers import Containers
from ..processes import AGENTS, find_processes, in_namespace_of_the_node
from .nft_builds import fault_of_iptables, nft_of_process, title

PROGRAMS, NFT = (tuple(folder + name for folder in BINARY_DIRECTORIES) for name in ("/iptables", "/nft"))
# The builds that a wrapper chooses from.
BUILDS = tuple(folder + "/xtables-nft-multi" for folder in BINARY_DIRECTORIES)
# A build has 0.2 MB; a static build or a wrapper written in Go has a few MB.
SIZE_LIMIT = 8 * 1024 * 1024
CONTAINERS_LIMIT, SECONDS, ROWS_LIMIT = 24, 6.0, 10
# Since 1.8.8 iptables writes matches in a form that older ones print without the match (measured: 1.8.7 against
# 1.8.9 and 1.8.11).
NATIVE_SINCE = "1.8.8"


def collect_builds(host, nft=None):
    """(status, rows, left out): a row for each build. To the list `nft` are added (identity, row) of each container's
    nft. A process that shares the node's root uses the node's iptables, and one with a network of its own does not
    write the node's rules."""
    status, processes = find_processes(host, AGENTS)
    containers, deadline = Containers(host), time.monotonic() + SECONDS
    rows, seen, left_out = [], set(), 0
    for process in processes:
        place = host.read_link("/proc/%d/ns/mnt" % process.pid)
        if process.contained is False or place in seen or in_namespace_of_the_node(host, process) is False:
            continue
        seen.add(place or process.pid)
        if len(seen) > CONTAINERS_LIMIT or time.monotonic() > deadline:
            left_out += 1
            continue
        container = containers.of(process.pid) or {}
        # A process whose root may not be seen is not read.
        read = (None, None) if process.contained is None else host_container.read_first_in_groups(
            process.pid, process.start_time, (PROGRAMS, NFT), SIZE_LIMIT)
        if process.is_the_same(host):
            rows.append(build_of_process(process, container, read[0]))
            if nft is not None:
                nft.append(nft_of_process(process, container, read[1]))
    rows = _distinct(rows)
    # A build that repeats another one may be left out; a container that was not read may have a build of its own.
    return TIMEOUT if left_out else status, [row for _file, row in rows[:ROWS_LIMIT]], left_out + len(rows[ROWS_LIMIT:])


def build_of_process(process, container, read=None):
    """(identity of the file or None, the row); `read`: what was read of its iptables, if that was read already."""
    row = {"container": container.get("name"), "pod": container.get("pod"), "namespace": container.get("namespace"),
           "comm": process.name, "pid": process.pid, "path": None, "backend": None, "version": None, "status": DENIED,
           "strips": None, "because": "", "fault": None}
    if process.contained is None:
        return None, row  # Its root may not be seen.
    found, data = read or host_container.read_first(process.pid, process.start_time, PROGRAMS, SIZE_LIMIT)
    row["path"], row["status"] = found["path"], found["status"]
    if found["status"] != OK:
        return None, row
    row["backend"], row["version"] = parse_iptables_program(data)
    if row["backend"] is None:
        row["status"] = UNPARSED
    if row["backend"] == "wrapper":
        row["version"] = parse_iptables_program(host_container.read_first(process.pid, process.start_time, BUILDS,
                                                                          SIZE_LIMIT)[1])[1]
    row["fault"] = fault_of_iptables(row)
    return (found["device"], found["inode"]), row


def _distinct(rows):
    """The rows with each file once. Builds that differ come first: ten copies of one build show no more than one."""
    files, kinds, first, rest = set(), set(), [], []
    for identity, row in rows:
        if identity in files:
            continue
        if identity:
            files.add(identity)
        kind = (row["backend"], row["version"], row["status"])
        (rest if kind in kinds else first).append((identity, row))
        kinds.add(kind)
    return first + rest


def judge_stripping(rows, backend, version):
    """Sets `strips` and `because` of the rows; `backend` and `version` are those of the node's own iptables, None where
    not known. Only two builds of the nft backend read what the other wrote, and only the older one loses matches: the
    node's own when it lists what the container wrote, or the container's when it lists what another wrote."""
    writers = [("the node's own iptables", version)] if backend in ("nft", "mixed", None) and version else []
    writers += [("iptables of %s" % title(row), row["version"]) for row in rows
                if _effective(row, backend) == "nft" and row["version"]]
    newer = [writer for writer in writers if _versions.within(writer[1], since=NATIVE_SINCE)]
    for row in rows:
        row["strips"], row["because"] = _stripping(row, backend, version, newer)


def _effective(row, backend):
    """The backend of a build. A wrapper takes the backend that holds kubelet's hint, which is the node's own."""
    return backend if row["backend"] == "wrapper" else row["backend"]


def _stripping(row, backend, version, newer):
    own = _effective(row, backend)
    if row["status"] == ABSENT:
        return False, "it has no iptables of its own"
    if own == "legacy":
        return False, "the legacy backend prints all rules of the kernel"
    if own != "nft" or not row["version"]:
        return None, "its backend or version is not known"
    old = _versions.within(row["version"], before=NATIVE_SINCE)
    if old and newer:
        return True, "iptables %s reads rules of %s %s without their matches" % (row["version"], newer[0][0],
                                                                                 newer[0][1])
    if backend in ("none", "legacy"):
        return False, "no other iptables of this node reads or writes rules of the nft backend in another form"
    if version is None:
        return None, "the version of the node's own iptables is not known"
    if not old and _versions.within(version, before=NATIVE_SINCE):
        return True, "the node's own iptables %s reads rules of iptables %s without their matches" % (version,
                                                                                                      row["version"])
    return False, "both write and read matches in the same form"


MULTI = {"nft": ("xtables-nft-multi",), "legacy": ("xtables-legacy-multi", "xtables-multi")}
_BY_NAME = {name: backend for backend, names in MULTI.items() for name in names}


def backend_of(host, path):
    """`nft`, `legacy`, `wrapper` or `unknown` of the program at `path`, whose links are followed."""
    target = host.tree_path(path) or path
    return _BY_NAME.get(target.rsplit("/", 1)[-1]) or build_of(host, target)[0]


def build_of(host, target):
    """(backend as above, version or None) of a file, from its own bytes."""
    named = _BY_NAME.get(target.rsplit("/", 1)[-1])
    status, data = host.read_bytes(target)
    if status != OK:
        return named or "unknown", None
    backend, version = parse_iptables_program(data)
    # An iptables program without a backend in its bytes is older than 1.8, which introduced the two backends.
    return named or backend or ("legacy" if data.startswith(b"\x7fELF") else "unknown"), version


_BACKENDS = ("nft", "legacy")


def proxy_backend(host, kube_proxy):
    """nft or legacy; None where that is not known, as with a wrapper that has not run yet. `kube_proxy`: its
    section."""
    backend, root = None, kube_proxy["tools_root"]
    if kube_proxy["runs_in"] == "host":
        path = host.find_binary("iptables-restore")
        backend = backend_of(host, path) if path else None
    elif kube_proxy["runs_in"] == "container":
        mine = [process for process in find_processes(host, ("kube-proxy",))[1]
                if "/proc/%d/root" % process.pid == root]
        backend = build_of_process(mine[0], {})[1]["backend"] if mine else None
    return backend if backend in _BACKENDS else None
