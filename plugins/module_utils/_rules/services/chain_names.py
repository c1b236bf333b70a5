# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of kube-proxy's chains, checked against the hashes in the names of the chains. PRIVATE to the collection.

kubernetes pkg/proxy/iptables/proxier.go, the same from 1.20 to 1.36: the name of a Service's chain ends in a hash of
"namespace/name:port" and protocol (portProtoHash()); the name of an endpoint's chain ends in a hash of these and
"address:port", with IPv6 in brackets (servicePortEndpointChainName()). Comments of the rules that send addresses to a
Service begin with its name. So one hash for each endpoint proves that the rule of an address, the chain of the Service
and the DNAT belong together. Chains that another program names in another form prove nothing.

The hashes at the end of the names of kube-proxy's chains.

kubernetes pkg/proxy/iptables/proxier.go portProtoHash() and servicePortEndpointChainName().

Rules that jump to the chain or endpoint of another Service, and a DNAT whose address is not the one in its chain's
name.

How names are made: chain_hash.py. A name is the hash of exactly one text, so the Service of a chain is found by trying
the Services that the rules name.

The Service of a chain of kube-proxy's iptables mode, from the comments of rules.

All chains of one port of a Service end in the same hash (kubernetes pkg/proxy/iptables/proxier.go portProtoHash()); the
chain of an endpoint has a hash of its own, and the chain that jumps to it identifies the Service. Above 1000 endpoints
only KUBE-SERVICES and KUBE-NODEPORTS have comments.
"""

import base64
import collections
import hashlib
import itertools
import operator
import re

from ..observation import observe
from ..tables import chains_of
from .endpoints import SERVICE_CHAINS, balancing_of, endpoint_of
from .services import NODE_PORT, addressed_jumps, other_jumps

# Bytes of a hash that 16 characters of base32 hold, and those characters.
_BYTES, HASH_LENGTH = 10, 16
PROTOCOLS = ("tcp", "udp", "sctp")
_LAST_PORT = 65535


def chain_hash(*words):
    """The hash at the end of the name of a chain, made of these words."""
    return chain_hashes(["".join(words)])


def chain_hashes(texts):
    """The hashes of several names, joined in the same order."""
    digests = [hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()[:_BYTES] for text in texts]
    return base64.b32encode(b"".join(digests)).decode("ascii")


def endpoint_text(endpoint):
    """An endpoint, (address, port, ...), as kube-proxy writes it into a hash."""
    return ("[%s]:%d" if ":" in endpoint[0] else "%s:%d") % endpoint[:2]


def port_of_hash(ending, service, protocol, address):
    """The port for which the hash of the Service's endpoint `address:port` is `ending`, or None."""
    try:
        wanted = base64.b32decode(ending)
    except ValueError:
        return None
    # The common start of all candidates is hashed once and no hash is encoded, so a search takes a tenth of a second.
    begin = hashlib.sha256((service + protocol + endpoint_text((address, 0))[:-1]).encode("utf-8", "backslashreplace"))
    for port in range(1, _LAST_PORT + 1):
        candidate = begin.copy()
        candidate.update(b"%d" % port)
        if candidate.digest()[:_BYTES] == wanted:
            return port
    return None


# With more endpoints, only Services with a conspicuous one are checked: hashing all takes too long on a big node.
_LIMIT = 4000
# A port is conspicuous if at most this many of the node's endpoints have it.
_RARE = 3


def ask_chain_names(rule_set, setting):
    """anchor_missing and unsound_endpoint of one rule set: rules that lead to those of another Service."""
    if setting.mode not in (None, "iptables") or not chains_of(rule_set, "nat"):
        return
    table = rule_set.tables["nat"]
    named = set(map(operator.itemgetter(4, 5, 2), table.services.jumps))
    named.update((jump[4], (jump[5] or "").partition(" ")[0], jump[2]) for jump in other_jumps(table))
    disputed = len(set(map(operator.itemgetter(0), named))) < len(named)
    led = _doubtful(table) if len(table.services.endpoints) > _LIMIT else list(_led(table))
    owners = _owners(named) if led or disputed else {}
    unproven, proven = _unproven(table, owners, led)
    if unproven or disputed:
        yield from tell_jumps(rule_set, table)
        # People change the addresses of a dump that they show, and then no name belongs to its endpoint.
        yield from tell_endpoints(rule_set, owners, unproven, rule_set.source != "live" and not proven)


