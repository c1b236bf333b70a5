# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of kube-proxy's chains, checked against the hashes in the names of the chains. PRIVATE to the collection.

kubernetes pkg/proxy/iptables/proxier.go, the same from 1.20 to 1.36: the name of a Service's chain ends in a hash of
"namespace/name:port" and protocol (portProtoHash()); the name of an endpoint's chain ends in a hash of these and
"address:port", with IPv6 in brackets (servicePortEndpointChainName()). Comments of the rules that send addresses to a
Service begin with its name. So one hash for each endpoint proves that the rule of an address, the chain of the Service
and the DNAT belong together. Chains that another program names in another form prove nothing.
"""

import collections
import itertools
import operator

from ..tables import chains_of
from .chain_hash import HASH_LENGTH, chain_hash, chain_hashes, endpoint_text
from .endpoints import balancing_of, endpoint_of
from .reached import SERVICE_CHAINS
from .services import other_jumps

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
        # Compiled only where a name does not match.
        from .wrong_targets import tell_endpoints, tell_jumps
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
