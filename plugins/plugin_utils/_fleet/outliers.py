# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds nodes that differ from the other nodes, or from a named node. PRIVATE to the collection.

"Most nodes" are more than half of the nodes for which a trait is known, and at least two: of two nodes that differ,
neither is the outlier. Many nodes that differ are a group and not outliers; the report gives their number.

Items that depend on a trait are compared only among nodes with the same value of it: another kernel has other modules,
and the report already names the kernel.

Items to compare nodes by: loaded kernel modules, sysctls, flush hooks, CNI files.

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
from .scope import traits_of

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


# Lines about a fleet that people read; fleet.json has every row.
_LINES = 20
_NAMED = 5
# The value of an item that a node does not have -> the word that people read.
_MISSING = "missing"
_WORDS = {"none": _MISSING}


def outliers(reports: list, baseline: "str | None" = None) -> list:
    """`[{"by", "usual", "nodes", "others"}]`, one row for each trait or item in which nodes differ: `usual` is the
    value of most nodes, or of the host `baseline`, `nodes` how many have it, `others` `{host: its value}`."""
    reached = [report for report in reports if report["summary"]["reached"]]
    traits, rows = traits_of(reached), []
    for trait, values in traits.items():
        known = {value: hosts for value, hosts in values.items() if value is not None}
        rows += _row(trait, known, baseline)
    for kind in KINDS:
        items = {report["host"]: report["items"][kind.name] for report in reached
                 if (report.get("items") or {}).get(kind.name) is not None}
        for hosts in _comparable(set(items), traits.get(kind.follows)):
            rows += _rows_of(kind, {host: items[host] for host in sorted(hosts)}, baseline)
    return rows


def baseline_texts(fleet: dict) -> list:
    """A sentence if the baseline of a roll-up was not assessed, so that a report without differences is not taken as
    good news."""
    row = next((row for row in fleet["hosts"] if row["host"] == fleet["baseline"]), None)
    known = row is None or row["status"] == "assessed"
    return [] if known else ["%s (baseline) was not assessed, so no host is compared with it" % row["host"]]


def outlier_texts(rows: list, baseline: "str | None", some) -> list:
    """The rows as sentences; items of a kind with the same values on the same nodes share one. `some(names)` shortens a
    list of names."""
    alike = {}
    for row in rows:
        kind = next((kind for kind in KINDS if row["by"].startswith(kind.noun + " ")), None)
        noun = kind and kind.noun
        words = {kind.absent: _WORDS.get(kind.absent, kind.absent)} if kind else {}
        key = (noun or row["by"], words.get(row["usual"], row["usual"]), row["nodes"],
               tuple((host, words.get(value, value)) for host, value in row["others"].items()))
        alike.setdefault(key, []).append(row["by"][len(noun) + 1:] if noun else "")
    texts = [_sentence("%ss %s" % (key[0], some(names)) if len(names) > 1 else ("%s %s" % (key[0], names[0])).strip(),
                       "are" if len(names) > 1 else "is", key, baseline, some) for key, names in alike.items()]
    return texts[:_LINES] + (["and %d more differences between nodes" % (len(texts) - _LINES)]
                             if len(texts) > _LINES else [])


def _sentence(what, verb, key, baseline, some):
    _by, usual, nodes, others = key
    values = {}
    for host, value in others:
        values.setdefault(value, []).append(host)
    listed = sorted(values.items())
    shown = ["%s on %s" % (value, some(sorted(hosts))) for value, hosts in listed[:_NAMED]]
    shown += ["and %d more values" % (len(listed) - _NAMED)] if len(listed) > _NAMED else []
    if not baseline and _MISSING in (usual, *values) and len(values) == 1:
        hosts = some(sorted(host for host, _value in others))
        plural = len(others) > 1
        if usual == _MISSING:
            return "only %s %s %s: %s" % (hosts, "have" if plural else "has", what, listed[0][0])
        return "only %s %s %s" % (hosts, "lack" if plural else "lacks", what)
    where = "%s (baseline)" % baseline if baseline else "%d nodes" % nodes
    return "%s %s %s on %s: %s" % (what, verb, usual, where, "; ".join(shown))


def _comparable(hosts, values):
    """The sets of `hosts` that may be compared with each other: all hosts, or one set for each value of a trait and one
    for the hosts whose value is not known."""
    if values is None:
        return [hosts]
    return [hosts & having for _value, having in sorted(values.items(), key=lambda pair: pair[0] or "")]


def _rows_of(kind, items, baseline):
    """The rows of one kind; `items` are `{host: {item: value}}`."""
    first = next(iter(items.values()), None)
    if all(each == first for each in items.values()):
        return []
    found = {}
    for host, values in items.items():
        for key, value in values.items():
            found.setdefault(key, {}).setdefault(value, []).append(host)
    # An item is absent only on nodes that may be compared.
    if baseline and baseline not in items:
        return []
    return [row for key, known in sorted(found.items())
            for row in _row("%s %s" % (kind.noun, key), known, baseline, items, kind.absent)]


def _row(by, known, baseline, items=(), absent=None):
    """[the row of `by`], or [] where no node differs; `known` are `{value: hosts}`, and with `absent` all other hosts
    of `items` have that value."""
    lacking = max(0, len(items) - sum(len(hosts) for hosts in known.values())) if absent is not None else 0
    counts = {value: len(hosts) for value, hosts in known.items()}
    if lacking:
        counts[absent] = counts.get(absent, 0) + lacking
    if baseline:
        usual = next((value for value, hosts in known.items() if baseline in hosts), absent)
    else:
        total = sum(counts.values())
        usual = next((value for value, count in counts.items() if count >= 2 and 2 * count > total), None)
    if usual is None:
        return []
    others = {host: value for value, hosts in sorted(known.items()) if value != usual for host in sorted(hosts)}
    if lacking and usual != absent:
        having = {host for hosts in known.values() for host in hosts}
        others.update((host, absent) for host in items if host not in having)
    return [{"by": by, "usual": usual, "nodes": counts[usual], "others": others}] if others else []
