# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text shows beside the kind that it has. PRIVATE to the collection.

The endpoints of Services that the API server has, as kubectl prints them.

Samples:
    NAME         ENDPOINTS            AGE               kubectl get endpoints
    kubernetes   172.22.18.81:6443    212d
    NAME         ADDRESSTYPE   PORTS   ENDPOINTS      AGE       kubectl get endpointslices
    web-x7k2p    IPv4          8080    10.244.1.7,10.244.2.9    3d
    Name:              web                              kubectl describe service
    Namespace:         shop
    IP:                10.96.12.7
    Port:              http  80/TCP
    Endpoints:         10.244.1.7:8080,10.244.2.9:8080
    NAME         TYPE        CLUSTER-IP    EXTERNAL-IP   PORT(S)   AGE       kubectl get services
    service/web  ClusterIP   10.96.12.7    <none>        80/TCP    3d

A list that ends in `+ 2 more...` is not whole, and one that is `<none>` may leave out pods that end, which kube-proxy
still uses.

UDP connections that conntrack lists without a translation and without an answer.

Sample:
    udp      17 29 src=10.36.0.14 dst=10.107.61.10 sport=43871 dport=53 [UNREPLIED] src=10.107.61.10 dst=10.36.0.14 ...

The second pair is what an answer must look like. kube-proxy's rules translate only the first packet of a connection, so
an entry that was made while a Service had no endpoint stays as it is while its client sends.

The marks that tunnels put on their encrypted packets, as a text shows them.

