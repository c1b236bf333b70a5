# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interfaces of a node, their addresses and MTUs, from outputs of `ip addr`, `ip -br addr`, `ip -d link` and
`ifconfig`. PRIVATE to the collection.

The files of the kernel with the routes of a node, from outputs of `ip route`, `ip -6 route`, `route -n` and
`netstat -rn`.

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
from . import beside

_DEVICE = re.compile(r"\d+: ([\w.-]{1,15})(?:@([\w.-]+))?(?::| ) ")
_DEVICE_ADDRESS = re.compile(r"\s(inet6?) ([0-9a-f.:]{2,45})/(\d{1,3})\b")
# ip -br addr: the state of the interface, and its addresses.
_BRIEF = re.compile(r"([\w.-]{1,15})(?:@[\w.-]+)?[ \t]+(?:UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)(?: |\Z)(.*)")
_BRIEF_ADDRESS = re.compile(r"(?<!\S)([0-9a-f.:]{2,45})/(\d{1,3})(?!\S)")
_DUMMY, _OF_LINK, _OF_POD = "kube-ipvs0", " mode ", re.compile(r"^(?:\d+: )?eth0@if\d", re.MULTILINE)
# What ip prints where NodeLocal DNSCache has no interface.
_ABSENT_DEVICE = re.compile(r'^Device "(nodelocaldns)" does not exist', re.MULTILINE)
_LINK = re.compile(r"\d+: ([\w.-]{1,15})(?:@([\w.-]+))?: <([A-Z0-9_,-]*)> mtu (\d{2,6})\b(?:.* master ([\w.-]{1,15}))?")
# Below it, of ip -d: the device that carries a VXLAN tunnel.
_CARRIER = re.compile(r"\s+vxlan (?:external )?id \d.{0,200}? dev ([\w.-]{1,15}) ")
# ifconfig of net-tools, the new layout and the old one; that of other systems has one blank before mtu.
_NEW = re.compile(r"([\w.-]{1,15}): flags=\d+<([A-Z0-9_,]*)>  mtu (\d{2,6})\b")
_OLD = re.compile(r"([\w.-]{1,15}) +Link encap:")
_NAME = re.compile(r"([\w.-]{1,15})(?:: flags=\d+<[A-Z0-9_,]*>  mtu \d| +Link encap:)")
_OLD_MTU = re.compile(r"\s+([A-Z]+(?: [A-Z]+)*) +MTU:(\d{2,6}) ")
_OWN = re.compile(r"\s+inet6? (?:addr: ?)?([0-9a-f.:]{2,45})(?=[ /])")
# No line of ifconfig is longer.
_LINE = 500
IFCONFIG = re.compile("^" + _NAME.pattern, re.MULTILINE)
# Names of network cards, bonds and teams, and of bridges that have no pods of Kubernetes.
_CARD, _OTHER_BRIDGE = re.compile(r"(?:en|eth|bond|team|ib)[a-z0-9]+\Z"), ("docker", "br-", "virbr", "lxdbr", "vmbr")
# What ifconfig prints in a pod; it does not show that its eth0 is one end of a pair.
IN_PODS = re.compile(r"(?:lo|eth0|net\d|tunl0|sit0|gre0|gretap0|erspan0|ip6tnl0|ip6gre0|ip_vti0|ip6_vti0)\Z")


def of_text(text, is_whole):
    """{path: content}; `is_whole`: a listing with the loopback interface has all other ones, too."""
    return dict(_addresses(text) or _of_ifconfig(text), **_links(text, is_whole))


def _addresses(text):
    """Of the output of ip addr all addresses of the node where it lists the loopback interface, too; of kube-ipvs0 its
    own. ip link prints no addresses, and a pod has other ones."""
    devices, name = {}, None
    for line in text.splitlines():
        brief = _BRIEF.match(line)
        if brief:
            devices[brief.group(1)] = [("inet6" if ":" in address else "inet", address, length)
                                       for address, length in _BRIEF_ADDRESS.findall(brief.group(2))]
            continue
        begun, address = _DEVICE.match(line), _DEVICE_ADDRESS.search(line)
        name = (None if _OF_LINK in line else begun.group(1)) if begun else name
        if name:
            devices.setdefault(name, []).extend([address.groups()] if address else [])
    found, dummy, absent = beside.pod_bridges(devices), devices.get(_DUMMY), _ABSENT_DEVICE.findall(text)
    if dummy is None and _OF_POD.search(text) or not devices.get("lo", True):
        return {}
    if absent:
        found[_names.BUNDLE_ABSENT_DEVICES] = "".join("%s\n" % each for each in absent)
    if "lo" not in devices and any(devices.values()):
        found[_names.BUNDLE_SOME_ADDRESSES] = "".join("%s\n" % row[1] for held in devices.values() for row in held)
    if dummy is not None:
        found[_names.BUNDLE_COMMANDS + "/ip -o addr show dev " + _DUMMY] = "".join(
            "1: %s    %s %s/%s\n" % ((_DUMMY,) + row) for row in dummy)
    if dummy is not None or "lo" in devices:
        found["/proc/net/dev"] = "".join("%s: 0\n" % name for name in devices)
    if "lo" in devices:
        rows = [(name,) + row for name, held in devices.items() for row in held]
        found["/proc/net/fib_trie"] = "Local:\n" + "".join(
            "  |-- %s\n     /32 host LOCAL\n" % address for _name, kind, address, _length in rows if kind == "inet")
        found["/proc/net/if_inet6"] = "".join(
            "%s 01 %02x 00 80 %s\n" % (_exploded(address).replace(":", ""), int(length), name)
            for name, kind, address, length in rows if kind == "inet6" and _exploded(address))
        found[_names.BUNDLE_COMMANDS + "/ip -o addr show"] = "".join("1: %s    %s %s/%s\n" % row for row in rows)
    return found


