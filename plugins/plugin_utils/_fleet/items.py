# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Items to compare nodes by: loaded kernel modules, sysctls, flush hooks, CNI files. PRIVATE to the collection.

Each kind is one fact of the host, a text with a line for each item: Ansible copies every value among the facts of a
host for each task, and a text is one value. Files are compared by what they do, since addresses and identifiers in them
differ from node to node.
"""

import functools
import hashlib
from typing import NamedTuple, Optional

from ...module_utils._conntrack.keys import BUCKETS, MAX, dotted
from .._policy.policies import default_policy
from .._render.text import escaped

# The evidence has fewer items; a text stays below _evidence.MOST_TEXT.
_ITEMS = 120
_KEY = 120
_VALUE = 100
_ROOM = 4000
_MORE = "items left out"
# The kernel sizes both by the memory, kube-proxy the first by the number of processors, so they differ between nodes of
# different size (nf_conntrack_init_start; kubernetes cmd/kube-proxy/app/conntrack.go).
_SIZED = (dotted(MAX), dotted(BUCKETS))
_LOADED = "loaded"
_DENIED = ("denied", "timeout", "unparsed")


class Kind(NamedTuple):
    """A kind of items. `name` is its key in a report, `fact` the text, `noun` what one item is called, `absent` the
    value of an item that a node does not have, None where that is not known; `follows` is the trait (see _traits) on
    which items depend, so that only nodes with the same value are compared."""

    name: str
    fact: str
    noun: str
    absent: Optional[str]
    follows: Optional[str]


KINDS = (
    Kind("modules", "node_assess_modules", "kernel module", "not loaded", "kernel"),
    Kind("sysctls", "node_assess_sysctls", "sysctl", None, None),
    Kind("hooks", "node_assess_hooks", "flush hook", "none", "OS image"),
    Kind("cni_files", "node_assess_cni_files", "CNI file", "none", None),
)


def facts_of(evidence: dict) -> dict:
    """`{fact: text or None where it is not known}` of the sections of one node that are there."""
    return {kind.fact: None if items is None else _text(items)
            for kind in KINDS for section, read in [_READ[kind.name]] if section in evidence
            for items in [read(evidence[section])]}


def items_of(text: "str | None") -> "dict | None":
    """`{item: value}` of a text that facts_of() made."""
    if text is None:
        return None
    return {key: value for key, tab, value in (line.partition("\t") for line in text.split("\n")) if tab}


def _text(items):
    # A node may answer null for any text.
    lines = ["%s\t%s" % (_cut(str(key), _KEY), _cut(value, _VALUE))
             for key, value in sorted(items.items(), key=lambda item: str(item[0]))]
    kept, room = [], _ROOM
    for line in lines[:_ITEMS]:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    left = "\n".join(lines[len(kept):])
    digest = hashlib.sha256(left.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return "\n".join(kept + (["%s\t%d, digest %s" % (_MORE, len(lines) - len(kept), digest)] if left else []))


def _cut(text, limit):
    # Line ends and tabs separate items, and escaped() escapes them.
    text = escaped(text)
    if len(text) <= limit:
        return text
    return "%s... %s" % (text[:limit - 16], hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12])


def _modules(section):
    """The loaded modules, only of the names that are collected on every node: a policy may add names for some hosts.
    Built-in modules are left out, because they depend on the kernel only."""
    rows = [row for row in section["modules"] if row["name"] in _asked()]
    running = section["running_release"]
    if running is None or running != section["judged_release"] or any(row["state"] == "unknown" for row in rows):
        return None
    return {row["name"]: _LOADED for row in rows if row["state"] == _LOADED}


@functools.lru_cache(maxsize=1)
def _asked():
    return frozenset(default_policy().module_names)


def _sysctls(section):
    found = {row["key"]: _sized(row) if row["key"] in _SIZED else str(row["now"])
             for row in section["sysctls"] if row["now"] is not None}
    return found or None


def _sized(row):
    if row["assigned"] is not None and row["assigned"] == row["now"]:
        return str(row["now"])
    return "set by the kernel or kube-proxy"


def _hooks(section):
    """The live hooks, by file. Two hooks that differ only in their line number are the same."""
    if section["hooks_left_out"] or _is_denied(section):
        return None
    commands = {}
    for row in section["hooks"]:
        if row["live"]:
            commands.setdefault(row["path"], set()).add(str(row["command"]))
    return {path: "; ".join(sorted(texts)) for path, texts in commands.items()}


def _cni_files(section):
    if section["files_left_out"] or section["collected"].get("conf_dir") in _DENIED or any(
            row["status"] == "denied" for row in section["files"]):
        return None
    return {row["path"]: _cni_file(row) for row in section["files"]}


def _cni_file(row):
    if row["status"] != "ok" or row["problem"]:
        return "refused by the runtime"
    return "%snetwork %s, plugins %s" % ("" if row["used"] else "not used, ", row["network"], " ".join(row["plugins"]))


def _is_denied(section):
    return any(state in _DENIED for state in section["collected"].values())


_READ = {"modules": ("node_kernel_modules", _modules), "sysctls": ("node_conntrack", _sysctls),
         "hooks": ("node_flush_hooks", _hooks), "cni_files": ("node_cni", _cni_files)}
