# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The present numbers of the conntrack table."""

import json
import re
import time

from ..._conntrack.keys import BUCKETS, COUNT, MAX
from ..._conntrack.predict import number
from ..._conntrack.size import BUCKET_BYTES, ENTRY_BYTES
from ..._host.host import ABSENT, OK, UNPARSED
from ..._host.notes import STATE, written_by_others
from ..._parse.proc.network_files import parse_nf_conntrack_stat

# A clash and a chain that is too long both increase insert_failed and drop (nf_conntrack_core.c nf_ct_resolve_clash());
# the rest of drop found no room in the table, or its protocol dropped it.
COUNTERS = ("drop", "early_drop", "insert_failed", "chainlength", "clashres", "invalid", "search_restart", "icmp_error")
# Packets that got no entry.
LOSSES = ("drop", "insert_failed")
STAT, NETLINK_MODULE = "/proc/net/stat/nf_conntrack", "/sys/module/nf_conntrack_netlink"
# The record that module conntrack writes when it raises the limit: losses before that belong to the old limit.
RECORD = STATE + "/conntrack/record.json"
_RECORD_LIMIT = 1 << 20
ROUTES = "/proc/net/ipv6_route"
_RTF_DEFAULT, _RTF_ADDRCONF = 0x00010000, 0x00040000
# Fields of a line: net/ipv6/route.c rt6_route_seq_show() (destination, its length, source, its length, gateway, metric,
# two counters, flags, device).
_FLAGS, _DEVICE = 8, 9


def read_key(host, key):
    """(status, value) of a sysctl that is a number."""
    text = host.read_text("/proc/sys/" + key, limit=4096)
    value = number(text.text) if text.ok else None
    return (text.status, value) if isinstance(value, int) or not text.ok else (UNPARSED, None)


def read_table(host):
    """`{"status", "max", "count", "buckets"}`; None for a value that cannot be read."""
    (status, most), (_count_status, count), (_buckets_status,
                                             buckets) = (read_key(host, key) for key in (MAX, COUNT, BUCKETS))
    # The number is unsigned, and the kernel prints it as a signed one.
    most = most + (1 << 32) if isinstance(most, int) and most < 0 else most
    return {"status": status, "max": _int(most), "count": _int(count), "buckets": _int(buckets)}


def _int(value):
    return value if isinstance(value, int) and value >= 0 else None


def read_counters(host):
    """(status, {counter: sum over all CPUs since boot}); counters this kernel does not have are left out."""
    text = host.read_text(STAT)
    if text.status == ABSENT and host.commands and host.exists(NETLINK_MODULE):
        # A kernel without CONFIG_NF_CONNTRACK_PROCFS, as Ubuntu builds it.
        from ..._host.netlink import conntrack_counters
        status, sums = conntrack_counters()
    else:
        status, sums = text.status, parse_nf_conntrack_stat(text.text) if text.ok else {}
        status, sums = (status, sums) if sums is not None else (UNPARSED, {})
    return status, {name: sums[name] for name in COUNTERS if name in sums}


def first_counters(host):
    """(time, {counter: sum}) of the first reading of this look; later readings are compared with it."""
    if "conntrack counters" not in host.kept:
        host.kept["conntrack counters"] = time.monotonic(), read_counters(host)[1]
    return host.kept["conntrack counters"]


def growth(host):
    """`{"seconds", "drop", "insert_failed"}` since first_counters(); None where the kernel has no counters. A sum since
    boot does not show whether packets are dropped today, and the counters of a CPU that went offline disappear."""
    started, before = first_counters(host)
    after = read_counters(host)[1]
    if any(name not in counters for counters in (before, after) for name in LOSSES):
        return None
    return dict({name: max(0, after[name] - before[name]) for name in LOSSES},
                seconds=round(time.monotonic() - started, 1))


def lost(host, counters, since_boot=False):
    """`{"dropped", "evicted", "since", "since_uptime_seconds"}`: losses because the table was full, since the boot or,
    unless `since_boot`, since the limit was raised on this boot; None where the counters do not show them."""
    if "drop" not in counters or "early_drop" not in counters:
        return None
    now = {"dropped": max(0, counters["drop"] - counters.get("insert_failed", 0)), "evicted": counters["early_drop"]}
    before = _recorded(host) if any(now.values()) and not since_boot else None
    if before is None:
        return dict(now, since="boot", since_uptime_seconds=0)
    return {"dropped": max(0, now["dropped"] - before["dropped"]),
            "evicted": max(0, now["evicted"] - before["evicted"]), "since": "the limit was raised",
            "since_uptime_seconds": before["uptime_seconds"]}


def _recorded(host):
    """The part of the record that belongs to this boot, or None; None also where another user may have written it."""
    if written_by_others(host, RECORD):
        return None
    text = host.read_text(RECORD, _RECORD_LIMIT)
    try:
        before = json.loads(text.text)["lost"] if text.ok else None
        same = (before is not None
                and before["boot_id"] == host.read_text("/proc/sys/kernel/random/boot_id").text.strip())
        return {name: int(before[name]) for name in ("dropped", "evicted", "uptime_seconds")} if same else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def entry_bytes(host):
    """(status, size of an entry in the slab allocator): from its own directory, otherwise from /proc/slabinfo, which
    takes longer and needs root."""
    text = host.read_text("/sys/kernel/slab/nf_conntrack/slab_size")
    if text.ok and _int(number(text.text)):
        return OK, number(text.text)
    text = host.read_text("/proc/slabinfo")
    if not text.ok:
        return text.status, None
    found = re.search(r"^nf_conntrack(?:_[0-9a-f]{8,16})?\s+\d+\s+\d+\s+(\d{1,6})\s", text.text, re.M)
    return (OK, int(found.group(1))) if found else (ABSENT, None)


def memory_of(table, entry, memory_bytes):
    """The memory of a full table: `{"entry_bytes", "entry_bytes_from", "total_bytes", "memory_percent"}`."""
    size = entry or ENTRY_BYTES
    total = None if not table["max"] else table["max"] * size + (table["buckets"] or 0) * BUCKET_BYTES
    return {"entry_bytes": size, "entry_bytes_from": "the kernel" if entry else "estimate", "total_bytes": total,
            "memory_percent": percent(total, memory_bytes)}


def percent(part, whole):
    """A share in percent with one decimal, None where one of the two is not known."""
    return round(100.0 * part / whole, 1) if part is not None and whole else None


# Default routes that the kernel has from router advertisements.
# A node that forwards IPv6 takes no advertisements unless accept_ra is 2 (Linux
# Documentation/networking/ip-sysctl.rst), so such a route is gone when its lifetime ends. Flags:
# include/uapi/linux/ipv6_route.h.
def lost_by_forwarding(host):
    """Interfaces, sorted, whose default route would be lost once the node forwards IPv6."""
    found = set()
    for line in host.read_text(ROUTES).text.split("\n"):
        words = line.split()
        if len(words) > _DEVICE and _is_advertised(words[_FLAGS]) and "/" not in words[_DEVICE]:
            found.add(words[_DEVICE])
    return sorted(name for name in found if read_key(host, "net/ipv6/conf/%s/accept_ra" % name)[1] != 2)


def _is_advertised(flags):
    try:
        return int(flags, 16) & (_RTF_DEFAULT | _RTF_ADDRCONF) == _RTF_DEFAULT | _RTF_ADDRCONF
    except ValueError:
        return False
