# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/net/ip_vs: the virtual servers of IPVS and their real servers. PRIVATE to the collection.

Sample, after three lines of heading::

    TCP  0A600001:01BB rr persistent 10800000 FFFFFFFF
      -> C0A80002:192B      Masq    1      0          0
    UDP  [fd00:0010:0096:0000:0000:0000:0000:000a]:0035 rr
    FWM  00000001 wlc ops

Addresses, ports and marks are hexadecimal, with the digits in their usual order; the time of `persistent` is counted in
jiffies. Format: net/netfilter/ipvs/ip_vs_ctl.c ip_vs_info_seq_show().

The output of `ipset list -t`: sets, their numbers of entries and their limits.

Sample, with an empty line between sets: `Name: KUBE-CLUSTER-IP`, `Type: hash:ip,port`, `Header: family inet hashsize
1024 maxelem 65536`, `Number of entries: 12`. Format: ipset lib/session.c list_create().
"""

import collections
import ipaddress
import re

# A server with a firewall mark has no address and port (None); any other server has no mark (None).
VirtualServer = collections.namedtuple("VirtualServer", "family address port protocol mark scheduler real_servers")
RealServer = collections.namedtuple("RealServer", "address port forward weight")

_HEADING = ("IP Virtual Server version ", "Prot LocalAddress:Port ", "  -> RemoteAddress:Port ")
_PLACE = r"(?:([0-9A-F]{8})|\[([0-9a-f:]{39})\]):([0-9A-F]{4})"
_ROW = re.compile("[^\n]+")
# One or two blanks between them and one after them: this differs by family (see the format strings).
_FLAGS = r"(?: +ops)? *(?: persistent -?\d+ [0-9A-F]{8})? *\Z"
_SERVER = re.compile(r"(\w+) +" + _PLACE + r" (\S+)" + _FLAGS)
_MARK = re.compile(r"FWM +([0-9A-F]{8}) (\S+)" + _FLAGS)
_REAL = re.compile(r"  -> " + _PLACE + r" +(\w+) +(-?\d+) +-?\d+ +-?\d+ *\Z")


def parse_proc_net_ip_vs(text):
    """([VirtualServer], lines that could not be read). A real server needs a virtual one before it."""
    servers, unread = [], []
    for row in _ROW.finditer(text):
        line = row.group(0)
        real = _REAL.match(line)
        if real and servers:
            _family, address, port = _place(*real.groups()[:3])
            if address:
                servers[-1].real_servers.append(RealServer(address, port, real.group(4), int(real.group(5))))
                continue
        server = None if real else _server(line)
        if server:
            servers.append(server)
        elif line.strip() and not line.startswith(_HEADING):
            unread.append(line)
    return servers, unread


def _server(line):
    found = _MARK.match(line)
    if found:
        return VirtualServer(None, None, None, None, int(found.group(1), 16), found.group(2), [])
    found = _SERVER.match(line)
    if not found:
        return None
    protocol, scheduler = found.group(1).lower(), found.group(5)
    family, address, port = _place(*found.groups()[1:4])
    return VirtualServer(family, address, port, protocol, None, scheduler, []) if address else None


def _place(four, six, port):
    """(family, address in its usual notation, port); address and port are None if the address is invalid."""
    if four:
        number = int(four, 16)
        return "ipv4", "%d.%d.%d.%d" % (number >> 24, number >> 16 & 255, number >> 8 & 255,
                                        number & 255), int(port, 16)
    try:
        return "ipv6", str(ipaddress.IPv6Address(six)), int(port, 16)
    except ValueError:
        return "ipv6", None, None


_LIMIT = re.compile(r"\bmaxelem (\d{1,10})\b")
_RANGE = re.compile(r"\brange (\d{1,10})-(\d{1,10})\b")


def parse_ipset_list(text):
    """[`{"name", "entries": int or None, "size_limit": int or None}`] in the order printed."""
    sets = []
    for line in text.splitlines():
        key, colon, value = line.partition(": ")
        if not colon:
            continue
        if key == "Name":
            sets.append({"name": value, "entries": None, "size_limit": None})
        elif sets and key == "Header":
            limit, ports = _LIMIT.search(value), _RANGE.search(value)
            sets[-1]["size_limit"] = int(limit.group(1)) if limit else (
                int(ports.group(2)) - int(ports.group(1)) + 1 if ports else None)
        elif sets and key == "Number of entries" and value.isdigit() and len(value) <= 10:
            sets[-1]["entries"] = int(value)
    return sets
