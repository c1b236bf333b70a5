# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel shows of a running kube-proxy: its cgroup, children, sockets and restarts, the files in its root, and
the modes that are possible."""

import re
import time

from ... import _versions
from ..._host import container as host_container
from ..._host.host import ABSENT, INDEX_LIMIT, OK, UNPARSED
from ..._parse.proc.network_files import parse_attempts, parse_net_tcp
from ..._parse.secrets import masked_command
from ..._versions import numbers
from ..containers import Containers, resources_of, restarts_of
from ..lock.holder import is_restore
from ..processes import Process, name_of, status_of_notes, uptime_seconds

_CHILDREN_LIMIT, _LINKS_LIMIT, _FDS_LIMIT, _TABLE_LIMIT = 5, 2000, 20000, 16 * 1024 * 1024
_SOCKET = "socket:["
# The first reading without a connection and the last one are so far apart.
APART_SECONDS, _PAUSE = 6.0, 1.0
_TOOL = re.compile(r"(?:ip6?tables|xtables|ipset|nft|conntrack|modprobe)(?![a-z0-9])")
PROTOCOLS, LIBM, LIBC = "/etc/protocols", "libm.so.6", "libc.so.6"
# Matches of all versions of kube-proxy in iptables and ipvs mode (kubernetes pkg/proxy/iptables/proxier.go); statistic
# only where a Service has two endpoints.
COMMENT, STATISTIC = "libxt_comment.so", "libxt_statistic.so"
MATCHES = ("libxt_addrtype.so", COMMENT, "libxt_conntrack.so", "libxt_mark.so", STATISTIC)
_COMPARES = (1, 33)
_TRIPLES = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "armv7l": "arm-linux-gnueabihf",
            "ppc64le": "powerpc64le-linux-gnu", "s390x": "s390x-linux-gnu", "riscv64": "riscv64-linux-gnu"}
_PLAIN = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
_FOLDER, _OWN_FOLDER = "xtables", "XTABLES_LIBDIR="
_NEEDS = {"iptables": ("iptables", "iptables-restore", "iptables-save"), "ipvs": ("ipset", "iptables-restore"),
          "nftables": ("nft",)}
_MODULES = {"iptables": ("x_tables",), "ipvs": ("ip_vs", "ip_set"), "nftables": ("nf_tables",)}
_NFTABLES_KERNEL, _NFTABLES_STABLE, _NFTABLES_ALPHA = (5, 13), (1, 33), (1, 29)


def process_of(host, process, own_ports, alone):
    """({source: status}, keys of the section); `own_ports` are the ports that it listens on."""
    container = Containers(host).of(process.pid)
    restarts = restarts_of(host, container)[0]
    status, resources = resources_of(host, process, restarts)
    # A program that contains kube-proxy has other connections as well.
    sockets_status, sockets = api_sockets(host, process.pid, own_ports) if alone else (ABSENT, None)
    children_status, children = _children(host, process, alone)
    return {"cgroup": status, "children": children_status, "sockets": sockets_status}, {
        "pid": process.pid, "program": process.name, "state": process.state, "container": container,
        "restarts": restarts, "resources": resources, "children": children, "api_sockets": sockets}


def _children(host, process, alone):
    """(status, programs that kube-proxy runs, the oldest first): it waits for iptables-restore without a time limit and
    neither logs nor counts meanwhile (pkg/util/iptables/iptables.go). In a program that contains kube-proxy, only
    restores belong to kube-proxy."""
    pids = set()
    with host.noting() as notes:
        for task in host.list_dir("/proc/%d/task" % process.pid)[1]:
            text = host.read_text("/proc/%d/task/%s/children" % (process.pid, task)).text
            pids.update(int(pid) for pid in text.split() if pid.isdigit())
        found = [Process(host, pid, name_of(host, pid)) for pid in sorted(pids)[:_LINKS_LIMIT]]
    uptime = uptime_seconds(host)
    rows = [{"pid": child.pid, "command": masked_command(child.arguments), "age_seconds": child.age_seconds(uptime),
             "state": child.state} for child in found
            if child.arguments and not child.ended and (_is_tool(child) if alone else is_restore(child))]
    return status_of_notes(notes), sorted(rows, key=lambda row: -(row["age_seconds"] or 0))[:_CHILDREN_LIMIT]


def _is_tool(child):
    """Whether it is a program that kube-proxy runs; one that a script around kube-proxy started may run for long."""
    return any(_TOOL.match(name.rpartition("/")[2]) for name in [child.name] + child.arguments[:2])


def api_sockets(host, pid, own_ports):
    """(status, {"established", "connecting", "other", "connecting_to", "readings", "seconds"}) of its outgoing TCP
    connections: all of them lead to the API server, because kube-proxy has no other connections."""
    with host.noting():
        status, links = host.list_dir("/proc/%d/fd" % pid)
        if status != OK:
            return status, None
        if len(links) > _FDS_LIMIT:
            return UNPARSED, None  # A connection among the others would not be seen.
        inodes = {host.read_link("/proc/%d/fd/%s" % (pid, link)) for link in links}
        numbers = {link[len(_SOCKET):-1] for link in inodes if link and link.startswith(_SOCKET)}
        counts = {"established": 0, "connecting": 0, "other": 0}
        attempts = []
        for name in ("tcp", "tcp6"):
            chunks = []
            read = host.stream_file("/proc/%d/net/%s" % (pid, name), chunks.append, _TABLE_LIMIT, packed=False)
            if read not in (OK, ABSENT):
                return read, None
            text = b"".join(chunks).decode("ascii", "replace")
            for row in parse_net_tcp(text, numbers):
                if row.state != "LISTEN" and row.port not in own_ports:
                    counts[{"ESTABLISHED": "established", "SYN_SENT": "connecting"}.get(row.state, "other")] += 1
            attempts += parse_attempts(text, numbers) if counts["connecting"] else []
    attempts = [("[%s]:%d" if ":" in address else "%s:%d") % (address, port) for address, port in attempts]
    return OK, dict(counts, connecting_to=attempts[:_CHILDREN_LIMIT], readings=1, seconds=0.0)


def is_disconnected(sockets):
    """Whether no reading of its connections, of several, shows one that is established."""
    return bool(sockets) and not sockets["established"] and sockets["readings"] > 1


def api_sockets_again(host, pid, own_ports, first):
    """What api_sockets() returns, read again for APART_SECONDS until a connection is established: kube-proxy connects
    again by itself after a restart of the API server. None where the process is gone."""
    begun, readings = time.monotonic(), first["readings"]
    while True:
        time.sleep(_PAUSE)
        found, readings = api_sockets(host, pid, own_ports)[1], readings + 1
        seconds = time.monotonic() - begun
        if found is None or found["established"] or seconds >= APART_SECONDS:
            return found and dict(found, readings=readings, seconds=round(seconds, 1))


# Files that the programs of kube-proxy need in its root, besides the programs themselves.
# iptables loads each match as a library (iptables libxtables/xtables.c), and libxt_statistic.so needs libm. nft prints
# protocols by the names in /etc/protocols, or as numbers (nftables src/datatype.c); from 1.33 on kube-proxy compares
# the printed elements with its own after a restart, as texts, and deletes what it does not find (kubernetes
# pkg/proxy/nftables/proxier.go, nftElementStorage). musl has the names of protocols, and no libm apart.
def files_of(host, process):
    """{file: present, absent, unneeded or unknown} in the root of kube-proxy; empty where that root is not known."""
    folders = ["%s/%s" % (folder, triple) for triple in [_TRIPLES.get(host.machine())] if triple
               for folder in ("/lib", "/usr/lib")] + list(_PLAIN)
    wanted = {PROTOCOLS: [PROTOCOLS], _FOLDER: ["%s/%s" % (folder, _FOLDER) for folder in folders]}
    wanted.update((name, ["%s/%s" % (folder, name) for folder in folders]) for name in (LIBC, LIBM))
    wanted.update((name, ["%s/%s" % (folder, name) for folder in wanted[_FOLDER]]) for name in MATCHES)
    paths = sorted({path for found in wanted.values() for path in found})
    if process.contained is False:
        statuses = {path: host.presence(path) for path in paths}
    elif process.contained and host.root == "/":
        statuses = {path: row[0] for path, row in
                    host_container.stat_in(process.pid, process.start_time, paths).items()}
    else:
        return {}
    states = {name: _state([statuses[path] for path in found]) for name, found in wanted.items()}
    environment = host.read_text("/proc/%d/environ" % process.pid)
    # iptables without its folder, or with another one, may be linked with all matches; musl replaces the C library.
    folder, libc = states.pop(_FOLDER), states.pop(LIBC)
    linked = "unknown" if "unknown" in (folder, libc) or environment.status not in (OK, ABSENT) else (
        "unneeded" if folder == "absent" or _OWN_FOLDER in environment.text else None)
    if linked:
        states.update((name, linked) for name in MATCHES if states[name] == "absent")
    if libc != "present":
        states.update((name, "unneeded" if libc == "absent" else libc) for name in (LIBM, PROTOCOLS)
                      if states[name] == "absent")
    return states


def _state(statuses):
    return "present" if OK in statuses else "absent" if set(statuses) == {ABSENT} else "unknown"


def lacks_of(files, mode, version, synced):
    """[{"name", "effect"}] of the files that the mode needs and that are absent; `synced`: whether a sync succeeded, so
    that what every sync needs is there."""
    def absent(name):
        return files.get(name) == "absent"

    rows = []
    if mode == "nftables":
        if absent(PROTOCOLS) and (_versions.numbers(version or "")[:2] or _COMPARES) >= _COMPARES:
            rows.append((PROTOCOLS, "nft prints protocols as numbers, so kube-proxy deletes the elements of its maps "
                                    "at its next restart"))
    elif mode in ("iptables", "ipvs"):
        # Where a sync succeeded without the library of each rule, iptables has its matches built in.
        names = () if synced and absent(COMMENT) else (STATISTIC,) if synced else MATCHES
        effect = "iptables cannot load this match%s"
        rows += [(name, effect % (", which Services with two endpoints need" if name == STATISTIC else ""))
                 for name in names if absent(name)]
        if absent(LIBM) and files.get(STATISTIC) == "present":
            rows.append((LIBM, "%s needs it, so no rule of a Service with two endpoints can be written" % STATISTIC))
    return [{"name": name, "effect": effect} for name, effect in rows]


# Which proxy modes the kernel and the programs of a node allow, and which one to prefer.
# nftables mode: alpha in 1.29, beta in 1.31, stable in 1.33; kernel 5.13 and nft 1.0.1 (kubernetes enhancements, keps
# 3866 and 5343). ipvs mode: deprecated in 1.35 (keps 5495).
def modes_of(host, release, tools, version):
    """(rows `{"mode", "possible", "because"}`, advice); `release` of the kernel, `tools` of the section, `version` of
    kube-proxy or None. The section of kernel modules reports whether modprobe.d blocks a module."""
    kernel, minor = numbers(release or "")[:2], numbers(version or "")[:2]
    rows = []
    for mode in sorted(_NEEDS):
        missing = [tool for tool in _NEEDS[mode] if tools.get(tool) == "absent"]
        doubtful = [tool for tool in _NEEDS[mode] if tools.get(tool) not in ("present", "absent")]
        lacking = [name for name in _MODULES[mode] if _available(host, release, name) is False]
        possible, because = True, "the kernel and all programs support it"
        if mode == "nftables" and kernel and kernel < _NFTABLES_KERNEL:
            possible, because = False, "kernel %s is older than 5.13" % re.sub(r"[^\w.+~-]", "?", release)
        elif mode == "nftables" and minor and minor < _NFTABLES_ALPHA:
            possible, because = False, "kube-proxy %s has no such mode" % version
        elif missing:
            possible, because = False, "kube-proxy finds no %s" % ", ".join(missing)
        elif lacking:
            possible, because = False, "kernel module %s is not available" % ", ".join(lacking)
        elif doubtful:
            possible, because = None, "whether kube-proxy finds %s is not known" % ", ".join(doubtful)
        rows.append({"mode": mode, "possible": possible, "because": because})
    return rows, _advice({row["mode"]: row["possible"] for row in rows}, minor)


def _advice(possible, minor):
    if possible["nftables"] and minor and minor >= _NFTABLES_STABLE:
        return "nftables, if the network plugin supports it"
    if possible["iptables"] is not False:
        return "iptables"
    return "nftables" if possible["nftables"] else None


def _available(host, release, name):
    """Whether the running kernel has a module: in memory or built in, or in its index; None if not read."""
    if host.is_dir("/sys/module/%s" % name) or not release:
        return True if release else None
    folder, known = "/lib/modules/%s/" % release, []
    for index in ("modules.dep", "modules.builtin"):
        status, data = host.read_bytes(folder + index, INDEX_LIMIT)
        if status == OK and ("/%s.ko" % name).encode("ascii", "replace") in data:
            return True
        known.append(status == OK)
    return False if all(known) else None
