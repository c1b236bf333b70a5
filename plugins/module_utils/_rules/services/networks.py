# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks of the addresses of Services and of their endpoints, in a few rows. PRIVATE to the collection."""

import collections
import ipaddress

from .services import NODE_PORT

NETWORKS_LIMIT = 8
# Prefix length of a row's network, and the wider one of many rows: pods of one node, of one cluster.
_LENGTHS = {4: (24, 16), 6: (64, 48)}
# The endpoints of this Service are API servers, which have addresses of nodes (kubernetes
# pkg/controlplane/reconcilers).
API_SERVER = "default/kubernetes:"


def networks_of(services):
    """`{"services": rows, "services_left_out": number, "endpoints": rows, "endpoints_left_out": number}` of [Service];
    rows are None where they are not known, as those of endpoints may be in nftables mode. `services`: None where
    nothing is known."""
    virtual = endpoints = None, 0
    if services is not None:
        virtual = _rows((service.address, service.name) for service in services if service.address != NODE_PORT)
    if services is not None and all(service.endpoints is not None for service in services):
        endpoints = _rows((address, service.name) for service in services if not service.name.startswith(API_SERVER)
                          for address, _port, _protocol in service.endpoints)
    return {"services": virtual[0], "services_left_out": virtual[1], "endpoints": endpoints[0],
            "endpoints_left_out": endpoints[1]}


def _rows(named):
    """`[{"family", "network", "addresses", "name"}]` of (address, name of a Service), the largest first."""
    names = dict(named)
    # Addresses that differ only in their last part are in one network: of 30,000 a few hundred are parsed.
    starts, one_of = collections.Counter(), {}
    for address in names:
        start = address.rpartition(":" if ":" in address else ".")[0]
        starts[start] += 1
        one_of[start] = address
    counts, names_by_network = collections.Counter(), {}
    for start, number in starts.items():
        network = _network(one_of[start])
        if network:
            counts[network] += number
            names_by_network[network] = names[one_of[start]]
    if len(counts) > NETWORKS_LIMIT:
        counts, names_by_network = _wider(counts, names_by_network)
    rows = [{"family": "ipv%d" % version, "network": "%s/%d" % (kind(first), length), "addresses": number,
             "name": names_by_network[version, first, length]} for (version, first, length), number in sorted(
                 counts.items(), key=lambda item: (-item[1], item[0]))[:NETWORKS_LIMIT]
            for kind in [ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address]]
    return rows, max(0, len(counts) - NETWORKS_LIMIT)


def _network(address):
    """(4 or 6, first address as a number, length); None if the text is not an address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    return _cut(found.version, int(found), _LENGTHS[found.version][0])


def _cut(version, number, length):
    rest = (32 if version == 4 else 128) - length
    return version, number >> rest << rest, length


def _wider(counts, names):
    """The same, with one wide network in place of the several networks that it contains."""
    groups = collections.defaultdict(list)
    for network in counts:
        groups[_cut(network[0], network[1], _LENGTHS[network[0]][1])].append(network)
    together = {wide if len(held) > 1 else held[0]: held for wide, held in groups.items()}
    return ({network: sum(counts[each] for each in held) for network, held in together.items()},
            {network: names[max(held)] for network, held in together.items()})
