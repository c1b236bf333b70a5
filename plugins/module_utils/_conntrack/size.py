# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The size of the conntrack table. PRIVATE to the collection.

The limit keeps the table below the policy's share at the peak. It is at least the value that kube-proxy will write
anyway, and otherwise at most the value that the memory of the node allows. See docs/conntrack.md.
"""

from .._errors import BadInput
from . import kube_proxy

# kube-proxy's default minimum, and from 1.36 on its upper bound.
FLOOR = kube_proxy.MIN
FLOOR_PER_CPU = kube_proxy.MAX_PER_CORE
CEILING = kube_proxy.CAP
# An entry is 256 to 320 bytes of slab and has extensions (NAT, accounting, labels) beside it; a bucket is one pointer.
ENTRY_BYTES = 400
BUCKET_BYTES = 8
USED_PERCENT = 60
MEMORY_PERCENT = 5
# A smaller table would not even hold the entries that the kernel's own default holds.
LEAST = 1024
# nf_conntrack_max is an int of the kernel.
MOST = (1 << 31) - 1

_LIMITS = {  # option -> least, most, what it is
             "memory_bytes": (16 << 20, 1 << 50, "bytes of memory"), "cpus": (1, 1 << 16, "processors"),
             "peak": (0, MOST, "connections"),
             "used_percent": (1, 100, "percent"), "memory_percent": (1, 50, "percent"),
             "ceiling": (LEAST, MOST, "connections"),
             "kube_proxy_value": (1, MOST, "connections")}


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
    return _answer(value, need, limited_by,
                   "%s, but %s" % (
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
