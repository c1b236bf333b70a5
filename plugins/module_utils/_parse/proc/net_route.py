# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/net/route and /proc/net/ipv6_route: the networks directly behind each interface. PRIVATE to the collection.

Samples, of which the first has tabs:
    eth0 0002A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0
    fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000
        00000100 00000001 00000000 00000001 eth0
The first file prints addresses as numbers in the byte order of the machine, only routes of the main table, and a star
instead of the interface of a reject route. Formats: net/ipv4/fib_trie.c fib_route_seq_show(), net/ipv6/route.c
rt6_info_route(); flags: include/uapi/linux/route.h and ipv6_route.h.
"""

import collections
import ipaddress
import re
import sys

# `network` as text, such as 192.168.2.0/24; None for a default route.
Route = collections.namedtuple("Route", ("network", "interface"))

_GATEWAY, _REJECT, _OF_THE_MACHINE = 0x2, 0x200, 0x80100000  # The last: its own addresses, local and anycast.
_OF_IPV4 = re.compile(r"^([^*\s]\S*)\t([0-9A-F]{8})\t[0-9A-F]{8}\t([0-9A-F]{4})\t\d+\t\d+\t\d+\t([0-9A-F]{8})\t", re.M)
_OF_IPV6 = re.compile(r"^([0-9a-f]{32}) ([0-9a-f]{2}) [0-9a-f]{32} [0-9a-f]{2} [0-9a-f]{32}(?: [0-9a-f]{8}){3} "
                      r"([0-9a-f]{8}) +(\S+)$", re.M)


def parse_proc_net_route(text):
    """[Route] of IPv4 in the order of the file, without routes through a gateway to a single network."""
    rows = ((_number(network), _length(_number(mask)), int(flags, 16), interface)
            for interface, network, flags, mask in _OF_IPV4.findall(text))
    return _routes(ipaddress.IPv4Network, rows)


def parse_proc_net_ipv6_route(text):
    """The same for IPv6, without routes to addresses of the machine itself."""
    rows = ((int(network, 16), int(length, 16), int(flags, 16), interface)
            for network, length, flags, interface in _OF_IPV6.findall(text))
    return _routes(ipaddress.IPv6Network, (row for row in rows if row[1] <= 128))


def _routes(kind, rows):
    found = []
    for number, length, flags, interface in rows:
        # A node may have thousands of routes to other nodes' pods, which go through a gateway.
        if length is None or flags & (_REJECT | _OF_THE_MACHINE) or (length and flags & _GATEWAY):
            continue
        found.append(Route(str(kind((number, length), strict=False)) if length else None, interface))
    return found


def _number(text):
    number = int(text, 16)
    return int.from_bytes(number.to_bytes(4, "little"), "big") if sys.byteorder == "little" else number


def _length(mask):
    """Number of bits of a contiguous mask, None for any other."""
    length = bin(mask).count("1")
    return length if mask == (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF else None
