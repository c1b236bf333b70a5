# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The size of the conntrack table, and the size that a node needs. PRIVATE to the collection.

The limit keeps the table below the policy's share at the peak. It is at least the value that kube-proxy will write
anyway, and otherwise at most the value that the memory of the node allows. See docs/conntrack.md.
"""

from .._errors import BadInput
from . import predict
from .keys import MAX, dotted

# kube-proxy's default minimum, and from 1.36 on its upper bound.
FLOOR, FLOOR_PER_CPU, CEILING = predict.MIN, predict.MAX_PER_CORE, predict.CAP
# An entry is 256 to 320 bytes of slab and has extensions (NAT, accounting, labels) beside it; a bucket is one pointer.
ENTRY_BYTES, BUCKET_BYTES = 400, 8
USED_PERCENT, MEMORY_PERCENT = 60, 5
# A smaller table would not even hold the entries that the kernel's own default holds.
LEAST = 1024
# nf_conntrack_max is an int of the kernel.
MOST = (1 << 31) - 1

# option -> least, most, what it is
_LIMITS = {"memory_bytes": (16 << 20, 1 << 50, "bytes of memory"), "cpus": (1, 1 << 16, "processors"),
           "peak": (0, MOST, "connections"), "used_percent": (1, 100, "percent"), "memory_percent": (1, 50, "percent"),
           "ceiling": (LEAST, MOST, "connections"), "kube_proxy_value": (1, MOST, "connections")}


def conntrack_size(memory_bytes, cpus, peak=0, used_percent=USED_PERCENT, memory_percent=MEMORY_PERCENT,
                   ceiling=CEILING, kube_proxy_value=None):
    """`{"max", "buckets", "table_bytes", "needed", "limited_by", "because"}` for a node.

    `peak` is the highest number of connections so far, `used_percent` the share of the table that they may fill,
    `memory_percent` the share of the memory that the table may take, and `ceiling` the highest useful number of
    entries. `kube_proxy_value` is the value that kube-proxy will write at its start, None where it leaves the limit
    alone. `needed` is the size that the peak alone requires, `limited_by` is memory, ceiling or None. Raises BadInput.
    """
    checked(memory_bytes=memory_bytes, cpus=cpus, peak=peak, used_percent=used_percent, memory_percent=memory_percent,
            ceiling=ceiling)
    if kube_proxy_value is not None:
        checked(kube_proxy_value=kube_proxy_value)
    need = -(-peak * 100 // used_percent)
    reason = "%d connections at the peak need %d entries to stay at %d %%" % (peak, need, used_percent)
    if kube_proxy_value is not None and need <= kube_proxy_value:
        # Any other value would be overwritten.
        return _answer(kube_proxy_value, need, None, "kube-proxy sets %d at its start; %s" % (kube_proxy_value, reason))
    floor = min(max(FLOOR, FLOOR_PER_CPU * cpus), ceiling)
    if need <= floor:
        reason = "%d is kube-proxy's own minimum on %s; %s" % (
            floor, "1 processor" if cpus == 1 else "%d processors" % cpus, reason)
    budget = memory_bytes * memory_percent // 100 // ENTRY_BYTES
    most, limited_by = min((budget, "memory"), (ceiling, "ceiling"))
    wanted = power_of_two_from(max(need, floor))
    if wanted <= most:
        return _answer(wanted, need, None, reason)
    value = max(LEAST, power_of_two_to(most), kube_proxy_value or 0)
    return _answer(value, need, limited_by, "%s, but %s" % (
        reason, "%d %% of the memory are %d entries" % (memory_percent, budget)
        if limited_by == "memory" else "at most %d entries are allowed" % ceiling))


def checked(**given):
    """Raises BadInput for the first value that is not a number or out of range; names are those of conntrack_size()."""
    for name, value in sorted(given.items()):
        least, most, what = _LIMITS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise BadInput("%s is %r; give %d to %d %s" % (name, value, least, most, what))


def is_possible(name, value):
    """Whether a number is one that checked() lets pass."""
    return value is not None and _LIMITS[name][0] <= value <= _LIMITS[name][1]


def _answer(value, need, limited_by, because):
    return {"max": value, "buckets": value, "table_bytes": value * (ENTRY_BYTES + BUCKET_BYTES), "needed": need,
            "limited_by": limited_by, "because": because}


def power_of_two_from(number):
    """The smallest power of two that is not less."""
    return 1 << max(0, number - 1).bit_length()


def power_of_two_to(number):
    """The largest power of two that is not more; 0 for 0."""
    return (1 << number.bit_length()) >> 1


# The conntrack table size that a node needs, from the evidence and the policy.
def need_of(section, used_percent=USED_PERCENT, memory_percent=MEMORY_PERCENT, ceiling=CEILING, peak=0, earlier=0):
    """The result of conntrack_size() for the section node_conntrack, with `peak`, `peak_because`, `enough` and `advice`
    (the kube-proxy setting, or None); None where memory or processors are unknown. `enough` is whether the present
    limit is sufficient, or the limit that the module will have once it is loaded; 0 means no limit.

    `peak` is a known number of connections, `earlier` the number of an earlier look. Raises BadInput.
    """
    checked(peak=peak, used_percent=used_percent, memory_percent=memory_percent, ceiling=ceiling)
    if not (is_possible("memory_bytes", section["memory_bytes"]) and is_possible("cpus", section["cpus"])):
        return None
    most, because = peak_of(section, peak, earlier)
    described = section["kube_proxy"]
    value = described["value"] if described and described["writes"] != predict.LEAVES else None
    answer = conntrack_size(section["memory_bytes"], section["cpus"], min(most, MOST), used_percent, memory_percent,
                            ceiling, min(value, MOST) if value and value > 0 else None)
    limit = section["limit_when_loaded"] if section["max"] is None else section["max"]
    assigned = next((row["assigned"] for row in section["sysctls"]
                     if row["key"] == dotted(MAX) and isinstance(row["assigned"], int)), 0)
    answer.update(peak=most, peak_because=because,
                  enough=limit if limit is None else limit == 0 or limit >= answer["max"],
                  advice=advice_for(section, max(answer["max"], assigned)))
    return answer


def peak_of(section, known, earlier):
    """(the highest known number of connections, its source); where the table was full, the limit was reached once."""
    peaks = [(known, "the policy sets it")] if known else []
    peaks += [(earlier, "an earlier report has it")] if earlier else []
    if is_possible("peak", section["count"]):
        peaks.append((section["count"], "the current count"))
    if section["rates"] and is_possible("peak", section["rates"]["highest_count"]):
        peaks.append((section["rates"]["highest_count"],
                      "the highest count in %s s" % section["rates"]["window_seconds"]))
    if section["max"] and is_possible("peak", section["max"]) and was_full(section):
        peaks.append((section["max"], "the table was full since %s" % section["lost"]["since"]
                      if section["lost"] else "the kernel log shows that it was full"))
    return max(peaks) if peaks else (0, "no count is known")


def was_full(section):
    """Whether connections were dropped because the table was full; None where that is not known."""
    lost = section["lost"]
    if section["kernel_log"]["table_full"] or (lost and (lost["dropped"] or lost["evicted"])):
        return True
    return None if lost is None else False


def advice_for(section, limit):
    """The kube-proxy setting with which it leaves this limit alone, or None."""
    described = section["kube_proxy"]
    if described is None:
        return None
    wish = predict.Wish(described["value"], described["writes"], described["capped"])
    return predict.advice(limit, wish, section["cpus"], described["by"])