def _exploded(address):
    """All digits of an IPv6 address, or an empty text for any other."""
    try:
        return ipaddress.IPv6Address(address).exploded
    except ValueError:
        return ""


def _of_ifconfig(text):
    """The addresses that ifconfig prints: one of each interface that is up."""
    if _is_of_pod(text) or not IFCONFIG.search(text):
        return {}
    held = [address for line in text.splitlines() for address in _OWN.findall(line[:_LINE])
            if not address.startswith("127.")]
    return {_names.BUNDLE_SOME_ADDRESSES: "".join("%s\n" % address for address in held)} if held else {}


def _is_of_pod(text):
    """Whether ifconfig may have been run in a pod."""
    names = [found.group(1) for found in map(_NAME.match, text.splitlines()) if found]
    return bool(names) and all(map(IN_PODS.match, names))


def _links(text, is_whole):
    """What /sys/class/net has of the interfaces: the MTU, whether it is up, the device below it, and ports of bridges
    of pods. `lo` is there where the others are all."""
    if _OF_POD.search(text) or _is_of_pod(text):
        return {}
    found, name, old = {}, None, None
    for line in text.splitlines():
        link, new, begun, size = _LINK.match(line), _NEW.match(line), _OLD.match(line), _OLD_MTU.match(line)
        if link:
            name, lower, flags, mtu, bridge = link.groups()
            found.update(_device(name, flags.split(","), mtu, lower))
            if bridge and name.startswith("veth") and not bridge.startswith(_OTHER_BRIDGE):
                found["/sys/class/net/%s/brif/%s/port_no" % (bridge, name)] = "0x1\n"
        elif new or old and size:
            name, flags, mtu = new.groups() if new else (old, size.group(1), size.group(2))
            found.update(_device(name, flags.replace(",", " ").split(), mtu, None))
        carrier = name and _CARRIER.match(line)
        if carrier:
            found["/sys/class/net/%s/lower_%s/dev_id" % (name, carrier.group(1))] = "0x0\n"
        old = begun.group(1) if begun else old if line.startswith(" ") else None
    return {path: content for path, content in found.items()
            if is_whole or not path.startswith("/sys/class/net/lo/")}


def _device(name, flags, mtu, lower):
    place, is_up = "/sys/class/net/%s/" % name, "UP" in flags
    found = {place + "mtu": mtu + "\n", place + "flags": "0x100%d\n" % (3 if is_up else 2)}
    if lower and lower != "NONE" and not re.match(r"if\d", lower):
        found["%slower_%s/dev_id" % (place, lower)] = "0x0\n"
    elif is_up and not lower and _CARD.match(name):
        found[place + "device/uevent"] = "\n"
    return found


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
_ROWS = re.compile("|".join(each.pattern for each in (_IP, _NEXT_HOP, _FOUR, _SIX)) + r"|Kernel IP(?:v6)? routing|"
                   r"Destination +(?:Gateway|Next Hop) |(?:blackhole|unreachable|prohibit|throw|multicast) |\d\S+ +- ")
# Routes of the main table as a whole.
WHOLE = re.compile(r"(?:sudo )?(?:\S{0,40}/)?(?:ip (?:-(?:4|6|d|s|c|N|details|color=\w+) )*r(?:o(?:u(?:te?)?)?)?"
                   r"(?: (?:s|sh|show|l|ls|list)(?: table main)?)?|(?:route|netstat) -(?:n|rn|nr|r)(?: -n)?)\s*\Z")
_HEADING = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
_UP, _GATEWAY, _HOST, _MOST = 0x1, 0x2, 0x4, 50000


def routes_of_text(text, is_whole):
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
    return all(map(_ROWS.match, filter(str.strip, text.splitlines())))


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
