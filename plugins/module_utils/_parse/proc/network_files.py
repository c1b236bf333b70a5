# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small files of /proc/net: addresses, routes and counters of connection tracking. PRIVATE to the collection.

/proc/net/tcp and /proc/net/tcp6.

Sample:
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 0100007F:2809 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18404 1 ...
Listening sockets come first (net/ipv4/tcp_ipv4.c tcp_seq_start()). Words of an address are in the byte order of the
machine.
"""

import collections
import ipaddress
import re
import struct
import sys

# /proc/net/route and /proc/net/ipv6_route: the networks directly behind each interface.
# Samples, of which the first has tabs:
#     eth0 0002A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0
#     fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000
#         00000100 00000001 00000000 00000001 eth0
# The first file prints addresses as numbers in the byte order of the machine, only routes of the main table, and a star
# instead of the interface of a reject route. Formats: net/ipv4/fib_trie.c fib_route_seq_show(), net/ipv6/route.c
# rt6_info_route(); flags: include/uapi/linux/route.h and ipv6_route.h.

# `network` as text, such as 192.168.2.0/24; None for a default route.
Route = collections.namedtuple("Route", ("network", "interface"))

_GATEWAY, _REJECT, _OF_THE_MACHINE = 0x2, 0x200, 0x80100000  # The last: its own addresses, local and anycast.
_OF_IPV4 = re.compile(r"^([^*\s]\S*)\t([0-9A-F]{8})\t[0-9A-F]{8}\t([0-9A-F]{4})\t\d+\t\d+\t\d+\t([0-9A-F]{8})\t", re.M)
_OF_IPV6 = re.compile(r"^([0-9a-f]{32}) ([0-9a-f]{2}) [0-9a-f]{32} [0-9a-f]{2} [0-9a-f]{32}(?: [0-9a-f]{8}){3} "
                      r"([0-9a-f]{8}) +(\S+)$", re.M)


def parse_proc_net_route(text, gateways=False):
    """[Route] of IPv4 in the order of the file; unless `gateways`, without those through a gateway to one network."""
    rows = ((_number(network), _length(_number(mask)), int(flags, 16), interface)
            for interface, network, flags, mask in _OF_IPV4.findall(text))
    return _routes(ipaddress.IPv4Network, rows, gateways)


def parse_proc_net_ipv6_route(text, gateways=False):
    """The same for IPv6, without routes to addresses of the machine itself."""
    rows = ((int(network, 16), int(length, 16), int(flags, 16), interface)
            for network, length, flags, interface in _OF_IPV6.findall(text))
    return _routes(ipaddress.IPv6Network, (row for row in rows if row[1] <= 128), gateways)


def _routes(kind, rows, gateways):
    found = []
    for number, length, flags, interface in rows:
        # A node may have thousands of routes to other nodes' pods, which go through a gateway.
        if length is None or flags & (_REJECT | _OF_THE_MACHINE) or (length and flags & _GATEWAY and not gateways):
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


# /proc/net/fib_trie: the local IPv4 addresses of a machine.
# Sample: `|-- 10.96.0.1` and below it `/32 host LOCAL`. It also lists addresses of interfaces that are down, as
# kube-proxy's kube-ipvs0 always is. Format: net/ipv4/fib_trie.c fib_trie_seq_show().
_LINE = re.compile(r"^ *(?:\|-- (\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})|/(\d{1,2}) host LOCAL)$", re.MULTILINE)


def parse_proc_net_fib_trie(text):
    """(set of addresses, [IPv4Network] that are local as a whole, such as 127.0.0.0/8)."""
    addresses, networks, leaf = set(), set(), None
    for line in _LINE.finditer(text):
        address, length = line.groups()
        if address:
            leaf = address
        elif leaf and length == "32":
            addresses.add(leaf)
        elif leaf:
            try:
                networks.add(ipaddress.IPv4Network("%s/%s" % (leaf, length), strict=False))
            except ValueError:
                continue  # No address or no length: the kernel never prints one.
    return addresses, sorted(networks)


# /proc/net/if_inet6: the IPv6 addresses of all interfaces.
# Sample: `fd000000000000000000000000000009 03 80 00 c0 kube-ipvs0`. Format: net/ipv6/addrconf.c if6_seq_show().
_INET6_LINE = re.compile(r"^([0-9a-f]{32})(?: [0-9a-f]{2,8}){4} +(\S+)$", re.MULTILINE)


def parse_proc_net_if_inet6(text):
    """{address: name of its interface}; of several with the same link-local address one is kept."""
    return {str(ipaddress.IPv6Address(int(found.group(1), 16))): found.group(2) for found in _INET6_LINE.finditer(text)}


# Counters of conntrack.
# Sample (/proc/net/stat/nf_conntrack, all numbers hexadecimal, one line for each possible CPU; columns differ by
# kernel):
#     entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error ...
#     0000004a  00000000 00000000 00000000 00000003 00000012 ...

# The total of the network namespace, repeated on each line.
_TOTAL = "entries"


def parse_nf_conntrack_stat(text):
    """`{column: sum over all CPUs}`, `entries` once; None for any other text."""
    lines = text.splitlines()
    columns = lines[0].split() if lines else []
    if columns[:1] != [_TOTAL] or len(lines) < 2:
        return None
    try:
        rows = [[int(field, 16) for field in line.split()] for line in lines[1:] if line.strip()]
    except ValueError:
        return None
    if not rows or any(len(row) != len(columns) for row in rows):
        return None
    sums = dict(zip(columns, (sum(column) for column in zip(*rows))))
    sums[_TOTAL] = rows[0][0]
    return sums


# `state` is ESTABLISHED, SYN_SENT, LISTEN or OTHER.
Socket = collections.namedtuple("Socket", "address port state inode")
_INODE = 9

_STATES = {"01": "ESTABLISHED", "02": "SYN_SENT", "0A": "LISTEN"}


def parse_net_tcp(text, inodes=None):
    """[Socket] of the complete lines of a text, or only of those with one of the `inodes`, which are texts; other lines
    are skipped."""
    return [Socket(*end, _STATES.get(fields[3], "OTHER"), inode) for end, inode, fields in _ends(text, inodes, 1)]


def parse_attempts(text, inodes):
    """[(address, port)] to which the sockets with these inodes try to connect, sorted."""
    return sorted({end for end, _inode, fields in _ends(text, inodes, 2) if _STATES.get(fields[3]) == "SYN_SENT"})


def _ends(text, inodes, column):
    """A generator of ((address, port) in a column, inode, the fields of its line)."""
    for line in text.split("\n")[1:-1]:
        fields = line.split()
        if len(fields) > _INODE and fields[_INODE].isdigit() and (inodes is None or fields[_INODE] in inodes):
            address, _colon, port = fields[column].partition(":")
            try:
                found = (_address(address), int(port, 16)), int(fields[_INODE]), fields
            except (ValueError, struct.error):
                continue
            yield found


def _address(text):
    """The address as a socket takes it."""
    words = [int(text[place:place + 8], 16) for place in range(0, len(text), 8)]
    packed = struct.pack("=%dI" % len(words), *words)
    return "%d.%d.%d.%d" % struct.unpack("4B", packed) if len(words) == 1 else ipv6_text(packed)


def ipv6_text(packed):
    """An IPv6 address from its 16 bytes: the unspecified and the loopback address are short, all others in full."""
    groups = struct.unpack(">8H", packed)
    return {(0,) * 8: "::", (0,) * 7 + (1,): "::1"}.get(groups) or ":".join(["%x" % group for group in groups])
