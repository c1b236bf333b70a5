# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nft in the containers of programs that write rules of the node, and whether it is known to break with the nft of the
node or of another container.

Files of containers are read and never run: the bytes of nft contain its version. Limits: iptables_builds.py."""

import time

from ... import _versions
from ..._host.host import ABSENT, DENIED, OK, UNPARSED
from ..._parse.program_files import parse_nft_program

ROWS_LIMIT = 10
# The beginnings of the names of the native tables that these programs write with the nft of their image.
TABLES = {"kube-proxy": "kube-proxy", "calico-node": "calico", "calico-felix": "calico", "flanneld": "flannel"}
# Reproducible builds of images set the time of each file to the beginning of time.
_EARLIEST = 1262304000  # 2010
_FINE = "no version that it meets is known to break it"
_CALICO, _KNFTABLES = ("calico-node", "calico-felix"), ("kube-proxy", "calico-node", "calico-felix")

# Versions of nft and iptables that are known to break with the rules of other versions, as data. `reader`: (since,
# before) of the program that breaks; `writer`: the same of the program whose rules break it, None where it breaks with
# its own. `agents`: the processes that need the broken function, None for all. `repaired`: (version, processes or None
# for all) of builds that have the fix under an older version; `repaired_on`: the day of the fix, because distributions
# give it to older versions without another number: of a program that was built later it is not known.
# Since 1.1.2 nft stores the type of a set as a constant, for which an older nft calls a function that it does not have.
# Measured: nft 1.0.6 crashes on `list tables`, `list ruleset` and `-j list sets` where any table has one such set.
SETS_OF_CONSTANTS = {
    "tool": "nft", "reader": (None, "1.1.2"), "writer": ("1.1.2", None), "agents": None,
    "effect": "crashes (segmentation fault) where it lists sets of",
    "repaired": (("1.0.6.1", None), ("1.1.1", _CALICO)), "repaired_on": "2025-05-11",
    "sources": ("kubernetes issue 136786", "calico issue 13068 (1.1.0 and 1.1.6)", "calico issue 13987 (370 GB of core "
                "dumps)", "istio issue 58492 (1.0.9 on the node, 1.1.2 or later in the image)",
                "nftables commit be737a1986bf, in 1.1.4 and 1.0.6.1", "calico pull request 12660 (1.1.1 with the fix)")}
PAIRS = (
    SETS_OF_CONSTANTS,
    # It reads the whole rule set for each command, and sets of later versions crash it.
    {"tool": "nft", "reader": (None, "1.0.1"), "writer": ("1.0.1", None), "agents": None,
     "effect": "reads all tables for each command and crashes on sets of", "repaired": (), "repaired_on": None,
     "sources": ("kubernetes pull request 124152", "kubernetes issue 122572 (0.9.8)")},
    {"tool": "nft", "json": False, "reader": (None, None), "writer": None, "agents": _KNFTABLES,
     "effect": "has no JSON, and its agent cannot list its own sets", "repaired": (), "repaired_on": None,
     "sources": ("kubernetes pull request 140405", "istio issue 58964")},
    {"tool": "iptables", "reader": ("1.8.10", "1.8.11"), "writer": None, "agents": ("kube-router",),
     "effect": "does not find existing rules with -C, and kube-router adds them again at each sync", "repaired": (),
     "repaired_on": None, "sources": ("kube-router issues 1676 and 1789",)})


def own_nft(host):
    """The row of the node's own nft."""
    status, path = host.binary("nft")
    row = {"path": path, "status": status, "version": None, "json": None, "built": None, "breaks": None, "because": ""}
    if path:
        row["status"], data = host.read_bytes(path)
        found = host.stat(path)
        _fill(row, data, found.st_mtime if found else 0)
    return row


def nft_of_process(process, container, read):
    """(identity of the file or None, the row); `read`: what was read of its nft, None if its root may not be seen."""
    row = {"container": container.get("name"), "pod": container.get("pod"), "namespace": container.get("namespace"),
           "comm": process.name, "pid": process.pid, "path": None, "status": DENIED, "version": None, "json": None,
           "built": None, "uses": None, "breaks": None, "because": ""}
    if read is None:
        return None, row
    found, data = read
    row["path"], row["status"] = found["path"], found["status"]
    if found["status"] != OK:
        return None, row
    _fill(row, data, found["modified"])
    return (found["device"], found["inode"], process.name), row


def _fill(row, data, modified):
    if row["status"] != OK:
        return
    row["version"], row["json"] = parse_nft_program(data)
    if row["version"] is None:
        row["status"] = UNPARSED
    elif modified >= _EARLIEST:
        row["built"] = time.strftime("%Y-%m-%d", time.gmtime(modified))


