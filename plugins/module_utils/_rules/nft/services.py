# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Services of kube-proxy's nftables mode, in the same form as those of iptables mode. PRIVATE to the collection.

Source of the forms: kubernetes pkg/proxy/nftables/proxier.go 1.29 to 1.36. A Service's chain is called
KIND-HASH-NAMESPACE/NAME/PROTOCOL/PORT; KIND is service (all endpoints), local (endpoints of this node), external (jumps
to one of the two) or firewall.
"""

import re

from ..services.services import NODE_PORT, Service, digest

# (the map that serves, the map that refuses); keys of NodePorts have no address.
_PAIRS = (("service-ips", "no-endpoint-services"), ("service-nodeports", "no-endpoint-nodeports"))
# nft prints the number of a protocol where /etc/protocols is missing.
_PROTOCOLS = {"6": "tcp", "17": "udp", "132": "sctp"}
_CHAIN = re.compile(r"^(?:service|local|external|firewall)-[A-Z2-7]{8}-([^/]+)/([^/]+)/[a-z]+/([^/]*)$")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_ENDPOINT = re.compile(r"\[?([^\]]+)\]?:(\d+)\Z")
_NAME_LIMIT = 143
_SERVICE = ("service-", "local-", "external-", "endpoint-")


def list_nft_services(found):
    """[services.Service] of a KubeTables, each (family, address, port, protocol) once; None where they are not known.

    Where the rules of all chains are not known, as without `deep`, `endpoints` has the value None and `cluster` may
    have it too.
    """
    names = [name for pair in _PAIRS for name in pair]
    if not found.looked or any((family, name) in found.unread for family in found.tables for name in names):
        return None
    return [service for family in sorted(found.tables) for service in _of_table(found, family).values()]


def digest_nft_services(services):
    """services.digest() of them; `endpoints` and `endpoint_count` are None where not all endpoints are known."""
    if services is None:
        return digest(None)
    known = all(service.endpoints is not None for service in services)
    whole = digest([service if service.endpoints is not None else service._replace(endpoints=frozenset())
                    for service in services])
    return whole if known else dict(whole, endpoints=None, endpoint_count=None)


def _of_table(found, family):
    table, deep, rows = found.tables[family], found.deep.get(family) is None, {}
    reached = {}
    for served, refused in _PAIRS:
        for element in table.sets[served].elements if served in table.sets else ():
            key = _key(element)
            if key and element.target:
                if element.target not in reached:
                    reached[element.target] = _reached(table, element.target)
                # Without the rules the name alone may show the policy.
                endpoints, cluster = reached[element.target] if deep else (
                    None, True if element.target.startswith("service-") else False
                    if element.target.startswith("local-") else None)
                rows.setdefault(key, Service(family, key[0], key[1], key[2], name_of(element.target), endpoints,
                                             bool(endpoints) if deep else True, cluster))
        for element in table.sets[refused].elements if refused in table.sets else ():
            key = _key(element)
            if key:
                # drop: it has endpoints, but none on this node.
                rows.setdefault(key, Service(family, key[0], key[1], key[2], (element.comment or "")[:_NAME_LIMIT],
                                             frozenset(), element.verdict == "drop", False))
    return rows


def _key(element):
    """(address, port, protocol); None if the element is not an address and port of a Service."""
    words = element.key if len(element.key) == 3 else (NODE_PORT,) + element.key
    if len(words) != 3 or not _PORT.match(words[2]):
        return None
    return words[0], int(words[2]), _PROTOCOLS.get(words[1], words[1])


def _reached(table, target):
    """({(address, port, protocol)} behind a chain that a map leads to, True if every node has the same)."""
    found, waiting, seen = set(), [target], set()
    protocol = (target.split("/") + ["", "", ""])[2]
    cluster = target.startswith("service-")
    if target.startswith("external-") and target in table.chains:
        # The rule without a match is for all clients; the rules before it are for pods and the node itself.
        cluster = (table.chains[target].otherwise or "").startswith("service-")
    while waiting:
        name = waiting.pop()
        chain = table.chains.get(name)
        if name in seen or chain is None:
            continue
        seen.add(name)
        found.update((pair.group(1), int(pair.group(2)), protocol) for pair in map(_ENDPOINT.match, chain.endpoints)
                     if pair)
        waiting.extend(other for other in chain.targets if other.startswith(_SERVICE))
    return frozenset(found), cluster


def name_of(target):
    """namespace/name:port of a chain's name; empty where it was cut."""
    found = _CHAIN.match(target)
    if not found:
        return ""
    namespace, name, port = found.groups()
    return ("%s/%s%s" % (namespace, name, ":" + port if port else ""))[:_NAME_LIMIT]
