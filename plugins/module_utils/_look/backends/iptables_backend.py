# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_iptables_backend: which backend the node's iptables programs use, and which backend holds rules.

The target of its link and the bytes of its file show the backend of a program; where these contain no version,
`iptables-save --version` is run. `iptables --version` prints the same and has a side effect: with the nft backend it
loads nfnetlink (seen with iptables 1.8.9 on Linux 6.1), as do `nft --version` and `conntrack --version`; `ipset
--version` and `ipvsadm --version` load their modules.

Whether the kernels of a tree support an iptables backend.
"""

import re

from ..._host.host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED, Text
from ..._names import UNCOLLECTED
from ..._parse.program_files import parse_alternatives, parse_choices
from ..._rules.backends import backend_evidence
from ..modules.look import Look
from ..modules.state import AVAILABLE, UNKNOWN
from ..processes import AGENTS, find_processes, status_of_notes, unread_rows
from .iptables_builds import backend_of, build_of

# Programs that Kubernetes runs, by family; together they decide which backend the node uses.
FAMILIES = {"ipv4": ("iptables", "iptables-save", "iptables-restore"),
            "ipv6": ("ip6tables", "ip6tables-save", "ip6tables-restore")}
BRIDGE = ("arptables", "arptables-save", "arptables-restore", "ebtables", "ebtables-save", "ebtables-restore")
PROGRAMS = FAMILIES["ipv4"] + FAMILIES["ipv6"] + BRIDGE
# State of the alternatives, where one of the two exists: dpkg (Debian, openSUSE) or chkconfig (Red Hat, Azure Linux).
ALTERNATIVES = ("/var/lib/dpkg/alternatives", "/var/lib/alternatives")
_LINKS = "/etc/alternatives"
_VERSION = re.compile(r"v(\d+\.\d+(?:\.\d+)*)(?:\s+\((nf_tables|legacy)\))?")
_UNREAD = (DENIED, TIMEOUT, UNPARSED)
_NO_NFT = {"nft": None, "nft_containers": [], "nft_containers_left_out": 0}


def collect_iptables_backend(host, node, read=None):
    """The evidence dict. `backend`: nft, legacy, mixed (they differ), none (no iptables), or null (a wrapper:
    undecided). `read` are the `Rules` of rules/rule_sets.py, None where they were not read."""
    groups, alternatives = _groups(host)
    files = {}
    with host.noting() as unread:
        binaries = [_binary(host, program, groups, files) for program in PROGRAMS]
    found = [binary for binary in binaries if binary["backend"] and binary["name"] not in BRIDGE]
    live = node["place"] == "live"
    version, version_read = _version(host, found) if live else (None, ABSENT)
    backend = _together([binary["backend"] for binary in found])
    tables = host.read_text("/proc/net/ip_tables_names") if live else Text(ABSENT)
    nowhere = UNCOLLECTED if node["place"] == "bundle" else ABSENT
    status, containers, left_out, nft = _containers(host, backend, version, read) if live else (nowhere, [], 0, _NO_NFT)
    section = {
        "schema": 1, "collected": {"binaries": status_of_notes(unread) if unread else OK if found else nowhere,
                                   "version": version_read, "legacy_tables": tables.status,
                                   "alternatives": alternatives, "rules": _rules_status(read), "containers": status},
        "backend": backend, "version": version,
        "unread": unread_rows(host, {"binaries": unread})[0], "unread_count": len(unread), "binaries": binaries,
        "backend_by_family": {family: _together([row["backend"] for row in found if row["name"] in names])
                              for family, names in FAMILIES.items()}, "legacy_tables": sorted(tables.text.split())
        if tables.ok else None, "containers": containers, "containers_left_out": left_out}
    section.update(nft)
    section.update(_evidence(read))
    return section


def _containers(host, backend, version, read):
    """(status, rows, left out) of the builds of iptables inside containers, each with what it does to the node's rules,
    and the keys of the section for nft."""
    status, agents = find_processes(host, AGENTS)
    if all(agent.contained is False for agent in agents):
        return status, [], 0, _NO_NFT
    from .iptables_builds import collect_builds, judge_stripping
    from .nft_builds import each_once, judge_nft, own_nft
    found = []
    status, rows, left_out = collect_builds(host, found)
    judge_stripping(rows, backend, version)
    own, (nft, more) = own_nft(host), each_once(found)
    judge_nft(nft, own, *_native(host, read))
    return status, rows, left_out, {"nft": own, "nft_containers": nft, "nft_containers_left_out": more}


def _native(host, read):
    """(names of the nft tables of the kernel, sets whose type nft 1.1.2 or later stored), None where not known."""
    if read is None or read.source != "live" or host.root != "/" or not host.commands:
        return None, None
    if read.nf_tables == ABSENT:
        return [], []
    if read.nf_tables != OK:
        return None, None
    from ..._host.netlink import nft_sets_of_constants, nft_tables
    status, tables = nft_tables()
    sets_status, sets = nft_sets_of_constants()
    return [name for _family, name in tables] if status == OK else None, sets if sets_status == OK else None


def _groups(host):
    """({program: the row `alternative` without its link}, status), from the state of update-alternatives."""
    groups, statuses = {}, []
    for folder in ALTERNATIVES:
        for name in ("iptables", "ip6tables", "arptables", "ebtables"):
            text = host.read_text("%s/%s" % (folder, name))
            if text.status in (ABSENT, UNCOLLECTED):
                continue
            group = parse_alternatives(text.text) if text.ok else None
            statuses.append(text.status if not text.ok else OK if group else UNPARSED)
            row = {"name": name, "mode": group["mode"] if group else None,
                   "auto": _auto_choice(host, name, text.text) if group else None}
            for program in [name] + sorted(group["slaves"]) if group else [name]:
                groups.setdefault(program, row)
    return groups, next((status for status in statuses if status != OK), OK if statuses else ABSENT)


def _auto_choice(host, name, text):
    """The backend that mode auto takes, or None: the existing choice with the highest priority, and of several such
    choices the present one (dpkg utils/update-alternatives.c alternative_get_best(); seen with 1.21.22)."""
    present = host.read_link("%s/%s" % (_LINKS, name))
    there = [choice for choice in parse_choices(text) or [] if host.is_file(choice["path"])]
    backend = backend_of(host, max(there, key=lambda choice: (choice["priority"],
                                                              choice["path"] == present))["path"]) if there else None
    return backend if backend in ("nft", "legacy") else None


def _binary(host, program, groups, files):
    status, path = host.binary(program)
    target = host.tree_path(path) if path else None
    # If a folder that may hold the program cannot be searched, the program does not count as missing.
    backend, version, alternative = None if status in (OK, ABSENT) else "unknown", None, None
    if path:
        if (target or path) not in files:
            files[target or path] = build_of(host, target or path)
        backend, version = files[target or path]
        link = host.read_link(path)
        if link and link.startswith(_LINKS + "/"):
            alternative = dict(groups.get(program, {"name": None, "mode": None, "auto": None}),
                               link=host.read_link(link))
    return {"name": program, "path": path, "target": target, "backend": backend, "version": version,
            "alternative": alternative}


def _together(backends):
    if not backends:
        return "none"
    if any(backend in ("wrapper", "unknown") for backend in backends):
        return None
    return backends[0] if len(set(backends)) == 1 else "mixed"


def _version(host, found):
    first = next((binary for binary in found
                  if binary["name"] == "iptables-save" and binary["backend"] in ("nft", "legacy")), None)
    if first is None:
        return None, ABSENT
    if first["version"]:
        return first["version"], OK  # Its own bytes contained the version already.
    answer = host.run([first["path"], "--version"])
    match = _VERSION.search(answer.out)
    return (match.group(1), OK) if answer.ok and match else (None, answer.status if answer.status != OK else UNPARSED)


def _rules_status(read):
    """One status for all saves together: one save that was not read decides for all."""
    if read is None:
        return ABSENT
    statuses = [read.collected[source] for source in sorted(read.collected) if source != "nftables"]
    return next((status for status in statuses if status in _UNREAD + (UNCOLLECTED,)), OK if OK in statuses else ABSENT)


def _evidence(read):
    if read is None or read.source is None:
        evidence = backend_evidence([])
        families = dict.fromkeys(FAMILIES)
        return dict(evidence, kubelet_backend=families, kube_proxy_backend=dict(families),
                    mixing={"verdict": "unknown",
                            "because": "the rules were not read" if read is None else "only a live node has rules"})
    unread = []
    for row in read.unread:
        backend, _line, family = row["source"].partition("_")
        if family in FAMILIES:
            unread.append((backend, family, row["evidence"]))
    if read.source == "files":
        unread += _not_shown(read)
    return backend_evidence(read.rule_sets, unread)


def _not_shown(read):
    """The rows of `unread` for a backend that no dump shows."""
    from ..rules.dump_forms import backend_doubt  # Not needed on a node.
    why = backend_doubt(read)
    shown = {(found.backend, found.family) for found in read.rule_sets}
    families = {found.family for found in read.rule_sets if found.family in FAMILIES} or {"ipv4"}
    return [(backend, family, why or "no dump shows the %s rules of the %s backend" % (family, backend))
            for backend in ("nft", "legacy") for family in sorted(families) if (backend, family) not in shown]


# The modules that kube-proxy's chains need from each backend. Since Linux 6.17 the legacy tables have an option of
# their own, which is off by default (CONFIG_NETFILTER_XTABLES_LEGACY).
_MODULES = {"nft": ("nf_tables", "nft_compat"),
            "legacy": ("ip_tables", "iptable_filter", "iptable_nat", "iptable_mangle")}
_TABLES = "/proc/net/ip_tables_names"


def kernel_lacks(host, node, backend):
    """Why a backend would not work, as half a sentence, or None. A tree without a kernel lacks nothing."""
    if backend == "legacy" and node["place"] == "live" and len(host.read_text(_TABLES).text.split()) > 2:
        return None  # The running kernel holds such tables.
    look = Look(host, node)
    if not look.kernels and node["place"] != "live":
        return None
    for name in _MODULES[backend]:
        row = look.module(name)
        for releases, state, why in [([look.judged], row["state"], row["evidence"])] + [
                (group["releases"], group["state"], group["evidence"]) for group in row["kernels"]
                if node["place"] != "live"]:
            if state not in AVAILABLE:
                return ("support in kernel %s is unknown (%s: %s)" if state == UNKNOWN
                        else "kernel %s lacks %s (%s)") % (releases[0], name, why)
    return None
