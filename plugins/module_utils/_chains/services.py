# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Services kube-proxy's iptables mode has programmed: what they are, what they mean, what is wrong. PRIVATE to the collection.

Source of the forms: kubernetes pkg/proxy/iptables/proxier.go 1.20 to 1.33.
"""

import collections
import functools
import hashlib

from .endpoints import balancing_of, endpoint_of, refuses
from .observation import observe
from .rules import plain_value, port_ranges, to_local
from .tables import chains_of

# One virtual address: address is "nodeport" for a port of every node, since node addresses differ from node to node. endpoints:
# {(address, port, protocol)} that are reached from this node. has_endpoints: the Service has any, be it on other nodes.
# cluster: every node must reach the same endpoints.
Service = collections.namedtuple("Service", ("family", "address", "port", "protocol", "name", "endpoints", "has_endpoints", "cluster"))

NODE_PORT = "nodeport"
SERVICE_CHAINS = ("KUBE-SVC-", "KUBE-SVL-")
_PER_SERVICE = SERVICE_CHAINS + ("KUBE-SEP-", "KUBE-EXT-", "KUBE-FW-", "KUBE-XLB-")
_REFUSING = ("KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-NODEPORTS")
# "namespace/name:port", two labels of 63 characters and a port name of 15 (Kubernetes API).
_NAME_LIMIT = 143
# The kernel keeps a probability as a 31 bit number.
_TOLERANCE = 1e-8


def list_services(rule_set):
    """[Service] of one rule set, each (address, port, protocol) once; None where table nat or filter is not known as a whole."""
    if chains_of(rule_set, "nat") is None or chains_of(rule_set, "filter") is None:
        return None
    rows, reached = {}, {}
    nat, family = rule_set.tables.get("nat"), rule_set.family
    sound = _sound_endpoints(nat) if nat else {}
    for address, protocol, port, target, comment in _jumps(nat) if nat else ():
        if target not in reached:
            reached[target] = _reached(nat, target, sound)
        key = (address, port, protocol)
        if key not in rows:
            endpoints, elsewhere, cluster = reached[target]
            rows[key] = Service(family, address, port, protocol, _name(comment), endpoints, bool(endpoints) or elsewhere, cluster)
    for address, protocol, port, target, comment in _refused(rule_set.tables.get("filter")):
        # DROP: it has endpoints, but none on this node.
        rows.setdefault((address, port, protocol), Service(
            rule_set.family, address, port, protocol, _name(comment), frozenset(), target == "DROP", False))
    return list(rows.values())


def digest(services):
    """What the Services mean, in a form to compare nodes by: C({"services", "endpoints": hex or None, "service_count", "endpoint_count"}).

    C(services): [Service] of both families, or None if they are not known.
    """
    if services is None:
        return {"services": None, "endpoints": None, "service_count": None, "endpoint_count": None}
    heads = ["%s %s %d %s " % service[:4] for service in services]
    meant = sorted(head + ("yes" if service.has_endpoints else "no") for head, service in zip(heads, services))
    behind = sorted([head + ("[%s]:%d" if ":" in address else "%s:%d") % (address, port)
                     for head, service in zip(heads, services) if service.cluster for address, port, _protocol in service.endpoints])
    return {"services": _sha256(meant), "endpoints": _sha256(behind), "service_count": len(meant), "endpoint_count": len(behind)}


def rules_per_service(rule_sets, services):
    """How many rules of table nat one address of a Service takes, with one decimal; None where there is no Service."""
    rules = 0
    for rule_set in rule_sets:
        nat = rule_set.tables.get("nat")
        if nat is not None:
            rules += sum([number for chain, number in nat.rule_counts().items() if chain.startswith(_PER_SERVICE)])
            rules += len(nat.services.jumps) + len(list(_other_jumps(nat)))
    return round(float(rules) / len(services), 1) if services else None


def ask_services(rule_set, setting):
    """empty_service_chain, wrong_probability and unsound_endpoint of one rule set; nothing of a nat that is not known as a whole."""
    if setting.mode not in (None, "iptables") or not chains_of(rule_set, "nat"):
        return []
    table, found = rule_set.tables["nat"], []
    folded = table.services.endpoints
    for name, chain in table.chains.items():
        if name in folded and not chain.rules:
            continue
        if name.startswith("KUBE-SEP-"):
            fault = endpoint_of(table, name)[1]
            if fault:
                found.append(observe("unsound_endpoint", rule_set, "nat", name, detail=fault))
        elif name.startswith(SERVICE_CHAINS) and chain.declared:
            balancing = balancing_of(table, name)
            fault = _unfair(balancing) if balancing else None
            if not balancing and not refuses(chain):
                found.append(observe("empty_service_chain", rule_set, "nat", name, detail="no rule of the chain leads to an endpoint"))
            elif fault:
                found.append(observe("wrong_probability", rule_set, "nat", name, detail=fault))
    return found


def _unfair(balancing):
    """What is wrong with the chances of n rules, each of which has to take 1/(n-i) of what comes to it; None if nothing is."""
    # A repeated last rule is a duplicate without effect, and told as such.
    chances = tuple([chance for chance, _endpoint in balancing])
    if chances.count(None) > 1:
        seen = set()
        chances = tuple([rule[0] for rule in balancing if rule[0] is not None or not (rule in seen or seen.add(rule))])
    return _fault_of(chances)


@functools.lru_cache(maxsize=1024)
def _fault_of(chances):
    # Services with as many endpoints have the same chances.
    for index, chance in enumerate(chances):
        left = len(chances) - index
        if left == 1 and chance is not None:
            return "the last of %d rules has probability %.11f, so some connections find no endpoint" % (len(chances), chance)
        if left > 1 and (chance is None or abs(chance - 1.0 / left) > _TOLERANCE):
            return "rule %d of %d should have probability %.11f and has %s" % (
                index + 1, len(chances), 1.0 / left, "none" if chance is None else "%.11f" % chance)
    return None


def _jumps(nat):
    """(address, protocol, port, target, comment) of all rules that send a virtual address to its service."""
    for _chain, address, protocol, port, target, comment in nat.services.jumps:
        yield address or NODE_PORT, protocol, port, target, comment
    yield from _other_jumps(nat)


def _other_jumps(nat):
    """The same of those that were not folded."""
    for chain in ("KUBE-SERVICES", "KUBE-NODEPORTS"):
        for rule in nat.chains[chain].rules if chain in nat.chains else ():
            if (rule.target or "").startswith(_PER_SERVICE):
                yield from _row(rule, chain == "KUBE-NODEPORTS")


def _refused(table):
    for chain in _REFUSING:
        for rule in table.chains[chain].rules if table and chain in table.chains else ():
            if rule.target in ("REJECT", "DROP"):
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


def _sound_endpoints(nat):
    """{KUBE-SEP chain: (address, port, protocol) or None}."""
    folded = nat.services.endpoints
    others = [name for name, chain in nat.chains.items() if name not in folded or chain.rules]
    return dict(folded, **dict((name, endpoint_of(nat, name)[0]) for name in others if name.startswith("KUBE-SEP-")))


def _reached(nat, target, sound):
    """({endpoint}, True if others are refused here, True if every node has the same) behind what a virtual address is sent to."""
    first = nat.chains.get(target)
    if first is not None and not first.rules and target.startswith("KUBE-SVC-"):
        # Nearly always: nothing but the balancing, straight behind the address.
        balancing = nat.services.balancing.get(target, ())
        return frozenset(filter(None, [sound.get(endpoint) for _chance, endpoint in balancing])), False, True
    found, waiting, seen = set(), [target], set()
    elsewhere, cluster = False, target.startswith("KUBE-SVC-")
    while waiting:
        name = waiting.pop()
        chain = nat.chains.get(name)
        if name in seen or chain is None:
            continue
        seen.add(name)
        if name.startswith(SERVICE_CHAINS):
            found.update(sound.get(endpoint) for _chance, endpoint in balancing_of(nat, name))
            elsewhere = elsewhere or refuses(chain)
            continue
        for rule in chain.rules:
            if (rule.target or "").startswith(_PER_SERVICE):
                cluster = cluster or _is_for_all(name, rule)
                waiting.append(rule.target)
                if rule.target.startswith("KUBE-SEP-"):
                    found.add(sound.get(rule.target))
    return frozenset(filter(None, found)), elsewhere, cluster


def _is_for_all(chain, rule):
    """True for the jump to all endpoints that all clients take; in KUBE-EXT those with a match are for pods and the node itself."""
    return rule.target.startswith("KUBE-SVC-") and (chain.startswith("KUBE-FW-") or (chain.startswith("KUBE-EXT-") and not rule.has_match))


def _name(comment):
    """The Service a comment of kube-proxy names: its first word."""
    return (comment or "").partition(" ")[0][:_NAME_LIMIT]


def _sha256(lines):
    return hashlib.sha256("".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace")).hexdigest()
