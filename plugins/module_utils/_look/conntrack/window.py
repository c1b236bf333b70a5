# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters and connections over a time window, on request. PRIVATE to the collection."""

import time

from ..._conntrack.keys import COUNT
from .now import read_counters, read_key

_LOOKS = 10


def watched(host, seconds, before):
    """`{"window_seconds", "highest_count", "per_second"}`; `before` are the counters at the beginning."""
    started, highest = time.monotonic(), None
    for _look in range(_LOOKS):
        time.sleep(seconds / float(_LOOKS))
        count = read_key(host, COUNT)[1]
        if isinstance(count, int):
            highest = max(count, highest or 0)
    after = read_counters(host)[1]
    window = time.monotonic() - started
    return {"window_seconds": round(window, 1), "highest_count": highest,
            "per_second": {name: round((after[name] - before[name]) / window, 3) for name in sorted(after)
                           if name in before}}
