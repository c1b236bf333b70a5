# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the packet counters of Kubernetes' rules move. PRIVATE to the collection."""

import re
import time

from .rule_sets import SAVE_LIMIT, SAVE_SECONDS

# iptables-save -c; the rules of KUBE-* chains and the jumps to them.
_COUNTED = re.compile(rb"^\[(\d{1,20}):\d{1,20}\] -A (?:KUBE-|.* -j KUBE-)", re.M)
_LINE_LIMIT = 64 * 1024


def sample_counters(host, rules, seconds):
    """`{"seconds", "moved", "packets"}` between two readings of all sets of `rules`, or None where one of them
    failed."""
    commands = [rules.commands[source] + ["-c"] for source in sorted(rules.commands)]
    if not commands:
        return None
    begun = time.monotonic()
    before = [_packets(host, command) for command in commands]
    time.sleep(max(0.0, seconds - (time.monotonic() - begun)))
    after = [_packets(host, command) for command in commands]
    if None in before + after:
        return None
    # kube-proxy replaces its rules with counters at zero: then only the packets since that moment are known.
    packets = sum(late - early if late >= early else late for early, late in zip(before, after))
    return {"seconds": round(time.monotonic() - begun, 1), "moved": before != after, "packets": packets}


def _packets(host, command):
    total = _Total()
    done = host.stream(command, total.feed, SAVE_SECONDS, SAVE_LIMIT)
    return total.close() if done.ok else None


class _Total:
    """Adds counters up, line by line."""

    def __init__(self):
        self._held = b""
        self._packets = 0

    def feed(self, chunk):
        whole, newline, rest = (self._held + chunk).rpartition(b"\n")
        self._held = rest[:_LINE_LIMIT]
        self._packets += sum(int(packets) for packets in _COUNTED.findall(whole + newline))

    def close(self):
        """All packets, of the last line too."""
        self.feed(b"\n")
        return self._packets
