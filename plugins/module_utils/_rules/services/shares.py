# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoints that no rule of their Service leads to any more. PRIVATE to the collection.

Without the first of its n rules a Service balances fairly between n-1 endpoints: only the chain of the lost endpoint
shows the problem. The name of that chain proves its Service (chain_names.py), or the Service's chain for endpoints of
this node does, which still jumps to it.
"""

from ..observation import observe
from .chain_hash import chain_hash, endpoint_text
from .endpoints import balancing_of, endpoint_of

# At most so many chains are matched to their Services.
_LIMIT = 50
_DETAIL = "no rule of the Service jumps to its endpoint %s any more: the endpoint gets no connections, none is lost"


def ask_shares(rule_set, table, unreached, local):
    """For KUBE-SEP chains in `unreached`: wrong_probability of the Service, or orphan_chain where the Service is not
    known. For endpoints that only returning clients, or clients of the chains `local`, reach: wrong_probability."""
    found = list(_returning(rule_set, table)) + list(_only_local(rule_set, table, local))
    sound = [(name, endpoint_of(table, name)[0]) for name in unreached[:_LIMIT]]
    owners = _owners(table) if sound else {}
    for name, endpoint in sound:
        if endpoint is not None:
            service = next((service for service in owners
                            if name == "KUBE-SEP-" + chain_hash(service[0], service[1], endpoint_text(endpoint))), None)
            if service is None:
                found.append(observe("orphan_chain", rule_set, "nat", name,
                                     detail="no rule jumps to this chain of an endpoint"))
            elif owners[service]:
                found.append(_share(rule_set, owners[service], name, endpoint))
    return found


def _returning(rule_set, table):
    for chain, endpoints in sorted(table.services.affinity.items()):
        balanced = {endpoint for _chance, endpoint in balancing_of(table, chain)}
        for name in endpoints:
            endpoint = endpoint_of(table, name)[0]
            if name not in balanced and endpoint is not None:
                yield _share(rule_set, chain, name, endpoint)


def _only_local(rule_set, table, local):
    """First endpoints that a Service's rules for all clients have lost.

    A node's endpoints are among all endpoints, with two exceptions: where no endpoint is ready the terminating ones
    serve (then the two chains share none), and topology hints may leave out an endpoint at any place. Endpoints are
    sorted by their texts (kubernetes pkg/proxy/endpointslicecache.go), so an endpoint that sorts before all others had
    the first rule, whose loss does not show in the probabilities of the rest.
    """
    for chain in sorted(local):
        everybody = "KUBE-SVC-" + chain[9:]
        led = set([name
                   for _chance, name in balancing_of(table, everybody)] + table.services.affinity.get(everybody, []))
        mine = [name for _chance, name in balancing_of(table, chain)]
        lost = [name for name in mine if name not in led]
        if not lost or len(lost) == len(mine):
            continue
        first = min([endpoint_text(endpoint) for endpoint in [endpoint_of(table, name)[0] for name in led] if endpoint]
                    or [""])
        for name, endpoint in [(name, endpoint_of(table, name)[0]) for name in lost]:
            if endpoint is not None and endpoint_text(endpoint) < first:
                yield _share(rule_set, everybody, name, endpoint)


def _share(rule_set, chain, name, endpoint):
    return observe("wrong_probability", rule_set, "nat", chain, "-A %s -j %s" % (chain, name), 1,
                   _DETAIL % endpoint_text(endpoint))


def _owners(table):
    """{(namespace/name:port, protocol): the chain that balances, or None} of the Services in comments."""
    owners = {}
    for name, protocol in {((jump[5] or "").partition(" ")[0], jump[2]) for jump in table.services.jumps}:
        chains = [prefix + chain_hash(name, protocol) for prefix in ("KUBE-SVC-", "KUBE-SVL-", "KUBE-XLB-")]
        owners[name, protocol] = next((chain for chain in chains if chain in table.chains), None)
    return owners
