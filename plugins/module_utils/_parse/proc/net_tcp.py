# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/net/tcp and /proc/net/tcp6. PRIVATE to the collection.

Sample:
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 0100007F:2809 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18404 1 ...
Listening sockets come first (net/ipv4/tcp_ipv4.c tcp_seq_start()). Words of an address are in the byte order of the
machine.
"""

import collections
import struct

# `state` is ESTABLISHED, SYN_SENT, LISTEN or OTHER.
Socket = collections.namedtuple("Socket", "address port state inode")
_INODE = 9

_STATES = {"01": "ESTABLISHED", "02": "SYN_SENT", "0A": "LISTEN"}


def parse_net_tcp(text, inodes=None):
    """[Socket] of the complete lines of a text, or only of those with one of the `inodes`, which are texts."""
    return [Socket(*(end + (_STATES.get(fields[3], "OTHER"), int(fields[_INODE]))))
            for end, fields in _ends(text, inodes, 1)]


def parse_attempts(text, inodes):
    """[(address, port)] to which the sockets with these inodes try to connect, sorted."""
    return sorted({end for end, fields in _ends(text, inodes, 2) if _STATES.get(fields[3]) == "SYN_SENT"})


def _ends(text, inodes, column):
    """A generator of ((address, port) in a column, the fields of its line)."""
    for line in text.split("\n")[1:-1]:
        fields = line.split()
        if len(fields) > _INODE and fields[_INODE].isdigit() and (inodes is None or fields[_INODE] in inodes):
            address, _colon, port = fields[column].partition(":")
            try:
                yield (_address(address), int(port, 16)), fields
            except (ValueError, struct.error):
                continue


def _address(text):
    """The address as a socket takes it."""
    words = [int(text[place:place + 8], 16) for place in range(0, len(text), 8)]
    packed = struct.pack("=%dI" % len(words), *words)
    return "%d.%d.%d.%d" % struct.unpack("4B", packed) if len(words) == 1 else ipv6_text(packed)


def ipv6_text(packed):
    """An IPv6 address from its 16 bytes: the unspecified and the loopback address are short, all others in full."""
    groups = struct.unpack(">8H", packed)
    return {(0,) * 8: "::", (0,) * 7 + (1,): "::1"}.get(groups) or ":".join(["%x" % group for group in groups])
