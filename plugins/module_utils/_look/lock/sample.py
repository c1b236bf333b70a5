# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sample of the xtables lock: the share of a period in which it is held, and the longest hold. PRIVATE to the
collection."""

import time

from ..._host.host import ABSENT, OK

INTERVAL = 0.05
_HOLDERS_LIMIT = 5


def sample(seconds, read_locks, name_of, clock=time.monotonic, sleep=time.sleep):
    """Read the lock every 0.05 s for `seconds`.

    A hold lasts from the first reading that shows its pid to the first one that no longer does. None where a reading
    failed.
    """
    begun = since = clock()
    readings, held, longest, last = 0, 0, 0.0, None
    counts, names = {}, {}
    while True:
        now = clock()
        locks = read_locks()
        if locks.status not in (OK, ABSENT):
            return None
        readings += 1
        pid = locks.holders[0].pid if locks.holders else None
        if last is not None:
            longest = max(longest, now - since)
        if pid != last:
            since, last = now, pid
        if pid is not None:
            held += 1
            counts[pid] = counts.get(pid, 0) + 1
            names.setdefault(pid, name_of(pid))
        if now - begun >= seconds:
            break
        sleep(min(INTERVAL, max(0.0, begun + seconds - now)))
    most = sorted(counts, key=lambda pid: (-counts[pid], pid))[:_HOLDERS_LIMIT]
    return {
        "seconds": round(now - begun, 2), "readings": readings, "held_percent": round(100.0 * held / readings, 1),
        "longest_hold_seconds": round(longest, 2),
        "holders": [{"pid": pid, "comm": names[pid] or None, "readings": counts[pid]} for pid in most],
    }
