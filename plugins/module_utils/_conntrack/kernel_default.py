# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default of nf_conntrack_max that the kernel computes when nf_conntrack is loaded. PRIVATE to the collection.

Source: Linux net/netfilter/nf_conntrack_core.c nf_conntrack_init_start() and nf_ct_alloc_hashtable() of 5.10, 6.1 and
6.12.
"""

from .. import _versions

GIB = 1 << 30
# With the module option hashsize the limit is eight times the buckets.
PER_HASHSIZE = 8
# Buckets come in whole pages of 4 KiB.
_BUCKETS_PER_PAGE = 512
# Limits of nodes with more than 4 GiB and with more than 1 GiB.
_LARGE, _MIDDLE = 262144, 65536
# The total of memory read later differs slightly from the one at load time.
_TOLERANCE = 1.0 / 32


def default_limit(memory_bytes, release, now):
    """nf_conntrack_max by memory and kernel, `now` where it is close enough to one of the candidates; None where it is
    not predictable."""
    if not memory_bytes:
        return None
    limits = _limits(memory_bytes, release)
    if isinstance(now, int) and any(abs(now - limit) <= _difference(limit) for limit in limits):
        return now
    return limits[0] if len(limits) == 1 else None


def _limits(memory_bytes, release):
    """The candidates: more than one near a threshold, and where the kernel may use the old or the new formula."""
    small = []
    if not _versions.within(release, before="5.11"):
        small.append(rounded_buckets(max(1024, memory_bytes // 16384 // 8)))
    if not _versions.within(release, since="6.1"):
        small.append(rounded_buckets(max(32, memory_bytes // 16384 // 8)) * 4)
    limits = []
    for above, up_to, values in ((4 * GIB, None, [_LARGE]), (GIB, 4 * GIB, [_MIDDLE]), (0, GIB, small)):
        if memory_bytes >= above * (1 - _TOLERANCE) and (up_to is None or memory_bytes <= up_to * (1 + _TOLERANCE)):
            limits += values
    return limits


def _difference(limit):
    """Allowed difference between the kernel's own limit and the one computed from memory."""
    return 0 if limit in (_LARGE, _MIDDLE) else max(limit * _TOLERANCE, 4 * _BUCKETS_PER_PAGE)


def default_buckets(limit, release):
    """The buckets that the kernel allocates with that limit."""
    if limit is None:
        return None
    if _versions.within(release, since="6.1"):
        return limit
    return limit // 4 if _versions.within(release, before="5.11") else None


def rounded_buckets(size):
    """The number of buckets that the kernel allocates for a requested number."""
    return -(-size // _BUCKETS_PER_PAGE) * _BUCKETS_PER_PAGE
