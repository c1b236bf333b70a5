# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about a full conntrack table in the kernel log. PRIVATE to the collection.

The kernel limits the rate of the message (net/netfilter/nf_conntrack_core.c net_warn_ratelimited()) and the log is a
ring buffer, so a missing message proves nothing. Kernels that name the network namespace in the message (seen with
6.18) log the full tables of pods too, which are not that of the node.
"""

import re

from ..._host.host import DENIED, OK

LIMIT = 16 * 1024 * 1024
SECONDS = 2.0
_LINE = re.compile(br"(?:\[\s*(\d{1,12})\.\d+\])?.*\bnf_conntrack: .*table full(?: in netns (\d{1,10}))?")
_NAMESPACE = re.compile(r"net:\[(\d+)\]\Z")
_LINE_LIMIT = 4096


def table_full_lines(host, since_uptime_seconds):
    """(status, how many messages since that time report that the table of this network namespace is full)."""
    count, rest = [0], [b""]
    own = _NAMESPACE.match(host.read_link("/proc/self/ns/net") or "")

    def counts(match):
        elsewhere = own and match.group(2) and match.group(2).decode() != own.group(1)
        return int(match.group(1) or 0) >= since_uptime_seconds and not elsewhere

    def consume(block):
        lines = (rest[0] + block).split(b"\n")
        rest[0] = lines.pop()[-_LINE_LIMIT:]
        found = [_LINE.match(line[:_LINE_LIMIT]) for line in lines]
        count[0] += sum(1 for match in found if match and counts(match))

    done = host.stream(["dmesg"], consume, SECONDS, LIMIT)
    status = DENIED if done.status == OK and done.rc != 0 else done.status
    return status, count[0] if status == OK else None
