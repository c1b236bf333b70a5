# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All virtual servers of this network namespace.

/proc/net/ip_vs is not exact where several network namespaces have virtual servers. In Linux 6.12 all of them are in one
table (net/netfilter/ipvs/ip_vs_ctl.c): each read() prints at most a page of memory, ip_vs_info_seq_next() counts the
servers of all namespaces, and ip_vs_info_array() finds the place to continue by counting the servers of one namespace,
so it leaves some of these out. Old kernels also print the servers of the other namespaces. So the servers are also read
over netlink, which loads nothing and is exact. The real servers come from the file, because netlink lists them for one
virtual server at a time.

Whether the virtual servers of ipvs mode and kube-proxy's ipsets name the same Services.

kube-proxy writes each address and port of a Service twice: as a virtual server and as an entry of an ipset. A sync
makes the servers before the entries and deletes the entries before the servers (kubernetes pkg/proxy/ipvs/proxier.go,
syncProxyRules), so only a running sync has a server without an entry. NodePorts have sets of ports alone: each needs a
server at any address, and no server needs an entry of them.
"""

import collections
import ipaddress
import re
import time

from ..._host.host import ABSENT, OK, UNPARSED

# Some 200,000 real servers, or 50,000 addresses.
PROC_LIMIT = 16 * 1024 * 1024
# The smallest page of memory: a list that is shorter was printed by one read().
_PAGE = 4096
_FORWARDS = {0: "Masq", 1: "Local", 2: "Tunnel", 3: "Route", 4: "Bypass"}
_IPV6 = 10

# `file`: the status of /proc/net/ip_vs; `status`: the status of its content; `found`: the servers, None where they are
# unknown; `whole`: False where `found` may lack servers of this namespace.
Servers = collections.namedtuple("Servers", "file status found whole")


def read_servers(host):
    """The `Servers` of this network namespace; a kernel without /proc/net/ip_vs has none."""
    text = host.read_text("/proc/net/ip_vs", PROC_LIMIT)
    if not text.ok:
        return Servers(text.status, text.status, [] if text.status == ABSENT else None, True)
    from ..._parse.proc.net_ip_vs import parse_proc_net_ip_vs
    listed, unread = parse_proc_net_ip_vs(text.text)
    if unread:
        return Servers(OK, UNPARSED, None, False)
    if host.commands and host.root == "/":
        from ..._host.netlink import ipvs_destinations, ipvs_servers
        status, named = ipvs_servers()
        servers = joined(listed, named, ipvs_destinations) if status == OK else None
        if servers is not None:
            return Servers(OK, OK, servers, True)
    return Servers(OK, OK, listed, len(text.text) < _PAGE)


def joined(listed, named, destinations_of):
    """[VirtualServer] for each of `named`, the servers from netlink. Their real servers come from `listed`, the servers
    of the file, or from destinations_of() where the file lacks a server. None where destinations_of() fails."""
    rows = {}
    for server in listed:
        rows.setdefault(_key(server), []).append(server)
    servers = []
    for server in named:
        if rows.get(_key(server)):
            servers.append(rows[_key(server)].pop())
            continue
        status, destinations = destinations_of(server)
        if status != OK:
            return None
        servers.append(_of_netlink(server, destinations))
    return servers


def _key(server):
    return server.protocol, server.address, server.port, server.mark


def _of_netlink(server, destinations):
    from ..._parse.proc.net_ip_vs import RealServer, VirtualServer
    return VirtualServer(
        None if server.mark else "ipv6" if server.family == _IPV6 else "ipv4", server.address, server.port,
        server.protocol, server.mark, server.scheduler,
        [RealServer(real.address, real.port, _FORWARDS.get(real.forward & 7, "Masq"), real.weight)
         for real in destinations])


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