Samples:
    interface: wg0                                       wg show, and below it
      fwmark: 0xca6c
    wg0     0xca6c                                       wg show all fwmark
    [#] wg set wg0 fwmark 51820                          wg-quick up
    32765:  not from all fwmark 0xca6c lookup 51820      ip rule: wg-quick, NetBird
    FwMark = 0xca6c                                      a file of wg-quick, wg showconf
    FirewallMark=0x8888                                  [WireGuard] of a .netdev of systemd-networkd

Where a peer is allowed all addresses and no mark is set, wg-quick takes 51820 (wireguard-tools wg-quick/linux.bash
add_default).
"""

import dataclasses
import ipaddress
import re
import zlib

from ...module_utils import _names

_TABLE = re.compile(r"^(?:NAMESPACE[ ]+)?NAME[ ]+(?:ADDRESSTYPE[ ]+PORTS[ ]+)?ENDPOINTS[ ]+AGE[ ]*$")
_END = r"[0-9a-f.:\[\]]{2,50}:\d{1,5}"
_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?"
_ROW = re.compile(r"(?:(%s)[ ]+)?(%s)[ ]+(%s(?:,%s)*)[ ]+\d+[a-z]\S*[ ]*\Z" % (_NAME, _NAME, _END, _END))
_SLICE = re.compile(r"(?:(%s)[ ]+)?(%s)[ ]+IPv[46][ ]+(\d{1,5}(?:,\d{1,5})*)[ ]+"
                    r"([0-9a-f.:]{2,50}(?:,[0-9a-f.:]{2,50})*)[ ]+\d+[a-z]\S*[ ]*\Z" % (_NAME, _NAME))
_OF_SLICES = re.compile(r"(?:(%s)[ ]+)?(%s)[ ]+IPv[46] " % (_NAME, _NAME))
# One after the other: a single expression with all three takes minutes for a line that repeats the first two.
_COMMAND = (re.compile(r"\b(?:kubectl|k|oc)\b"), re.compile(r"\bget\b"),
            re.compile(r"\b(?:endpoint(?:slice)?s?(?:\.\S+)?|ep)\b"))
_SPACE = re.compile(r"(?:^|\s)(?:-n|--namespace)[= ]?(%s)(?=\s|\Z)" % _NAME)
# A name of a slice is that of its Service and five characters.
_SUFFIX = re.compile(r"-[a-z0-9]{5}\Z")
_DESCRIBED = re.compile(r"^Name:[ ]+(%s)\nNamespace:[ ]+(%s)\n((?:\S.*\n|[ ]{2,}.*\n?)+)" % (_NAME, _NAME),
                        re.MULTILINE)
_LIST = re.compile(r"^Endpoints:[ ]+(.+?)[ ]*$", re.MULTILINE)
# A Service with one port: of more, the lists of kubectl get do not show which endpoints belong to which port.
_SERVICE = re.compile(r"^(?:(?P<space>%s)[ ]+)?(?:service/|svc/)?(?P<name>%s)[ ]+(?:[A-Z]\w{6,20}[ ]+)?"
                      r"(?P<address>[0-9a-f.:]{4,45})[ ]+\S+[ ]+(?P<port>\d{1,5})(?::\d{1,5})?/(?P<protocol>TCP|UDP|SCTP)"
                      r"[ ]+\d+[a-z]\S*[ ]*$" % (_NAME, _NAME), re.MULTILINE)
_ADDRESS, _PORT = re.compile(r"^IP:[ ]+(\S+)[ ]*$", re.MULTILINE), re.compile(
    r"^Port:[ ]+(?:\S+[ ]+)?(\d{1,5})/(TCP|UDP|SCTP)[ ]*$", re.MULTILINE)
_WHOLE = re.compile(r"%s(?:,%s)*\Z" % (_END, _END))


def listed_endpoints(item):
    """[(item with a line `namespace name ADDRESS:PORT,...` for each Service whose list is whole, its kind, None)], or
    an empty list. The namespace is a hyphen where the text does not show it."""
    if item.data is None or (b"ENDPOINTS" not in item.data and b"\nEndpoints: " not in item.data):
        return []
    text = item.data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\t", "    ")
    rows = _tables(text.split("\n")) + _described(text)
    lines = "".join("%s %s %s\n" % (space or "-", name, ",".join(sorted(ends))) for space, name, ends in rows)
    return [(dataclasses.replace(item, data=each.encode()), kind, None) for each, kind in (
        (lines, "api_endpoints"), (_of_addresses(text, rows), "api_services")) if each]


def _of_addresses(text, rows):
    """A line `ADDRESS PORT PROTOCOL END,END` for each Service of `rows` with one port, whose address the text shows. A
    Service with two addresses or two lists of endpoints in the text is left out."""
    places = {}
    for found in _SERVICE.finditer(text):
        key = found["space"], found["name"]
        places.setdefault(key, set()).add((found["address"], found["port"], found["protocol"].lower()))
    for name, space, body in _DESCRIBED.findall(text):
        address, ports = _ADDRESS.findall(body), _PORT.findall(body)
        if len(address) == 1 and len(ports) == 1:
            places.setdefault((space, name), set()).add((address[0], ports[0][0], ports[0][1].lower()))
    lists = {}
    for space, name, ends in rows:
        lists.setdefault(name, []).append((space, ends))
    found = []
    for (space, name), where in sorted(places.items(), key=str):
        ends = {",".join(sorted(each)) for own, each in lists.get(name, ()) if space is None or own in (None, space)}
        alone = len(where) == len(ends) == 1 and sum(key[1] == name for key in places) == 1
        addresses = [end.rpartition(":")[0] for end in next(iter(ends)).split(",")] if alone else []
        # Endpoints written by hand may have ports that are no port of the Service.
        if alone and len(addresses) == len(set(addresses)):
            found.append("%s %s %s " % next(iter(where)) + ends.pop())
    return "".join(line + "\n" for line in found)


def _arguments(line):
    """What follows `get endpoints` in a command of kubectl, None for any other line."""
    end = 0
    for word in _COMMAND:
        found = word.search(line, end)
        if found is None:
            return None
        end = found.end()
    return line[end:]


def _tables(lines):
    """[(namespace or None, name, {endpoint})] of the tables of kubectl get."""
    found, space, named, within, slices, broken = [], None, False, False, {}, set()
    for line in lines:
        arguments = _arguments(line)
        if arguments is not None:
            given = _SPACE.search(line)
            space, within = given and given.group(1), False
            named = bool(re.match(r"[ ]+[a-z0-9]", arguments))
        elif _TABLE.match(line):
            within = True
        elif within:
            row, part, begun = _ROW.match(line), _SLICE.match(line), _OF_SLICES.match(line)
            if part and (not named or part.group(2) == "kubernetes"):
                key = part.group(1) or space, _SUFFIX.sub("", part.group(2))
                slices.setdefault(key, set()).update(
                    "%s:%s" % ("[%s]" % address if ":" in address else address, port)
                    for address in part.group(4).split(",") for port in part.group(3).split(","))
            elif begun:
                broken.add((begun.group(1) or space, _SUFFIX.sub("", begun.group(2))))
            elif row:
                found.append((row.group(1) or space, row.group(2), set(row.group(3).split(","))))
            else:
                within = bool(re.match(r"[a-z0-9]\S*[ ]+\S", line))
    return found + [key + (ends,) for key, ends in slices.items() if key not in broken]


def _described(text):
    found = []
    for name, space, body in _DESCRIBED.findall(text):
        lists = _LIST.findall(body)
        if lists and all(map(_WHOLE.match, lists)):
            found.append((space, name, {end for each in lists for end in each.split(",")}))
    return found


_ENTRY = re.compile(r"^(?:ipv[46] +\d+ +)?udp +17 +\d+ +src=(?P<client>\S+) +dst=(?P<service>\S+) +sport=\d+ +"
                    r"dport=(?P<port>\d+) (?:packets=\d+ bytes=\d+ +)?\[UNREPLIED\] +src=(?P=service) +"
                    r"dst=(?P<back>\S+) +sport=(?P=port) +dport=\d+\b", re.MULTILINE)
_ANY = re.compile(r"^(?:ipv[46] +\d+ +)?(?:udp +17|tcp +6) +\d+ .{0,30}src=\S+ dst=\S+ sport=", re.MULTILINE)
# Tunnels, DHCP and names of the local network, whose packets have no answer: VXLAN, Geneve, WireGuard, mDNS, LLMNR.
_NO_ANSWER = frozenset((67, 68, 137, 138, 4789, 5353, 5355, 6081, 8472, 51820, 51821))
# A connection whose source alone is translated leaves the cluster, unless it goes to a NodePort
# (--service-node-port-range).
_NODE_PORTS = range(30000, 32768)
# In a longer list most such entries are of no Service.
_MOST = 20


def untranslated(item):
    """[(item with a line `client service port` for each such connection, its kind, None)] of a text that lists
    connections, otherwise an empty list."""
    if item.data is None or b" sport=" not in item.data:
        return []
    text = item.data.decode("utf-8", "replace")
    found = [(row["client"], row["service"], row["port"]) for row in _ENTRY.finditer(text)
             if int(row["port"]) not in _NO_ANSWER and _is_private(row["service"])
             and (row["back"] == row["client"] or int(row["port"]) in _NODE_PORTS)]
    if not _ANY.search(text) or len(found) > _MOST:
        return []
    return [(dataclasses.replace(item, data="".join("%s %s %s\n" % row for row in sorted(set(found))).encode()),
             "conntrack_entries", None)]


def _is_private(address):
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return found.is_private and not found.is_multicast and not found.is_loopback and not address.endswith(".255")


_WORDS = (b"wmark", b"FwMark", b"FirewallMark", b"AllowedIPs")
# Programs, manuals and scripts of a node name marks that are not set.
_NO_PLACE = re.compile(r"(?:^|/)(?:usr|s?bin|lib|opt|proc|sys|var)/|\.(?:sh|py|md5|html|ya?ml)\Z")
_NUMBER = r"(0x[0-9a-fA-F]{1,8}|[1-9]\d{0,9})\b"
_SHOWN = re.compile(r"^interface: ([\w.-]{1,15})$(?:\n[ \t]+\S.*)*?\n[ \t]+fwmark: " + _NUMBER, re.MULTILINE)
_LISTED = re.compile(r"^([\w.-]{1,15})\t(0x[0-9a-f]{1,8})$", re.MULTILINE)
_SET = re.compile(r"^(?:\[#\] |.{0,60}[#$] (?:sudo )?)wg set ([\w.-]{1,15}) fwmark " + _NUMBER, re.MULTILINE)
_RULE = re.compile(r"^\d{1,10}:[ \t]+not from all fwmark " + _NUMBER + r"(?:/0xffffffff)? lookup ", re.MULTILINE)
_FILE = re.compile(r"^[ \t]*\[(?:Interface|WireGuard)\][ \t]*$", re.MULTILINE)
_OWN = re.compile(r"^[ \t]*(?:FwMark|FirewallMark)[ \t]*=[ \t]*" + _NUMBER, re.MULTILINE | re.IGNORECASE)
_NO_ROUTES = re.compile(r"^[ \t]*Table[ \t]*=[ \t]*(?!auto\b)", re.MULTILINE)
# Only wg-quick reads these keys.
_OF_WG_QUICK = re.compile(r"^[ \t]*(?:Address|DNS|PostUp|SaveConfig|MTU)[ \t]*=", re.MULTILINE)
_ALL = re.compile(r"^[ \t]*AllowedIPs[ \t]*=.*(?:\b0\.0\.0\.0/0|(?<![0-9a-f:])::/0)", re.MULTILINE)
_NAME_OF_FILE = re.compile(r"wireguard/([\w.-]{1,15})\.conf")
_DEFAULT = 51820


def marked_tunnels(item):
    """[(item with a line `mark name` for each tunnel of a file or a session, its kind, None)], or an empty list."""
    if item.data is None or not any(word in item.data for word in _WORDS) or _NO_PLACE.search(item.path):
        return []
    text, found = item.data.decode("utf-8", "replace").replace("\r\n", "\n"), {}
    for name, mark in _SHOWN.findall(text) + _SET.findall(text) + _LISTED.findall(text):
        found.setdefault(name, int(mark, 0))
    for part in _FILE.split(text)[1:]:
        own = _OWN.search(part)
        default = (_ALL.search(part) and _OF_WG_QUICK.search(part) and not _NO_ROUTES.search(part)
                   and not re.search(r"^[ \t]*FwMark", part, re.MULTILINE))
        named = _NAME_OF_FILE.search(item.path) or _NAME_OF_FILE.search(text)
        name = named.group(1) if named else "a WireGuard tunnel"
        if name not in found and (own or default):
            found[name] = int(own.group(1), 0) if own else _DEFAULT
    for mark in _RULE.findall(text):
        if int(mark, 0) not in found.values():
            found["the tunnel that ip rule shows"] = int(mark, 0)
    lines = "".join("%d %s\n" % (mark, name) for name, mark in found.items() if mark < 1 << 32)
    return [(dataclasses.replace(item, data=lines.encode()), "tunnel_marks", None)] if lines else []


_POD_BRIDGE = re.compile(r"(?:cbr|cni)\d+\Z|kube-bridge\Z|weave\Z")
FILES = {
    "api_services": lambda text: {"%s/%08x" % (_names.BUNDLE_API_SERVICES, zlib.crc32(text.encode())): text},
    "conntrack_entries": lambda text: {_names.BUNDLE_CONNTRACK: text},
    "tunnel_marks": lambda text: {_names.BUNDLE_TUNNEL_MARKS: text},
    "api_endpoints": lambda text: {"%s/%08x" % (_names.BUNDLE_API_ENDPOINTS, zlib.crc32(text.encode())): text},
}


def found_beside(item, log):
    """[(item, kind, None)] as of file_kinds.taken(); `log`: the item where it is a log."""
    return listed_endpoints(item) + untranslated(item) + (marked_tunnels(item) if log is None else [])


def pod_bridges(devices):
    """{path: content} of the bridges of pods among {name: [(kind, address, length)]}."""
    lines = "".join("%s %s/%s\n" % ((name,) + row[1:]) for name, held in devices.items() for row in held
                    if _POD_BRIDGE.match(name))
    return {_names.BUNDLE_POD_BRIDGES: lines} if lines else {}
