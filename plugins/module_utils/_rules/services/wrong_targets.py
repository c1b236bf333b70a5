# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that jump to the chain or endpoint of another Service, or translate to it. PRIVATE to the collection.

How names are made: chain_hash.py. A name is the hash of exactly one text, so the Service of a chain is found by trying
the Services that the rules name.
"""

from ..observation import observe
from .chain_hash import HASH_LENGTH, PROTOCOLS, chain_hash, endpoint_text, port_of_hash
from .services import NODE_PORT, addressed_jumps

_KINDS = ("KUBE-SVC-", "KUBE-SVL-", "KUBE-EXT-", "KUBE-FW-", "KUBE-XLB-")
# Limits: endpoints that are compared with all Services, endpoints whose ports are all tried, Services known by name.
_LIMIT, _SEARCHES, _NAMES = 50, 5, 20000
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
                     None) if index < _LIMIT else None
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
