# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Services of kube-proxy's iptables mode: their list, their digest and their problems. PRIVATE to the collection.

Source of the forms: kubernetes pkg/proxy/iptables/proxier.go 1.20 to 1.33.

The networks of the addresses of Services and of their endpoints, in a few rows.
"""

import collections
import functools
import hashlib
import ipaddress
import itertools
import math

from ..._parse.iptables.ruleset import BARE
from ..observation import observe
from ..rules import REFUSALS, plain_value, port_ranges, to_local
from ..tables import chains_of, rules_of, table_of
from .endpoints import NO_ADDRESS, PER_SERVICE, SERVICE_CHAINS, Reached, balancing_of, endpoint_of, refuses

# One virtual address: address is "nodeport" for a port of every node, since node addresses differ from node to node.
# endpoints: each (address, port, protocol) that is reached from this node, once. has_endpoints: the Service has
# endpoints, here or on other nodes. cluster: every node must reach the same endpoints.
Service = collections.namedtuple("Service", ("family", "address", "port", "protocol", "name", "endpoints",
                                             "has_endpoints", "cluster"))

NODE_PORT = "nodeport"
_REFUSING = ("KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-NODEPORTS")
_BALANCING = SERVICE_CHAINS + ("KUBE-XLB-",)
# "namespace/name:port", two labels of 63 characters and a port name of 15 (Kubernetes API).
_NAME_LIMIT = 143
# The kernel keeps a probability as a 31 bit number.
_TOLERANCE = 1e-8
# Digits of a probability that kube-proxy up to 1.16 writes; the later ones write ten.
_OLD_DIGITS = 5


def list_services(rule_set):
    """[Service] of one rule set, each (address, port, protocol) once; None without all of table nat and filter."""
    if chains_of(rule_set, "nat") is None or chains_of(rule_set, "filter") is None:
        return None
    return _listed(rule_set)


def _listed(rule_set):
    # {(protocol, port): {address: Service}}: so most keys need no object of their own.
    rows = collections.defaultdict(dict)
    nat, family = rule_set.tables.get("nat"), rule_set.family
    reached = Reached(nat) if nat else None
    for _chain, address, protocol, port, target, comment in addressed_jumps(nat) if nat else ():
        address, alike = address or NODE_PORT, rows[protocol, port]
        if address not in alike:
            endpoints, elsewhere, cluster = reached.by(target)
            alike[address] = Service(family, address, port, protocol, _name(comment), endpoints,
                                     bool(endpoints) or elsewhere, cluster)
    for address, protocol, port, target, comment in _refused(rule_set.tables.get("filter")):
        # DROP: it has endpoints, but none on this node.
        rows[protocol, port].setdefault(address, Service(family, address, port, protocol, _name(comment), (),
                                                         target == "DROP", False))
    return [service for alike in rows.values() for service in alike.values()]


def routed_services(rule_set):
    """The same of a dump without table filter, which shows no Service without endpoints: for packets alone."""
    if table_of(rule_set, "filter") is not None or rule_set.source == "live":
        return list_services(rule_set)
    return None if chains_of(rule_set, "nat") is None else _listed(rule_set)


def digest(services):
    """The Services in a form in which nodes can be compared: `{"services", "endpoints": hex or None, "service_count",
    "endpoint_count"}`.

    `services`: [Service] of both families, each once, or None if they are not known.
    """
    if services is None:
        return {"services": None, "endpoints": None, "service_count": None, "endpoint_count": None}
    meant, behind, count = hashlib.sha256(), hashlib.sha256(), 0
    heads = ["%s %s %d %s " % service[:4] for service in services]
    # No head is the start of another head, so lines with sorted heads and sorted endpoints are sorted as a whole.
    for index in sorted(range(len(heads)), key=heads.__getitem__):
        head, service = heads[index], services[index]
        meant.update(_line(head + ("yes" if service.has_endpoints else "no")))
        texts = sorted([("[%s]:%d" if ":" in address else "%s:%d") % (address, port)
                        for address, port, _protocol in service.endpoints]) if service.cluster else []
        if texts:
            behind.update(_line(head + ("\n" + head).join(texts)))
            count += len(texts)
    return {"services": meant.hexdigest(), "endpoints": behind.hexdigest(), "service_count": len(services),
            "endpoint_count": count}


def _line(text):
    return (text + "\n").encode("utf-8", "backslashreplace")


def rules_per_service(rule_sets, services):
    """How many rules of table nat one address of a Service takes, with one decimal; None where there is no Service."""
    rules = 0
    for rule_set in rule_sets:
        nat = rule_set.tables.get("nat")
        if nat is not None:
            rules += sum([number for chain, number in nat.rule_counts().items() if chain.startswith(PER_SERVICE)])
            rules += nat.services.in_services + nat.services.in_nodeports + sum(1 for _jump in other_jumps(nat))
    return round(float(rules) / len(services), 1) if services else None


def ask_services(rule_set, setting):
    """empty_service_chain, wrong_probability and unsound_endpoint of one rule set. Where table nat is not known as a
    whole, only a DNAT without an address or a port, which no lost rule mends. A chain that no rule jumps to is left
    over, whatever is wrong inside: structure.py reports it."""
    table, found = table_of(rule_set, "nat"), []
    if setting.mode not in (None, "iptables") or table is None:
        return found
    if chains_of(rule_set, "nat") is None:
        return [observe("unsound_endpoint", rule_set, "nat", name, detail=NO_ADDRESS) for name in _doubtful(table)
                if name.startswith("KUBE-SEP-") and endpoint_of(table, name)[1] == NO_ADDRESS]
    # On a healthy big node none of its doubtful chains is one of these.
    doubtful = [name for name in _doubtful(table) if name.startswith(SERVICE_CHAINS + ("KUBE-SEP-",))]
    reached = _reached(table) if doubtful else ()
    for name in [name for name in doubtful if name in reached]:
        if name.startswith("KUBE-SEP-"):
            fault = endpoint_of(table, name)[1]
            if fault:
                found.append(observe("unsound_endpoint", rule_set, "nat", name, detail=fault))
        elif name.startswith(SERVICE_CHAINS) and table.chains[name].declared:
            balancing = balancing_of(table, name)
            fault = _unfair(balancing) if balancing else None
            if not balancing and not refuses(table.chains[name]):
                found.append(observe("empty_service_chain", rule_set, "nat", name,
                                     detail="no rule of the chain jumps to an endpoint"))
            elif fault:
                found.append(observe("wrong_probability", rule_set, "nat", name, detail=fault))
    return found


def _reached(table):
    """The chains that a rule jumps to; of the chains of endpoints those of Services that are reached."""
    direct = table.targets(endpoints=False)
    return direct.union(endpoint for name in direct if name.startswith(_BALANCING)
                        for _chance, endpoint in balancing_of(table, name))


def _doubtful(table):
    """The chains that are more than the folded rules of a sound endpoint or a fair balancing: 20 of 40,000."""
    endpoints, balancing = table.services.endpoints, table.services.balancing
    unfair = {chances for chances in {chances for chances, _endpoints in balancing.values()} if _fault_of(chances)}
    if unfair:
        balancing = {name for name, (chances, _endpoints) in balancing.items() if chances not in unfair}
    return [name for name, chain in table.chains.items() if chain is not BARE
            or not (name in endpoints or name in balancing)]


def _unfair(balancing):
    """The problem of the probabilities of n rules, or None. Rule i (from 0) has to take 1/(n-i) of what reaches it."""
    # A repeated last rule has no effect and is reported as a duplicate.
    chances = tuple([chance for chance, _endpoint in balancing])
    if chances.count(None) > 1:
        seen = set()
        chances = tuple([rule[0] for rule in balancing if rule[0] is not None or not (rule in seen or seen.add(rule))])
    return _fault_of(chances)


@functools.lru_cache(maxsize=1024)
def _fault_of(chances):
    # Services with the same number of endpoints have the same probabilities.
    for index, chance in enumerate(chances):
        left = len(chances) - index
        if left == 1 and chance is not None:
            return "the last of %d rules has probability %.11f, so %s" % (len(chances), chance, _effect(chances))
        if left > 1 and (chance is None or not _is_share(chance, left)):
            return "rule %d of %d should have probability %.11f and has %s: %s" % (
                index + 1, len(chances), 1.0 / left, "none" if chance is None else "%.11f" % chance, _effect(chances))
    return None


def _is_share(chance, left):
    """Whether a probability is 1/left, with all digits or with those of old releases."""
    return abs(chance - 1.0 / left) <= _TOLERANCE or abs(chance - round(1.0 / left, _OLD_DIGITS)) <= _TOLERANCE


def _effect(chances):
    """The share of connections that none of the rules takes, or the largest share that one of them takes."""
    left, largest = 1.0, 0.0
    for chance in chances:
        largest = max(largest, left if chance is None else left * chance)
        left *= 0.0 if chance is None else max(0.0, 1.0 - chance)
    if math.isnan(left):
        return "some connections find no endpoint"
    if left > _TOLERANCE:
        return "%.0f %% of connections find no endpoint" % (100 * left)
    return "one endpoint gets %.0f %% of connections" % (100 * largest)


def addressed_jumps(nat):
    """(chain, address or None, protocol, port, target, comment) of all rules that send an address to its Service."""
    return itertools.chain(nat.services.jumps, other_jumps(nat))


def other_jumps(nat):
    """The same of the rules that were not folded."""
    for chain in ("KUBE-SERVICES", "KUBE-NODEPORTS"):
        for rule in rules_of(nat, chain):
            if (rule.target or "").startswith(PER_SERVICE):
                for row in _row(rule, chain == "KUBE-NODEPORTS"):
                    yield (chain,) + row


def refused_in(rules):
    """{(address, protocol, port)} of these rules that refuse packets to a single address and port."""
    return {row[:3] for rule in rules if rule.target in REFUSALS for row in _row(rule, to_local(rule))}


def _refused(table):
    for chain in _REFUSING:
        for rule in rules_of(table, chain):
            if rule.target in REFUSALS:
                yield from _row(rule, to_local(rule))


def _row(rule, node_port):
    """[(address, protocol, port, target, comment)] of a rule, empty if it is for no single address and port."""
    address = NODE_PORT if node_port else _address(plain_value(rule, "-d"))
    protocol, ports = plain_value(rule, "-p"), port_ranges(rule)
    if not address or not protocol or not ports or len(ports) != 1 or ports[0][0] != ports[0][1]:
        return []
    return [(address, protocol, ports[0][0], rule.target, rule.comment)]


def _address(network):
    address, _slash, length = (network or "").partition("/")
    return address if length == ("128" if ":" in address else "32") else None


def _name(comment):
    """The Service that a comment of kube-proxy names: the first word of the comment."""
    return (comment or "").partition(" ")[0][:_NAME_LIMIT]


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