def _owners(named):
    """{hash in the names of its chains: (namespace/name:port, protocol)} of the Services that comments name."""
    owners = {}
    for target, name, protocol in sorted([row for row in named if row[1]]):
        ending = target[-HASH_LENGTH:]
        if ending not in owners or chain_hash(name, protocol) == ending:
            owners[ending] = name, protocol
    return owners


def _unproven(table, owners, led):
    """([(Service chain, KUBE-SEP chain, endpoint)] where the hash in the name of the KUBE-SEP chain does not match the
    Service and the endpoint in the rules, the number of those where it does)."""
    changed = {name: endpoint_of(table, name)[0] for name in table.unfolded() if name.startswith("KUBE-SEP-")}
    known, rows = table.services.endpoints, []
    for chain, endpoints in led:
        owner = owners.get(chain[-HASH_LENGTH:])
        for name in endpoints if owner else ():
            endpoint = changed[name] if name in changed else known.get(name)
            if endpoint:
                rows.append((chain, owner, name, endpoint))
    hashes = chain_hashes([owner[0] + owner[1] + endpoint_text(endpoint) for _chain, owner, _name, endpoint in rows])
    found = [(chain, name, endpoint)
             for (chain, owner, name, endpoint), start in zip(rows, range(0, len(hashes), HASH_LENGTH))
             if hashes[start:start + HASH_LENGTH] != name[9:] or endpoint[2] != owner[1]]
    return found, len(rows) - len(found)


def _led(table):
    """(chain, KUBE-SEP chains) of the Services."""
    others = {name for name in table.unfolded() if name.startswith(SERVICE_CHAINS)}
    for chain, (_chances, endpoints) in table.services.balancing.items():
        if chain not in others:
            yield chain, endpoints
    for chain in sorted(others):
        yield chain, [endpoint for _chance, endpoint in balancing_of(table, chain)]


def _doubtful(table):
    """The same for Services that share an endpoint, have one with a rare port, or have rules that were not folded."""
    endpoints = table.services.endpoints
    ports = collections.Counter(map(operator.itemgetter(1), endpoints.values()))
    rare = {port for port, count in ports.items() if count <= _RARE}
    doubtful = {name for name, endpoint in endpoints.items() if endpoint[1] in rare} if rare else set()
    led = list(map(operator.itemgetter(1), table.services.balancing.values()))
    if len(set(itertools.chain.from_iterable(led))) < sum(map(len, led)):
        doubtful.update(name for name, count in collections.Counter(itertools.chain.from_iterable(led)).items()
                        if count > 1)
    changed = {name for name in table.unfolded() if name.startswith(("KUBE-SEP-",) + SERVICE_CHAINS)}
    doubtful |= changed
    return [row for row in _led(table) if row[0] in changed
            or not doubtful.isdisjoint(row[1])][:_LIMIT] if doubtful else []


_KINDS = ("KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-FW-", "KUBE-XLB-")
# Limits: endpoints that are compared with all Services, endpoints whose ports are all tried, Services known by name.
_JUMPS_LIMIT, _SEARCHES, _NAMES = 50, 5, 20000
# RFC 5737: no node has these, so a person wrote them over the real ones.
_OF_DOCUMENTS = ("192.0.2.", "198.51.100.", "203.0.113.")


def tell_jumps(rule_set, table):
    """anchor_missing of each Service if a rule of its addresses jumps to another one or is for another protocol."""
    jumps = [jump[:5] + ((jump[5] or "").partition(" ")[0],) for jump in addressed_jumps(table)]
    # {(name, protocol): hash} of all Services that rules name.
    names = {(name, protocol): chain_hash(name, protocol)
             for name in sorted({jump[5] for jump in jumps if jump[5]})[:_NAMES] for protocol in PROTOCOLS}
    reported = set()
    for source, address, protocol, port, target, name in jumps:
        own, ending = names.get((name, protocol)), target[-HASH_LENGTH:]
        if not name or own in (None, ending):
            continue
        owner = next((service for service, known in names.items() if known == ending), None)
        mine = next((kind + own for kind in (target[:-HASH_LENGTH],) + _KINDS if kind + own in table.chains), None)
        if owner and owner[0] == name and owner[1] != protocol:
            chain, why = target, "its rule in %s is for %s, but the Service is for %s" % (source, protocol, owner[1])
        elif mine:
            chain, why = mine, "its rule in %s for %s port %d/%s jumps to %s%s" % (
                source, "the NodePort" if address in (None, NODE_PORT) else address, port, protocol, target,
                ", the chain of %s" % owner[0] if owner else "")
        else:
            continue
        if (chain, why) not in reported:
            reported.add((chain, why))
            yield observe("anchor_missing", rule_set, "nat", chain,
                          "-A %s -p %s --dport %d -j %s" % (source, protocol, port, target), 1, why)


