# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the kernel with the routes of a node, from outputs of `ip route`, `ip -6 route`, `route -n` and
`netstat -rn`. PRIVATE to the collection.

Samples:
    default via 192.168.12.1 dev ens3 proto dhcp src 192.168.12.22 metric 100
    10.244.3.0/24 via 10.244.3.0 dev flannel.1 onlink
    0.0.0.0         192.168.12.1    0.0.0.0         UG    100    0        0 ens3        route -n, netstat -rn
    ::/0            fe80::1         UGDAe 1024 3     0 ens3                             route -6 -n
"""

import ipaddress
import re
import sys

from ...module_utils import _names
from .interfaces import IN_PODS

_IP = re.compile(r"(default|[0-9a-f.:]{2,45}(?:/\d{1,3})?) "
                 r"(?:(?:via (?:inet6 )?([0-9a-f.:]{2,45}) )?dev ([\w.-]{1,15})(?!\S)|proto )")
_NEXT_HOP = re.compile(r"\s+nexthop via (?:inet6 )?([0-9a-f.:]{2,45}) +dev ([\w.-]{1,15})(?!\S)")
_FOUR = re.compile(r"(default|\d[\d.]{6,14}) +(\*|[\w.-]{1,99}) +(\d[\d.]{6,14}) +([A-Z!]{1,8})(?: +\d+){3} +"
                   r"([\w.-]{1,15})\s*\Z")
_SIX = re.compile(r"([0-9a-f:]{2,39}/\d{1,3}|\[::\]/0) +([0-9a-f:.\[\]]{2,41}) +(U[A-Za-z]{0,8})(?: +\d+){3} +"
                  r"([\w.-]{1,15})\s*\Z")
# Rows of other tables, of ip neigh and of ip route get.
_NO_ROUTE = re.compile(r" (?:table (?!main)|lladdr |uid \d|(?:FAILED|INCOMPLETE|NOARP|PERMANENT|STALE|REACHABLE)\Z)")
_CACHED = re.compile(r"^ {4}cache\b", re.MULTILINE)
ROUTES = re.compile(
    r"^(?:default|\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?|[0-9a-f:]{2,39}/\d{1,3}) (?:via (?:inet6 )?[0-9a-f.:]+ )?"
    r"dev [\w.-]{1,15}(?!\S)|^Destination +Gateway +Genmask +Flags |^Destination +Next Hop +Flags? ", re.MULTILINE)
_LINE = re.compile("|".join(each.pattern for each in (_IP, _NEXT_HOP, _FOUR, _SIX)) + r"|Kernel IP(?:v6)? routing|"
                   r"Destination +(?:Gateway|Next Hop) |(?:blackhole|unreachable|prohibit|throw|multicast) |\d\S+ +- ")
# Routes of the main table as a whole.
WHOLE = re.compile(r"(?:sudo )?(?:\S{0,40}/)?(?:ip (?:-(?:4|6|d|s|c|N|details|color=\w+) )*r(?:o(?:u(?:te?)?)?)?"
                   r"(?: (?:s|sh|show|l|ls|list)(?: table main)?)?|(?:route|netstat) -(?:n|rn|nr|r)(?: -n)?)\s*\Z")
_HEADING = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
_UP, _GATEWAY, _HOST, _MOST = 0x1, 0x2, 0x4, 50000


def of_text(text, is_whole):
    """{path: content}; routes that may be some of all are kept apart."""
    if _CACHED.search(text):
        return {}
    rows = list(_rows(text.splitlines()))[:_MOST]
    # A pod has routes through its eth0 only, a node others through the tunnel of Calico.
    if all(IN_PODS.match(device) and device != "tunl0" for _network, _hop, device in rows):
        return {}
    found = {}
    four = [_of_four(*row) for row in rows if row[0].version == 4]
    six = [_of_six(*row) for row in rows if row[0].version == 6]
    if four:
        found["/proc/net/route" if is_whole else _names.BUNDLE_SOME_ROUTES + "/route"] = _HEADING + "".join(four)
    if six:
        found["/proc/net/ipv6_route" if is_whole else _names.BUNDLE_SOME_ROUTES + "/ipv6_route"] = "".join(six)
    return found


def is_alone(text):
    """Whether a text has only routes, as a file to which a command was redirected."""
    return all(map(_LINE.match, filter(str.strip, text.splitlines())))


def _rows(lines):
    """(network, next hop or None, device)."""
    default = None
    for line in lines:
        by_ip, hop = _IP.match(line), _NEXT_HOP.match(line)
        four, six = _FOUR.match(line), _SIX.match(line)
        row = None
        if by_ip and not _NO_ROUTE.search(line):
            default = by_ip.group(1)
            row = by_ip.groups()[:3] if by_ip.group(3) else None
        elif hop and default:
            row = (default,) + hop.groups()
        elif four and "!" not in four.group(4):
            network, gateway, mask, flags, device = four.groups()
            row = ("default" if network in ("default", "0.0.0.0") and mask == "0.0.0.0" else "%s/%s" % (network, mask),
                   gateway if "G" in flags else None, device)
        elif six and "n" not in six.group(3):
            network, gateway, flags, device = six.groups()
            row = (network.replace("[::]", "::"), gateway.strip("[]") if "G" in flags else None, device)
        made = row and _made(*row)
        if made:
            yield made


def _made(network, hop, device):
    try:
        via = ipaddress.ip_address(hop) if hop else None
        if network == "default":
            network = "::/0" if via and via.version == 6 else "0.0.0.0/0"
        return ipaddress.ip_network(network, strict=False), via, device
    except ValueError:
        return None


def _of_four(network, hop, device):
    flags = _UP | (_GATEWAY if hop else 0) | (_HOST if network.prefixlen == 32 else 0)
    gateway = int(hop) if hop and hop.version == 4 else 0
    return "%s\t%s\t%s\t%04X\t0\t0\t0\t%s\t0\t0\t0\n" % (
        device, _number(int(network.network_address)), _number(gateway), flags, _number(int(network.netmask)))


def _number(value):
    """A number as the kernel of this machine prints an address."""
    return "%08X" % int.from_bytes(value.to_bytes(4, "big"), sys.byteorder)


def _of_six(network, hop, device):
    flags = _UP | (_GATEWAY if hop else 0)
    return "%032x %02x %032x 00 %032x 00000400 00000001 00000000 %08x %8s\n" % (
        int(network.network_address), network.prefixlen, 0, int(hop) if hop else 0, flags, device)
