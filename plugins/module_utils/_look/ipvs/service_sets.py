# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the virtual servers of ipvs mode and kube-proxy's ipsets name the same Services.

kube-proxy writes each address and port of a Service twice: as a virtual server and as an entry of an ipset. A sync
makes the servers before the entries and deletes the entries before the servers (kubernetes pkg/proxy/ipvs/proxier.go,
syncProxyRules), so only a running sync has a server without an entry. NodePorts have sets of ports alone: each needs a
server at any address, and no server needs an entry of them."""

import collections
import ipaddress
import re
import time

# kubernetes pkg/proxy/ipvs/ipset.go: the sets of `address,protocol:port` that hold every Service but its NodePorts.
_HOLDS_SERVICES = re.compile(r"KUBE-(6-)?(CLUSTER-IP|EXTERNAL-IP|EXTERNAL-IP-LOCAL|LOAD-BALANCER)\Z")
_CLUSTER = ("KUBE-CLUSTER-IP", "KUBE-6-CLUSTER-IP")
_OF_PORTS = re.compile(r"KUBE-(6-)?NODE-PORT-(TCP|UDP)\Z")
# Where a bundle has these, it has all of a family.
_ALL = ("CLUSTER-IP", "EXTERNAL-IP", "LOAD-BALANCER")
# The default of kube-apiserver --service-node-port-range begins with this port.
_NODE_PORTS = 30000
_ENTRY = re.compile(r"^add \S+ ([0-9a-f.:]+),(tcp|udp|sctp):(\d{1,5})\b", re.MULTILINE)
_PORT = re.compile(r"^add \S+ (\d{1,5})\b", re.MULTILINE)
_SECONDS, _PAUSE_SECONDS, _EXAMPLES = 5.0, 1.0, 5
_NOT_WHOLE = ("/proc/net/ip_vs may leave out virtual servers, as it does where several network namespaces have some, "
              "and the kernel did not list them over netlink; run with become")
_UNCOMPARED = {"entries": None, "missing_servers": None, "missing_entries": None, "examples": []}

# What was read at one moment: virtual servers, addresses of kube-ipvs0, entries of the sets; each None where it could
# not be read. `whole` is False where there may be more virtual servers than `servers` (servers.py). `families` are the
# families whose entries are all known, `empty` names of sets of ClusterIPs without entries.
Reading = collections.namedtuple("Reading", "servers own entries whole families empty")
Reading.__new__.__defaults__ = (("ipv4", "ipv6"), ())
# The last three of a Reading.
Entries = collections.namedtuple("Entries", "found families empty")


def compare(first, read_again, kube_proxy, sleep=time.sleep):
    """The part of the section; `first` is a `Reading` and read_again() makes another one. Only keys that both readings
    lack are missing, and no key is missing before kube-proxy has finished its sync. Where the node has no program
    ipset, an address of kube-ipvs0 without any virtual server still shows that some were deleted."""
    found = _differences(first)
    if found is None:
        return dict(_UNCOMPARED, because=_unread(first))
    if any(found):
        if kube_proxy.get("starting") or any(row["waiting"] for row in kube_proxy.get("sync") or ()):
            return dict(_UNCOMPARED, because="kube-proxy has not finished a sync yet")
        sleep(_PAUSE_SECONDS)
        second = read_again()
        again = _differences(second)
        if again is None:
            return dict(_UNCOMPARED, because="a second reading failed")
        found = [None if None in (one, other) else one & other for one, other in zip(found, again)]
        # A server that both readings lack is missing only where one of the readings is whole.
        if found[0] and not (first.whole or second.whole):
            return dict(_UNCOMPARED, because=_NOT_WHOLE)
    servers, entries = found
    families = {_family(key[0]) for key in entries or ()}
    empty = sorted(name for name in first.empty if _family(name) in families)
    return {"entries": None if first.entries is None else len(first.entries), "missing_servers": len(servers),
            "missing_entries": None if entries is None else len(entries),
            "because": _unread(first) if entries is None else "%s is empty" % " and ".join(empty) if empty else "",
            "examples": [" ".join(map(str, key)) for key in sorted(servers | (entries or set()))[:_EXAMPLES]]}


def entries_of(host, sets, limit):
    """The `Entries` with (address, port, protocol) of all Services in `sets` (names and numbers of entries) and (name,
    port, protocol) of NodePorts, None where they cannot be read. A bundle may hold single sets."""
    found, numbers, unread = set(), {row["name"]: row["entries"] for row in sets}, set()
    for name in [name for name in numbers if numbers[name] != 0]:
        ports = _OF_PORTS.match(name)
        if not ports and not _HOLDS_SERVICES.match(name):
            continue
        answer = host.run(["ipset", "save", name], _SECONDS, limit)
        if not answer.ok and host.commands:
            return None
        if not answer.ok:
            unread.add(_family(name))
        elif ports:
            found.update((name, int(port), ports.group(2).lower()) for port in _PORT.findall(answer.out))
        else:
            found.update((_plain(address), int(port), protocol)
                         for address, protocol, port in _ENTRY.findall(answer.out) if _plain(address))
    empty = tuple(name for name in _CLUSTER if numbers.get(name) == 0)
    families = tuple(family for family, prefix in (("ipv4", "KUBE-"), ("ipv6", "KUBE-6-"))
                     if host.commands or family not in unread and (
                         prefix + _ALL[0] in empty or all(prefix + name in numbers for name in _ALL)))
    return Entries(found, families, empty) if found or families else None


def _family(text):
    return "ipv6" if ":" in text or text.startswith("KUBE-6-") else "ipv4"


def _differences(reading):
    """[entries without a virtual server, virtual servers on kube-ipvs0 without an entry], None where servers or
    addresses are unknown, and in place of the second where not all entries are known. Without entries: [addresses of
    kube-ipvs0 without a virtual server, None]."""
    if reading.servers is None or reading.own is None and reading.entries is None:
        return None
    there = {(server.address, server.port, server.protocol) for server in reading.servers if server.address}
    if reading.entries is None:
        return [{(address,) for address in reading.own - {key[0] for key in there}}, None]
    ports = {(_family(address), port, protocol) for address, port, protocol in there}
    alone = {key for key in reading.entries - there
             if not (_OF_PORTS.match(key[0]) and (_family(key[0]),) + key[1:] in ports)}
    if not reading.families or reading.own is None and not reading.empty:
        return [alone, None]
    if reading.own is None:
        # No set of ClusterIPs has an entry, so each address but those of NodePorts lacks one.
        lost = {_family(name) for name in reading.empty}
        return [alone, {key for key in there if key[1] < _NODE_PORTS and _family(key[0]) in lost} - reading.entries]
    return [alone, {key for key in there if key[0] in reading.own
                    and _family(key[0]) in reading.families} - reading.entries]


def _unread(reading):
    names = ("/proc/net/ip_vs", "the addresses of kube-ipvs0", "the ipsets of kube-proxy")
    return "%s could not be read" % (" and ".join(name for name, part in zip(names, reading) if part is None)
                                     or "some ipsets of kube-proxy")


def _plain(address):
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None
