# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which protocols and states fill the conntrack table, on request. PRIVATE to the collection.

The program conntrack loads nf_conntrack_netlink, so it is run only where the kernel has that module already.
"""

from ..._host.host import ABSENT, DENIED, OK

TOP = 12
LIMIT = 512 * 1024 * 1024
SECONDS = 20.0
_LINE_LIMIT = 4096
# There are about fifty kinds (protocol and state); kinds beyond this limit are counted together.
_KINDS_LIMIT = 200
# Protocols whose state follows name, number and timeout (libnetfilter_conntrack src/conntrack/snprintf_default.c).
_WITH_STATE = ("tcp", "sctp", "dccp")
_MARKS = ((b"[UNREPLIED]", "UNREPLIED"), (b"[ASSURED]", "ASSURED"))


def consumers(host, loaded):
    """(status, [{"protocol", "state", "count"}] of the most frequent); `loaded`: whether the kernel has the module that
    the program needs."""
    if not loaded:
        return ABSENT, None
    counts, rest = {}, [b""]

    def consume(block):
        lines = (rest[0] + block).split(b"\n")
        rest[0] = lines.pop()[-_LINE_LIMIT:]
        for line in lines:
            kind = kind_of(line)
            if kind:
                kind = kind if kind in counts or len(counts) < _KINDS_LIMIT else ("other", "")
                counts[kind] = counts.get(kind, 0) + 1

    done = host.stream(["conntrack", "-L"], consume, SECONDS, LIMIT)
    if done.status != OK or done.rc != 0:
        return done.status if done.status != OK else DENIED, None
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    return OK, [{"protocol": protocol, "state": state or None, "count": count} for (protocol, state), count in rows]


def kind_of(line):
    """(protocol, state or an empty text) of a line of `conntrack -L`, None for other lines."""
    words = line.split(None, 4)
    if len(words) < 4 or not words[1].isdigit():
        return None
    protocol = words[0].decode("ascii", "replace")[:16]
    if protocol in _WITH_STATE:
        return protocol, words[3].decode("ascii", "replace")[:16]
    return protocol, next((name for mark, name in _MARKS if mark in line), "")
