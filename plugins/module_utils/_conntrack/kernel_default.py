# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit that the kernel gives itself when nf_conntrack is loaded. PRIVATE to the collection.

Source: Linux net/netfilter/nf_conntrack_core.c nf_conntrack_init_start() and nf_ct_alloc_hashtable() of 5.10, 6.1 and 6.12.
"""

from .. import _versions

GIB = 1 << 30
# A hashsize option makes the limit eight times as much.
PER_HASHSIZE = 8
# Buckets come in whole pages of 4 KiB.
_BUCKETS_PER_PAGE = 512
# The total of memory that is read later is not quite the one the module saw.
_TOLERANCE = 1.0 / 32


def default_limit(memory_bytes, release, now):
    """nf_conntrack_max by memory and kernel, C(now) where it is as good as that; None where it cannot be told."""
    if not memory_bytes:
        return None
    for bound, limit in ((4 * GIB, 262144), (GIB, 65536)):
        if abs(memory_bytes - bound) <= bound * _TOLERANCE:
            return None
        if memory_bytes > bound:
            return limit
    if _versions.within(release, since="6.1"):
        limit = rounded_buckets(max(1024, memory_bytes // 16384 // 8))
    elif _versions.within(release, before="5.11"):
        limit = rounded_buckets(max(32, memory_bytes // 16384 // 8)) * 4
    else:
        return None
    return now if now is not None and abs(now - limit) <= max(limit * _TOLERANCE, 4 * _BUCKETS_PER_PAGE) else limit


def default_buckets(limit, release):
    """Buckets that go with that limit."""
    if limit is None:
        return None
    if _versions.within(release, since="6.1"):
        return limit
    return limit // 4 if _versions.within(release, before="5.11") else None


def rounded_buckets(size):
    """What the kernel makes of a number of buckets."""
    return -(-size // _BUCKETS_PER_PAGE) * _BUCKETS_PER_PAGE