def tell_endpoints(rule_set, owners, unproven, is_edited):
    """unsound_endpoint of the endpoints that chain_names.py could not prove, where the name of the Service's chain is
    proven. `is_edited`: addresses may be changed, so none is proven to belong to another endpoint."""
    searches, proven = _SEARCHES, {}
    for index, (chain, name, endpoint) in enumerate(unproven):
        ending = chain[-HASH_LENGTH:]
        owner = owners[ending]
        if ending not in proven:
            proven[ending] = chain_hash(*owner) == ending
        if not proven[ending]:
            continue
        text = endpoint_text(endpoint)
        if chain_hash(owner[0], owner[1], text) == name[9:]:
            yield observe("unsound_endpoint", rule_set, "nat", name,
                          detail="it translates %s, but its Service is %s" % (endpoint[2], owner[1]))
            continue
        other = next((service for service in owners.values() if chain_hash(service[0], service[1], text) == name[9:]),
                     None) if index < _JUMPS_LIMIT else None
        if other:
            yield observe("unsound_endpoint", rule_set, "nat", chain, "-A %s -j %s" % (chain, name), 1,
                          "jumps to the endpoint %s of %s" % (text, other[0]))
            continue
        port = port_of_hash(name[9:], owner[0], owner[1], endpoint[0]) if searches else None
        searches -= bool(searches)
        if port is not None:
            yield observe("unsound_endpoint", rule_set, "nat", name,
                          detail="translates to port %d of %s, but its name belongs to port %d" % (
                              endpoint[1], endpoint[0], port))
        elif not is_edited and ":" not in endpoint[0] and not endpoint[0].startswith(_OF_DOCUMENTS):
            # An EndpointSlice may write an IPv6 address in several forms, so its hash does not prove another address.
            yield observe("unsound_endpoint", rule_set, "nat", name,
                          detail="translates to %s, but its name belongs to another endpoint" % text)


_CHAIN = re.compile(r"\bKUBE-(?:SVC|SVL|EXT|FW|XLB|SEP)-([A-Z2-7]{16})\b")
_NAME_LIMIT = 143
_NAMES_LIMIT = 10


def with_names(rows, rule_sets):
    """The observations, which should be few; `detail` of a Service's chain begins with the name of the Service."""
    known = {}
    return [_named(row, rule_sets, known) for row in rows]


def _named(row, rule_sets, known):
    found = _CHAIN.search(row["chain"]) or _CHAIN.search(row["text"]) if row["table"] == "nat" else None
    if found is None:
        return row
    place = (row["family"], row["backend"])
    if place not in known:
        known[place] = [table for table in (rule_set.tables.get("nat") for rule_set in rule_sets
                                            if (rule_set.family, rule_set.backend) == place) if table]
    names = [name for name in (_name(table, found) for table in known[place]) if name]
    return dict(row, detail="%s: %s" % (names[0][:_NAME_LIMIT], row["detail"])) if names else row


def _name(table, found):
    """The name of the Service of a chain, or None."""
    services, chain, ending = table.services, found.group(0), found.group(1)
    if chain.startswith("KUBE-SEP-"):
        leading = next((name for name, (_chances, endpoints) in services.balancing.items() if chain in endpoints), None)
        if leading is None:
            return None
        ending = leading[-len(ending):]
    comments = [jump[5] for jump in services.jumps if jump[5] and jump[4].endswith(ending)]
    comments += [title for name, title in services.titles.items() if name.endswith(ending)]
    names = sorted({comment.partition(" ")[0] for comment in comments})
    # A rule may lead to the chain of another Service: the name of the chain proves which one it is.
    proven = [name for name in names[:_NAMES_LIMIT] for protocol in PROTOCOLS
              if names[1:] and chain_hash(name, protocol) == ending]
    return next(iter(proven + names), None)
