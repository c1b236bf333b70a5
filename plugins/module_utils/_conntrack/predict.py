# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The predicted value of a sysctl after the next boot and kube-proxy's next start. PRIVATE to the collection."""

import re
from collections import namedtuple

from .. import _versions
from . import kube_proxy
from .keys import BUCKETS, names_of

# A line of sysctl.d that sets a key; where: `path:line`.
Assignment = namedtuple("Assignment", "value where")
# A later write by a program. apply: previous value (None: unknown) -> written value (None: not predictable); sure:
# whether the key certainly exists by then, even where its module is loaded late.
Write = namedtuple("Write", "key by apply sure")
# value: int or text, None where it is unknown; by: the line or program that sets it, None: the kernel.
Stage = namedtuple("Stage", "value by")
GIB = 1 << 30
# With the module option hashsize the limit is eight times the buckets.
PER_HASHSIZE = 8
# Buckets come in whole pages of 4 KiB.
_BUCKETS_PER_PAGE = 512
# Limits of nodes with more than 4 GiB and with more than 1 GiB.
_LARGE, _MIDDLE = 262144, 65536
# The total of memory read later differs slightly from the one at load time.
_TOLERANCE = 1.0 / 32


def number(text):
    """A sysctl value as an int where it is a number, otherwise as text."""
    text = text.strip()
    return int(text) if re.match(r"-?[0-9]{1,18}\Z", text) else text[:64]


def at_boot(key, early, assignment, default, writes):
    """The `Stage` before kube-proxy starts.

    `early` is whether the key exists when sysctl.d is read (None: unknown), `default` the `Stage` from the kernel and
    the options of its modules.
    """
    stage = default
    if assignment is not None and early is not False:
        stage = Stage(_stored(key, assignment.value) if early else None, assignment.where)
    for write in writes:
        if write.key in names_of(key):
            stage = Stage(write.apply(stage.value) if early or write.sure else None, write.by)
    return stage


def after_kube_proxy(stage, wish, by, fields):
    """The `Stage` after kube-proxy, or the program that sets its limits (`by`), has started."""
    value = kube_proxy.after_its_start(stage.value, wish)
    if wish.rule == kube_proxy.LEAVES or (value is not None and value == stage.value and wish.value != value):
        return stage
    return Stage(value, "%s (%s)" % (by, fields))


def overruled(assignment, key, final):
    """Whether a later write overrides a line of sysctl.d; None where that is unknown."""
    if assignment is None:
        return False
    return None if final.value is None else final.value != _stored(key, assignment.value)


def survives(now, final):
    """Whether the running value equals the value of the final stage; None where one of them is unknown."""
    return None if now is None or final.value is None else now == final.value


def _stored(key, text):
    value = number(text)
    return rounded_buckets(value) if key == BUCKETS and isinstance(value, int) and value > 0 else value


# The default of nf_conntrack_max that the kernel computes when nf_conntrack is loaded.
# Source: Linux net/netfilter/nf_conntrack_core.c nf_conntrack_init_start(), nf_ct_alloc_hashtable() of 5.10 to 6.12.
def default_limit(memory_bytes, release, now):
    """nf_conntrack_max by memory and kernel, `now` where it is close to a candidate; or None."""
    if not memory_bytes:
        return None
    limits = _limits(memory_bytes, release)
    if isinstance(now, int) and any(now == limit if limit in (_LARGE, _MIDDLE) else abs(now - limit) <= max(
            limit * _TOLERANCE, 4 * _BUCKETS_PER_PAGE) for limit in limits):
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
