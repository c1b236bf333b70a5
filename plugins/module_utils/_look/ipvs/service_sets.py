# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the virtual servers of ipvs mode and kube-proxy's ipsets name the same Services. PRIVATE to the collection.

kube-proxy writes each address and port of a Service twice: as a virtual server and as an entry of an ipset. A sync
makes the servers before the entries and deletes the entries before the servers (kubernetes pkg/proxy/ipvs/proxier.go,
syncProxyRules), so only a running sync has a server without an entry. NodePorts have sets of ports alone and are not
compared.
"""

import collections
import ipaddress
import re
import time

# kubernetes pkg/proxy/ipvs/ipset.go: the sets of `address,protocol:port` that hold every Service but its NodePorts.
_HOLDS_SERVICES = re.compile(r"KUBE-(6-)?(CLUSTER-IP|EXTERNAL-IP|EXTERNAL-IP-LOCAL|LOAD-BALANCER)\Z")
_CLUSTER = ("KUBE-CLUSTER-IP", "KUBE-6-CLUSTER-IP")
# The default of kube-apiserver --service-node-port-range begins with this port.
_NODE_PORTS = 30000
_ENTRY = re.compile(r"^add \S+ ([0-9a-f.:]+),(tcp|udp|sctp):(\d+)", re.MULTILINE)
_SECONDS, _PAUSE_SECONDS, _EXAMPLES = 5.0, 1.0, 5
_NOT_WHOLE = ("/proc/net/ip_vs may leave out virtual servers, as it does where several network namespaces have some, "
              "and the kernel did not list them over netlink; run with become")
_UNCOMPARED = {"entries": None, "missing_servers": None, "missing_entries": None, "examples": []}

# What was read at one moment: virtual servers, addresses of kube-ipvs0, entries of the sets; each None where it could
# not be read. `whole` is False where there may be more virtual servers than `servers` (servers.py).
Reading = collections.namedtuple("Reading", "servers own entries whole")


def compare(first, read_again, kube_proxy, sleep=time.sleep):
    """The part of the section; `first` is a `Reading` and read_again() makes another one.

    Only keys that both readings lack are missing, and no key is missing before kube-proxy has finished its sync. Where
    the node has no program ipset, an address of kube-ipvs0 without any virtual server still shows that some were
    deleted.
    """
    found = _differences(first)
    if found is None:
        return dict(_UNCOMPARED, because=_unread(first))
    if any(found):
        if _is_syncing(kube_proxy):
            return dict(_UNCOMPARED, because="kube-proxy has not finished a sync yet")
        sleep(_PAUSE_SECONDS)
        second = read_again()
        again = _differences(second)
        if again is None:
            return dict(_UNCOMPARED, because="a second reading failed")
        found = [one & other for one, other in zip(found, again)]
        # A server that both readings lack is missing only where one of the readings is whole.
        if found[0] and not (first.whole or second.whole):
            return dict(_UNCOMPARED, because=_NOT_WHOLE)
    servers, entries = found
    known = first.entries is not None
    return {"entries": len(first.entries) if known else None, "missing_servers": len(servers),
            "missing_entries": len(entries) if known else None, "because": "" if known else _unread(first),
            "examples": [" ".join(map(str, key)) for key in sorted(servers | entries)[:_EXAMPLES]]}


def entries_of(host, sets, limit):
    """The (address, port, protocol) of all Services in `sets` (names and numbers of entries), None where they cannot be
    read."""
    found, named = set(), [row["name"] for row in sets]
    if not any(name in _CLUSTER for name in named) and not host.commands:
        return None  # A bundle may hold single sets.
    for name in [row["name"] for row in sets if row["entries"] != 0 and _HOLDS_SERVICES.match(row["name"])]:
        answer = host.run(["ipset", "save", name], _SECONDS, limit)
        if not answer.ok:
            return None
        found.update((_plain(address), int(port), protocol) for address, protocol, port in _ENTRY.findall(answer.out))
    return found


def _differences(reading):
    """[entries without a virtual server, virtual servers on kube-ipvs0 without an entry], None where servers or
    addresses are unknown. Without entries: [addresses of kube-ipvs0 without a virtual server, nothing]."""
    if reading.servers is None or reading.own is None and reading.entries != set():
        return None
    if reading.own is None:
        # No set has an entry, so each address but those of NodePorts lacks one.
        return [set(), {(server.address, server.port, server.protocol) for server in reading.servers
                        if server.address and server.port < _NODE_PORTS}]
    there = {(server.address, server.port, server.protocol) for server in reading.servers if server.address}
    if reading.entries is None:
        return [{(address,) for address in reading.own - {key[0] for key in there}}, set()]
    return [reading.entries - there, {key for key in there if key[0] in reading.own} - reading.entries]


def _unread(reading):
    names = ("/proc/net/ip_vs", "the addresses of kube-ipvs0", "the ipsets of kube-proxy")
    return "%s could not be read" % " and ".join(name for name, part in zip(names, reading) if part is None)


def _is_syncing(kube_proxy):
    return bool(kube_proxy.get("starting") or any(row["waiting"] for row in kube_proxy.get("sync") or ()))


def _plain(address):
    return str(ipaddress.ip_address(address))
