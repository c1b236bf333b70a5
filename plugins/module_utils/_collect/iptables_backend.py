# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_iptables_backend: which backend the node's iptables programs are. PRIVATE to the collection.

Told from where the links lead, without running anything but C(iptables-save --version). C(iptables --version) tells the same
and is no harmless look: with the nft backend it loads nfnetlink (seen with iptables 1.8.9 on Linux 6.1), as do
C(nft --version) and C(conntrack --version); C(ipset --version) and C(ipvsadm --version) load their modules.
"""

import re

from .. import _host

PROGRAMS = ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")
BACKENDS = {"xtables-nft-multi": "nft", "xtables-legacy-multi": "legacy", "xtables-multi": "legacy"}
_VERSION = re.compile(r"v(\d+\.\d+(?:\.\d+)*)(?:\s+\((nf_tables|legacy)\))?")


def collect_iptables_backend(host, node):
    """The evidence dict. C(backend): nft, legacy, mixed (they differ), none (no iptables), or null (a wrapper: undecided)."""
    binaries = [_binary(host, program) for program in PROGRAMS]
    found = [binary for binary in binaries if binary["path"]]
    version, asked = _version(host, found) if node["place"] == "live" else (None, _host.ABSENT)
    tables = host.read_text("/proc/net/ip_tables_names") if node["place"] == "live" else _host.Text(_host.ABSENT)
    return {
        "schema": 1,
        "collected": {"binaries": _host.OK if found else _host.ABSENT, "version": asked, "legacy_tables": tables.status},
        "backend": _together([binary["backend"] for binary in found]),
        "version": version,
        "binaries": binaries,
        "legacy_tables": sorted(tables.text.split()) if tables.ok else None,
    }


def _binary(host, program):
    path = host.find_binary(program)
    target = host.tree_path(path) if path else None
    backend = None
    if path:
        status, start = host.read_bytes(target or path)
        if (target or "").rsplit("/", 1)[-1] in BACKENDS:
            backend = BACKENDS[target.rsplit("/", 1)[-1]]
        elif status == _host.OK and start.startswith(b"#!"):
            backend = "wrapper"  # kubernetes-sigs/iptables-wrappers and Calico: it relinks when first run, so it is not run.
        else:
            # A program of its own called iptables is from before the backends were parted (iptables 1.8).
            backend = "legacy" if status == _host.OK and start.startswith(b"\x7fELF") else "unknown"
    return {"name": program, "path": path, "target": target, "backend": backend}


def _together(backends):
    if not backends:
        return "none"
    if any(backend in ("wrapper", "unknown") for backend in backends):
        return None
    return backends[0] if len(set(backends)) == 1 else "mixed"


def _version(host, found):
    first = next((binary for binary in found if binary["name"] == "iptables-save" and binary["backend"] in ("nft", "legacy")), None)
    if first is None:
        return None, _host.ABSENT
    answer = host.run([first["path"], "--version"])
    match = _VERSION.search(answer.out)
    return (match.group(1), _host.OK) if answer.ok and match else (None, answer.status if answer.status != _host.OK else _host.UNPARSED)
