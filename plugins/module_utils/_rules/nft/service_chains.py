# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems in the chains of Services in nftables mode. PRIVATE to the collection.

Names (kubernetes pkg/proxy/nftables/proxier.go 1.29 to 1.36): KIND-HASH-NAMESPACE/NAME/PROTOCOL/PORT; the chain of an
endpoint has __ADDRESS/PORT after that, with dots in IPv6 addresses. A name that is too long ends in three dots. From
1.36 on only Services with session affinity have chains of endpoints.

The Services of kube-proxy's nftables mode, in the same form as those of iptables mode.

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
_ENDPOINT_ADDRESS = re.compile(r"\[?([^\]]+)\]?:(\d+)\Z")
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
        found.update((pair.group(1), int(pair.group(2)), protocol)
                     for pair in map(_ENDPOINT_ADDRESS.match, chain.endpoints)
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


_NAME = re.compile(r"^(service|local|external|firewall|endpoint)-[A-Z2-7]{8}-(.+)$")
_ENDPOINT = re.compile(r"^(.+)__([0-9a-f.]+)/(\d+)\Z")
_TRANSLATED = re.compile(r"\[?([^\]]+)\]?:(\d+)\Z")
# The maps that Services need: (map, prefixes of the chains that it leads to, the addresses that need it).
_MAPS = (("service-nodeports", ("external-",), "NodePort"),
         ("service-ips", ("service-", "local-", "external-"), "ClusterIP"))
# nft keeps 128 bytes of an element's comment at most (libnftnl NFTNL_UDATA_COMMENT_MAXLEN): only so many characters of
# names are compared.
_COMMENT_LIMIT = 120
# kube-proxy creates this chain only for a Service that has such an address.
_NOT_EXTERNAL = ("no element of service-nodeports or service-ips jumps to this chain: NodePort, load balancer and "
                 "external IPs of %s do not work")


def judge_service_chains(table):
    """A generator of (kind, chain, text, detail, count); `table` is a listing.Table whose rules are all known."""
    referred = {target for chain in table.chains.values() for target in chain.targets}
    referred |= {element.target for holder in table.sets.values() for element in holder.elements}
    emptied = {_service(name) for name, chain in table.chains.items()
               if not chain.rules and name.startswith(("service-", "local-"))}
    orphans = [name for name in sorted(table.chains)
               if "/" in name and name not in referred and table.chains[name].rules]
    for name, kinds, dead in _MAPS:
        lost = [orphan for orphan in orphans if orphan.startswith(kinds)]
        if lost and name in table.sets and table.sets[name].complete and not table.sets[name].elements:
            yield ("anchor_missing", "", "map %s" % name,
                   "the map %s is empty, so no %s works; %s" % (
                       name, dead, "1 chain of a Service is"
                       if len(lost) == 1 else "%d chains of Services are" % len(lost)) + " not reached", 1)
            orphans = [orphan for orphan in orphans if orphan not in lost]
    unguarded = [orphan for orphan in orphans if orphan.startswith("firewall-")]
    if unguarded:
        more = " and %d more" % (len(unguarded) - 1) if unguarded[1:] else ""
        detail = "loadBalancerSourceRanges of %s%s are not enforced: no element of firewall-ips jumps to this chain" % (
            _named(unguarded[0]), more)
        yield "emptied_chain", unguarded[0], "map firewall-ips", detail, len(unguarded)
        orphans = [orphan for orphan in orphans if not orphan.startswith("firewall-")]
    dead = _without_cluster_ip(table)
    for name in dead:
        yield ("anchor_missing", name, "",
               "no element of service-ips jumps to this chain: the ClusterIP of %s does not work" % _named(name), 1)
    for name in orphans:
        if name.startswith("external-"):
            yield "anchor_missing", name, "", _NOT_EXTERNAL % _named(name), 1
        elif name not in dead and (not name.startswith("endpoint-") or _service(name) not in emptied):
            yield "orphan_chain", name, "", "no map and no rule jumps to this chain of a Service" + _address_of(name), 1
    for name, chain in sorted(table.chains.items()):
        # The rules of a chain that was added while the table was listed are not known.
        if "/" in name and name in referred and chain.rules is not None:
            for kind, detail in _judge(table, name, chain):
                yield kind, name, "", detail, 1


def _judge(table, name, chain):
    """(kind, detail) of a chain that is reached."""
    loopback = [address for address in sorted(set(chain.endpoints)) if address.startswith(("127.", "[::1]"))]
    if loopback:
        yield "unsound_endpoint", "translates to %s, an address that no endpoint has" % ", ".join(loopback)
    if name.startswith("endpoint-"):
        endpoints = set(chain.endpoints)
        if len(endpoints) != 1:
            yield "unsound_endpoint", "the chain of an endpoint, but it translates to %d addresses%s%s" % (
                len(endpoints), ": " + ", ".join(sorted(endpoints)) if endpoints else "", _address_of(name))
        elif not loopback and not _is_its_own(name, chain.endpoints[0]):
            yield ("unsound_endpoint",
                   "translates to %s, not to the address in its name%s" % (chain.endpoints[0], _address_of(name)))
        return
    if name.startswith("firewall-"):
        # In a chain with a Service's name only rules that end a packet have a text, which may be cut before its
        # verdict. Where firewall-check lost its rule, that loss opens every Service.
        asking = table.chains.get("firewall-check")
        if not chain.texts and asking is not None and asking.rules:
            yield ("emptied_chain",
                   "loadBalancerSourceRanges of %s are not enforced: no rule of this chain drops" % _named(name))
        return
    if not chain.rules:
        yield "empty_service_chain", "a Service jumps to this chain, but it has no rule"
    elif name.startswith(("service-", "local-")) and not chain.endpoints and not any(target.startswith("endpoint-")
                                                                                     for target in chain.targets):
        yield "empty_service_chain", "a Service jumps to this chain, but none of its rules jumps to an endpoint"
    elif name.startswith("external-") and not any(target.startswith(("service-", "local-"))
                                                  for target in chain.targets):
        yield ("empty_service_chain",
               "external traffic of %s reaches this chain, but none of its rules jumps to an endpoint" % _named(name))
    elif name.startswith("external-") and chain.rules == 1 and (chain.otherwise or "").startswith("service-"):
        yield ("emptied_chain", "external traffic of %s is not marked for masquerading: replies of endpoints on other "
                                "nodes bypass this node" % _named(name))
    forgotten, noting = _forgotten(table, name, chain)
    if forgotten:
        yield "emptied_chain", "sessionAffinity of %s: no rule sends clients back to %d of its %d endpoints" % (
            _named(name), forgotten, noting)
    for target in sorted(set(chain.targets)):
        if target in table.chains and _belongs_to_another(name, target):
            yield "unsound_endpoint", "jumps to %s, a chain of another Service%s" % (target, _address_of(target))
    if chain.share is not None and chain.share[0] != chain.share[1]:
        yield "wrong_probability", _share_text(*chain.share)


def _forgotten(table, name, chain):
    """(number of endpoints that clients are not sent back to, of those with a set of clients) of a Service's chain.

    The chain of an endpoint adds the client to a set, and the chain of the Service looks the client up in that set
    before it balances; kube-proxy writes both together. Names of sets and chains may be cut at different places, so the
    name of one does not identify the other.
    """
    expected = set(chain.affinity)
    endpoints = [target for target in set(chain.targets) if target.startswith("endpoint-")]
    if not expected and not any(table.chains[target].affinity for target in endpoints if target in table.chains):
        return 0, 0
    endpoints = [target for target in endpoints if not _belongs_to_another(name, target)]
    noted = set().union(*[table.chains[target].affinity for target in endpoints if target in table.chains])
    # Other problems of an endpoint's chain are reported for that chain.
    unwritten = expected - noted if all(_is_sound(table, target) for target in endpoints) else ()
    return len(noted - expected) + len(unwritten), len(noted | expected)


def _is_sound(table, endpoint):
    """Whether the chain of an endpoint exists and translates to the address in its name."""
    found = set(table.chains[endpoint].endpoints) if endpoint in table.chains else ()
    return len(found) == 1 and all(_is_its_own(endpoint, address) for address in found)


def _share_text(modulus, elements):
    if elements < modulus:
        return "the map has %d of %d elements: %d %% of the connections find no endpoint" % (
            elements, modulus, round(100.0 * (modulus - elements) / modulus))
    return "the map has %d elements and is used for %d: %d endpoints get no connection" % (elements, modulus,
                                                                                           elements - modulus)


def _service(name):
    """NAMESPACE/NAME/PROTOCOL/PORT of a chain's name, None where the name was cut or has another form."""
    found = _NAME.match(name)
    base = found.group(2) if found else ""
    if found and found.group(1) == "endpoint":
        endpoint = _ENDPOINT.match(base)
        base = endpoint.group(1) if endpoint else ""
    return base if base and not base.endswith("...") else None


def _without_cluster_ip(table):
    """[chain] of Services with endpoints whose ClusterIP neither leads to the endpoints nor is refused. A ClusterIP is
    refused where the policy of its Service finds no endpoint here.

    Only the name in the comment of a refusal identifies its Service, and only the set of ClusterIPs, new in 1.30, shows
    which of its addresses is refused. An empty map is reported as a whole.
    """
    served, refused = (table.sets.get(name) for name in ("service-ips", "no-endpoint-services"))
    if served is None or refused is None or not (served.elements and served.complete and refused.complete):
        return []
    direct = {element.target for element in served.elements
              if (element.target or "").startswith(("service-", "local-"))}
    others = [name for name in sorted(table.chains)
              if name.startswith(("service-", "local-")) and table.chains[name].rules and name not in direct]
    kept = set(map(_service, direct)) if others else ()
    addresses = {element.key[0]
                 for element in table.sets["cluster-ips"].elements} if "cluster-ips" in table.sets else ()
    names = {(element.comment or "")[:_COMMENT_LIMIT] for element in refused.elements if not addresses
             or element.key[0] in addresses}
    chains = {}
    for name in others if "" not in names else ():
        service = _service(name)
        if service is not None and service not in kept and _named(name)[:_COMMENT_LIMIT] not in names:
            chains[service] = name
    return sorted(chains.values())


def _named(name):
    """The name of a chain's Service in a finding."""
    return name_of(name) or name


def _belongs_to_another(name, target):
    mine, other = _service(name), _service(target)
    return mine is not None and other is not None and mine != other


def _is_its_own(name, endpoint):
    named, translated = _ENDPOINT.match(name), _TRANSLATED.match(endpoint)
    return not named or not translated or named.groups()[1:] == (translated.group(1).replace(":", "."),
                                                                 translated.group(2))


def _address_of(name):
    """The endpoint in a chain's name; the report may cut the name itself."""
    named = _ENDPOINT.match(name)
    return " (%s port %s)" % named.groups()[1:] if named else ""
