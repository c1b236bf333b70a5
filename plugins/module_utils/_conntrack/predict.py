# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The predicted value of a sysctl after the next boot and kube-proxy's next start. PRIVATE to the collection.

The values that kube-proxy writes to the conntrack sysctls when it starts, by version.

Sources: kubernetes cmd/kube-proxy/app/server_linux.go and conntrack.go up to 1.31, pkg/proxy/conntrack/sysctls.go
since, PR 103174 (raises only, from 1.23), PR 120448 (writes exactly, from 1.29), PR 137002 (upper bound, from 1.36) and
PR 142035 (the limit raises only, from 1.38); k3s pkg/agent/syssetup/setup.go.
"""

import re
from collections import namedtuple

from .. import _versions
from .keys import BUCKETS, names_of

MAX_PER_CORE, MIN, CAP = 32768, 131072, 1048576
# kube-proxy may be up to this many minor versions older than kubelet (Kubernetes version skew policy).
SKEW = 3

LEAVES, RAISES, EXACTLY, UNKNOWN = "leaves", "raises", "exactly", "unknown"
_RAISES_SINCE, _EXACTLY_SINCE, _CAPPED_SINCE, _RAISES_AGAIN = "1.23", "1.29", "1.36", "1.38"

# value: the value that kube-proxy wants, None where it leaves the key alone or the value is unknown; rule: leaves,
# raises (never lowers), exactly (lowers too), unknown; capped: whether the upper bound made the value lower
# than the configured one.
Wish = namedtuple("Wish", "value rule capped")
NOTHING = Wish(None, LEAVES, False)


def versions_of(kube_proxy, kubelet, embedded):
    """Versions that kube-proxy may have, [] if none is known: its own, or all that fit kubelet's version."""
    if _versions.numbers(kube_proxy):
        return [kube_proxy]
    numbers = _versions.numbers(kubelet)
    if len(numbers) < 2:
        return []
    return [kubelet] if embedded else ["%d.%d" % (numbers[0], numbers[1] - older) for older in range(SKEW + 1)]


def limit_wish(versions, cpus, settings, by):
    """The `Wish` about nf_conntrack_max of one of `versions` on a node with `cpus`.

    `settings` are the fields of its configuration ({} for its defaults), None where they are not known; `by` is the
    program that writes (kube-proxy or k3s).
    """
    per_core = (settings or {}).get("maxPerCore", MAX_PER_CORE)
    if per_core <= 0:
        return NOTHING  # Then min has no effect, in all versions.
    if settings is None or not cpus:
        return Wish(None, UNKNOWN, False)
    scaled = per_core * cpus
    wanted = max(scaled, settings.get("min", MIN))
    if by == "k3s":
        return Wish(wanted, EXACTLY, False)
    return _agreed([_limit_of(version, scaled, wanted) for version in versions], wanted if scaled <= CAP else None)


def _limit_of(version, scaled, wanted):
    # A value above the per-CPU bound is capped, even where min is higher; min alone may be above the bound.
    capped = scaled > CAP and _versions.within(version, since=_CAPPED_SINCE)
    rule = RAISES if _versions.within(version, since=_RAISES_AGAIN) else rule_of_numbers(version)
    return Wish(CAP if capped else wanted, rule, bool(capped))


def rule_of_numbers(version):
    """The rule for all keys except the limit, which has another rule since 1.38."""
    raises = _versions.within(version, since=_RAISES_SINCE) and _versions.within(version, before=_EXACTLY_SINCE)
    return RAISES if raises else EXACTLY


def number_wish(versions, value, by):
    """The `Wish` about a timeout or a switch; kube-proxy leaves the key alone where the value is 0."""
    if not value:
        return NOTHING
    return Wish(value, EXACTLY, False) if by == "k3s" else _agreed([Wish(value, rule_of_numbers(version), False)
                                                                    for version in versions], value)


def _agreed(wishes, value):
    """The wish that all possible versions agree on; `value` where no version is known."""
    values, rules = {wish.value for wish in wishes}, {wish.rule for wish in wishes}
    return Wish(values.pop() if len(values) == 1 else None if values else value,
                rules.pop() if len(rules) == 1 else UNKNOWN, any(wish.capped for wish in wishes))


def after_its_start(value, wish):
    """The value of a sysctl (None: not known) after kube-proxy's start; None where that is not predictable."""
    if wish.rule == LEAVES or (value is not None and value == wish.value):
        return value
    if wish.rule == EXACTLY:
        return wish.value
    if value is None or wish.value is None:
        return None
    # An unknown value is at least raised.
    return max(value, wish.value) if wish.rule == RAISES or value < wish.value else None


def advice(wanted, wish, cpus, by):
    """The kube-proxy setting with which the limit is `wanted` after its start; None where it stays."""
    if wish.rule == LEAVES or after_its_start(wanted, wish) == wanted:
        return None
    if by == "k3s":
        return "pass kube-proxy-arg conntrack-max-per-core=0 to k3s; then sysctl.d decides"
    text = "set conntrack.maxPerCore to 0 in kube-proxy's configuration; then sysctl.d decides"
    if wanted < MIN:
        return text
    return "%s. Or set conntrack.min to %d and conntrack.maxPerCore to at most %d" % (
        text, wanted, max(1, min(wanted, CAP) // max(1, cpus or 1)))


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
    value = after_its_start(stage.value, wish)
    if wish.rule == LEAVES or (value is not None and value == stage.value and wish.value != value):
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
# Source: Linux net/netfilter/nf_conntrack_core.c nf_conntrack_init_start(), nf_ct_alloc_hashtable() of 5.10,
# 6.1 and 6.12.
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
