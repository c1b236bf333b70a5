# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that the programs of kube-proxy need in its root, besides the programs themselves. PRIVATE to the collection.

iptables loads each match as a library (iptables libxtables/xtables.c), and libxt_statistic.so needs libm. nft prints
protocols by the names in /etc/protocols, or as numbers (nftables src/datatype.c); from 1.33 on kube-proxy compares the
printed elements with its own after a restart, as texts, and deletes what it does not find (kubernetes
pkg/proxy/nftables/proxier.go, nftElementStorage). musl has the names of protocols, and no libm apart.
"""

from ... import _versions
from ..._host import container as host_container
from ..._host.host import ABSENT, OK

PROTOCOLS, LIBM, LIBC = "/etc/protocols", "libm.so.6", "libc.so.6"
# Matches of all versions of kube-proxy in iptables and ipvs mode (kubernetes pkg/proxy/iptables/proxier.go); statistic
# only where a Service has two endpoints.
COMMENT, STATISTIC = "libxt_comment.so", "libxt_statistic.so"
MATCHES = ("libxt_addrtype.so", COMMENT, "libxt_conntrack.so", "libxt_mark.so", STATISTIC)
_COMPARES = (1, 33)
_TRIPLES = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu", "armv7l": "arm-linux-gnueabihf",
            "ppc64le": "powerpc64le-linux-gnu", "s390x": "s390x-linux-gnu", "riscv64": "riscv64-linux-gnu"}
_PLAIN = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
_FOLDER = "xtables"
_OWN_FOLDER = "XTABLES_LIBDIR="


def files_of(host, process):
    """{file: present, absent, unneeded or unknown} in the root of kube-proxy; empty where that root is not
    known."""
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
