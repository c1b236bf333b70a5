# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services whose rules lead to endpoints that the API server does not have. PRIVATE to the collection.

A Service may have fewer endpoints in the rules than in the API (hints of topology, a traffic policy), so what the rules
lack counts only for default/kubernetes, which has neither.

Services that kube-proxy refuses because they have no endpoints.

It is what kube-proxy has to do (kubernetes pkg/proxy/iptables/proxier.go), and mostly no fault of the node.

Endpoints that no rule of their Service leads to any more.

Without the first of its n rules a Service balances fairly between n-1 endpoints: only the chain of the lost endpoint
shows the problem. The name of that chain proves its Service (chain_names.py), or the Service's chain for endpoints of
this node does, which still jumps to it.

Session affinity of Services that does not keep a client at its endpoint.

With sessionAffinity ClientIP the chain of each endpoint records the client (recent --set), and the chain of the Service
sends the client back to that endpoint (recent --rcheck) before it balances; kube-proxy writes both together (kubernetes
pkg/proxy/iptables/proxier.go writeServiceToEndpointRules()).
"""

import re

from ..observation import observe
from ..tables import chains_of, rules_of, table_of
from .chain_names import chain_hash, endpoint_text
from .endpoints import SERVICE_CHAINS, Reached, balancing_of, endpoint_of
from .services import addressed_jumps

_SHOWN, _OWN = 5, ("default", "kubernetes")


def ask_stale_endpoints(rule_set, setting):
    """unsound_endpoint of each endpoint that kubectl does not list."""
    nat, listed = table_of(rule_set, "nat"), setting.api_endpoints()
    if not listed or nat is None or setting.mode not in (None, "iptables"):
        return
    held = _held(nat)
    for (space, name), ends in sorted(listed.items(), key=str):
        keys = [key for key in held if key[1] == name and space in (None, key[0])]
        wanted = {end for end in ends if (":" in end[0]) == (rule_set.family == "ipv6")}
        if len(keys) != 1 or not wanted:
            continue
        own = held[keys[0]]
        for end in sorted(set(own) - wanted)[:_SHOWN]:
            yield observe("unsound_endpoint", rule_set, "nat", own[end], "", 1,
                          "it leads to %s, which kubectl does not list as an endpoint of %s/%s: kube-proxy has not "
                          "taken over a change" % ((endpoint_text(end),) + keys[0]))
        lost = sorted(wanted - set(own)) if own and keys[0] == _OWN and not set(own) - wanted else []
        if lost:
            yield observe("unsound_endpoint", rule_set, "nat", own[min(own)], "", 1,
                          "kubectl lists %s as an endpoint of %s/%s too, and no rule leads there: kube-proxy has not "
                          "taken over a change" % ((endpoint_text(lost[0]),) + keys[0]))


def _held(nat):
    """{(namespace, name): {(address, port): its chain}} of all Services that rules name."""
    chains, found, reached = {}, {}, Reached(nat)
    for chain in nat.chains:
        if chain.startswith("KUBE-SEP-"):
            end = endpoint_of(nat, chain)[0]
            if end:
                chains.setdefault(end[:2], chain)
                comments = {rule.comment for rule in nat.chains[chain].rules if rule.comment}
                for comment in comments:
                    _add(found, comment, [end], chains)
    for _chain, _address, _protocol, _port, target, comment in addressed_jumps(nat):
        _add(found, comment, reached.by(target)[0], chains)
    return found


def _add(found, comment, ends, chains):
    space, slash, name = (comment or "").partition(" ")[0].partition("/")
    if slash and ends:
        own = found.setdefault((space, name.partition(":")[0]), {})
        own.update((end[:2], chains[end[:2]]) for end in ends if end[:2] in chains)


_CHAINS = ("KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-NODEPORTS")
_REFUSED = re.compile(r'--comment "?([\w./:-]{1,200}) has no (local )?endpoints')
_MOST = 5


def ask_without_endpoints(rule_set, _setting):
    """without_endpoints of a dump: the names of the first Services, and how many there are. A person who copies rules
    asks about a Service; of a live node, which may have hundreds of idle ones, it would be noise."""
    table = table_of(rule_set, "filter") if rule_set.source != "live" else None
    names = dict.fromkeys(found.group(1) for chain in _CHAINS for rule in rules_of(table, chain)
                          for found in [_REFUSED.search(rule.text)] if found and not found.group(2))
    if names:
        yield observe("without_endpoints", rule_set, "filter", "KUBE-SERVICES", "", len(names),
                      ", ".join(sorted(names)[:_MOST]) + (" and %d more" % (len(names) - _MOST)
                                                          if len(names) > _MOST else ""))


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


def ask_affinity(rule_set, setting):
    """emptied_chain of Services whose endpoints that record clients are not the ones that clients are sent back to."""
    if setting.mode not in (None, "iptables") or not chains_of(rule_set, "nat"):
        return
    table = rule_set.tables["nat"]
    others = [(name, table.chains[name].rules) for name in table.unfolded()
              if name.startswith(("KUBE-SEP-",) + SERVICE_CHAINS)]
    noting = table.services.noting.union(name for name, rules in others
                                         if any(rule.value("--set") is not None for rule in rules))
    led = {name: set(endpoints) for name, endpoints in table.services.affinity.items()}
    for name, rules in others:
        led.setdefault(name, set()).update(rule.target for rule in rules if rule.value("--rcheck") is not None)
    if not noting and not any(led.values()):
        return
    for name in sorted(set(table.services.balancing).union(name for name, _rules in others
                                                           if name.startswith(SERVICE_CHAINS))):
        endpoints = noting.intersection(endpoint for _chance, endpoint in balancing_of(table, name))
        lost = endpoints - led.get(name, set())
        if lost:
            yield observe("emptied_chain", rule_set, "nat", name, "", 1,
                          "sessionAffinity: no rule sends returning clients to %d of its %d endpoints" % (
                              len(lost), len(endpoints)))
        # An endpoint without a DNAT is reported as unsound_endpoint.
        forgetful = [endpoint for endpoint in led.get(name, set()) - noting if endpoint_of(table, endpoint)[0]]
        if forgetful:
            detail = "sessionAffinity: %d of the %d endpoints of returning clients do not record clients" % (
                len(forgetful), len(led[name]))
            yield observe("emptied_chain", rule_set, "nat", name, detail=detail)