def each_once(rows):
    """(rows, left out) of (identity, row): each file of each program once."""
    files, kept = set(), []
    for identity, row in rows:
        if identity is None or identity not in files:
            kept.append(row)
        files.add(identity)
    return kept[:ROWS_LIMIT], len(kept[ROWS_LIMIT:])


def judge_nft(rows, own, tables, sets):
    """Sets `uses`, `breaks` and `because` of the rows, and the last two of `own`, the row of the node's nft. `tables`:
    the names of all native tables; `sets`: (family, table, name) of the sets whose type nft 1.1.2 or later stored; both
    None where not known."""
    for row in rows:
        known = TABLES.get(row["comm"])
        row["uses"] = False if row["status"] == ABSENT or known is None else None if tables is None else any(
            name.startswith(known) for name in tables)
    for row in rows:
        row["breaks"], row["because"] = _verdict(row, rows, own, sets)
    own["breaks"], own["because"] = _verdict_of_own(own, sets)


def _verdict_of_own(own, sets):
    if own["status"] == ABSENT:
        return False, "the node has no nft"
    if own["version"] is None:
        return None, "its version is not known"
    breaks, because = _with_sets(own, sets)
    return breaks, because or _FINE


def _with_sets(reader, sets):
    """Whether sets that the kernel holds now break the reader; None where they are not known and some would."""
    if sets:
        return _broken(SETS_OF_CONSTANTS, reader, _of_kernel(sets))
    if sets is None and _broken(SETS_OF_CONSTANTS, reader, {"version": SETS_OF_CONSTANTS["writer"][0]})[0] is not False:
        return None, "the sets of the kernel are not known, and those of nft 1.1.2 or later would crash it"
    return False, ""


def _verdict(row, rows, own, sets):
    if row["status"] == ABSENT:
        return False, "it has no nft of its own"
    if row["status"] != OK:
        return None, "the nft in its container is %s" % row["status"]
    others = [other for other in rows if other is not row and other["uses"] and other["version"]]
    node = [own] if own["version"] else []
    # The container reads what the others and the node write; the node reads what the container writes.
    found = [_broken(pair, reader, writer) for pair in PAIRS if pair["tool"] == "nft"
             for reader, writers in [(row, node + others)] + [(each, [row]) for each in node]
             for writer in (writers if pair["writer"] else [None] if reader is row else [])]
    if not any(answer for answer, _because in found):
        found.append(_with_sets(row, sets))
    for wanted in (True, None):
        because = next((because for answer, because in found if answer is wanted), None)
        if because:
            return wanted, because
    if own["status"] not in (OK, ABSENT):
        return None, "the node's own nft is %s" % own["status"]
    return False, _FINE


def _of_kernel(sets):
    family, table, name = sets[0]
    return {"version": SETS_OF_CONSTANTS["writer"][0],
            "title": "nft 1.1.2 or later, such as %s of table %s %s" % (name[:64], family, table[:64])}


def _broken(pair, reader, writer):
    """(whether the reader breaks, why); None where its build may have the fix."""
    agents = pair["agents"]
    if agents is not None and reader.get("comm") not in agents or pair.get("json", reader["json"]) != reader["json"]:
        return False, ""
    if not _versions.within(reader["version"], *pair["reader"]):
        return False, ""
    if writer and not _versions.within(writer["version"], *pair["writer"]):
        return False, ""
    if any(reader["version"] == version and (programs is None or reader.get("comm") in programs)
           for version, programs in pair["repaired"]):
        return False, ""
    because = "nft %s of %s %s" % (reader["version"], title(reader), pair["effect"])
    if writer:
        because += " " + (writer.get("title") or "nft %s of %s" % (writer["version"], title(writer)))
    if pair["repaired_on"] and not (reader["built"] and reader["built"] < pair["repaired_on"]):
        return None, because + " unless its package has the fix, which its version does not show"
    return True, "%s (%s)" % (because, pair["sources"][0])


def title(row):
    return (row["container"] or row["comm"]) if "comm" in row else "the node"


def fault_of_iptables(row):
    """The known fault of an iptables build of a container, by its version and its agent; or None."""
    for pair in PAIRS:
        if pair["tool"] == "iptables" and row["comm"] in pair["agents"] and row["version"] \
                and _versions.within(row["version"], *pair["reader"]):
            return "iptables %s %s (%s)" % (row["version"], pair["effect"], pair["sources"][0])
    return None
