# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit that the kernel gives itself when nf_conntrack is loaded. PRIVATE to the collection.

Source: Linux net/netfilter/nf_conntrack_core.c nf_conntrack_init_start() and nf_ct_alloc_hashtable() of 5.10, 6.1 and
6.12.
"""

from .. import _versions

GIB = 1 << 30
# A hashsize option makes the limit eight times as much.
PER_HASHSIZE = 8
# Buckets come in whole pages of 4 KiB.
_BUCKETS_PER_PAGE = 512
# Limits of nodes with more than 4 GiB, and with more than one.
_LARGE, _MIDDLE = 262144, 65536
# The total of memory that is read later is not quite the one the module saw.
_TOLERANCE = 1.0 / 32


def default_limit(memory_bytes, release, now):
    """nf_conntrack_max by memory and kernel, `now` where it is as good as one of those that come into question; None
    where it cannot be told."""
    if not memory_bytes:
        return None
    limits = _limits(memory_bytes, release)
    if isinstance(now, int) and any(abs(now - limit) <= _difference(limit) for limit in limits):
        return now
    return limits[0] if len(limits) == 1 else None


def _limits(memory_bytes, release):
    """The limits that come into question: more than one near a bound, and where the kernel may be of the old or of the
    new kind."""
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
    """How far the kernel's own limit may be from one that is worked out by memory."""
    return 0 if limit in (_LARGE, _MIDDLE) else max(limit * _TOLERANCE, 4 * _BUCKETS_PER_PAGE)


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
