# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of kube-proxy's service chains, from folded rules and other rules alike. PRIVATE to the collection.

Source: kubernetes pkg/proxy/iptables/proxier.go; a KUBE-SEP chain masquerades packets from the endpoint itself, then
translates.

The endpoints that a virtual address leads to.
"""

import re

from ..._parse.iptables.ruleset import BARE
from ..tables import rules_of

_DESTINATION = re.compile(r"(?:\[([0-9a-f:.]+)\]|([\d.]+)):([1-9]\d{0,4})\Z")
NO_ADDRESS = "its DNAT names no protocol or no address and port"
_TERMINAL = ("ACCEPT", "DROP", "REJECT", "RETURN")


def endpoint_of(table, name):
    """(the (address, port, protocol) that a KUBE-SEP chain translates to, or None if it translates to no address or not
    to the one it masquerades; the problem of the chain, or an empty text)."""
    masqueraded = None
    for kind, what in _steps(rules_of(table, name), table.services.endpoints.get(name)):
        if kind == "KUBE-MARK-MASQ":
            masqueraded = masqueraded or what
        elif kind == "end":
            return None, "a rule for all packets ends the chain before its DNAT"
        elif kind == "DNAT" and not what:
            return None, NO_ADDRESS
        elif kind == "DNAT":
            return (what, "") if what[0] == masqueraded else (
                None,
                "it masquerades %s, but translates to %s" % ((masqueraded or "no address")[:64], what[0]))
    return None, "no rule of the chain is a DNAT"


def _steps(rules, folded):
    """(KUBE-MARK-MASQ, source), (DNAT, endpoint or None) or (end, None) for each rule that matters, in their order."""
    before = [rule for rule in rules if not (folded and rule.folded_before)]
    for rule in before:
        yield _step(rule)
    if folded:
        yield "KUBE-MARK-MASQ", folded[0]
        yield "DNAT", folded
    for rule in rules[len(before):]:
        yield _step(rule)


def _step(rule):
    if rule.target == "KUBE-MARK-MASQ":
        source, negated = rule.options.get("-s", ("", False))
        return "KUBE-MARK-MASQ", "" if negated else re.sub(r"/(?:32|128)\Z", "", source)
    if rule.target == "DNAT":
        found = _DESTINATION.match(rule.value("--to-destination") or "")
        protocol, negated = rule.options.get("-p", ("", False))
        if not found or not protocol or negated:
            return "DNAT", None
        return "DNAT", (found.group(1) or found.group(2), int(found.group(3)), protocol)
    return ("end" if rule.target in _TERMINAL and not rule.has_match else "", None)


def balancing_of(table, name):
    """[(probability or None, KUBE-SEP chain)] of a KUBE-SVC or KUBE-SVL chain in order, without client affinity.

    A probability that is not a number counts as 0; a probability that was not printed (nft -j) becomes NaN, which
    equals no value.
    """
    services = table.services
    folded = list(zip(*services.balancing.get(name, ((), ()))))
    rules = [rule for rule in rules_of(table, name)
             if (rule.target or "").startswith("KUBE-SEP-") and rule.value("--rcheck") is None]
    if not rules:
        return folded
    # Folded rules of other sorts stand before all folded balancing.
    others = services.masquerading.get(name, 0) + len(services.affinity.get(name, ()))
    merged, taken = [], 0
    for rule in rules:
        reached = max(taken, rule.folded_before - others)
        merged += folded[taken:reached] + [(_probability(rule), rule.target)]
        taken = reached
    return merged + folded[taken:]


def refuses(chain):
    """True for a service chain that refuses packets, as up to 1.24 for a Local policy without endpoints here."""
    return any(rule.target in ("KUBE-MARK-DROP", "DROP") for rule in chain.rules)


def _probability(rule):
    options = [options for match, options in rule.matches if match == "statistic"]
    if not options:
        return None
    if not options[0]:
        return float("nan")
    try:
        return float(rule.value("--probability") or 0)
    except ValueError:
        return 0.0


SERVICE_CHAINS = ("KUBE-SVC-", "KUBE-SVL-")
PER_SERVICE = SERVICE_CHAINS + ("KUBE-SEP-", "KUBE-EXT-", "KUBE-FW-", "KUBE-XLB-")


class Reached:
    """The endpoints that the chains of a table nat lead to; each chain is traversed once."""

    def __init__(self, nat):
        self._nat, self._known = nat, {}
        services = nat.services
        # Chains with rules that were not folded, a few of 50,000 on a big node: a fast lookup.
        self._others = {name for name, chain in nat.chains.items() if chain is not BARE}
        self._sound, self._balancing = services.endpoints, services.balancing
        changed = {name: endpoint_of(nat, name)[0] for name in self._others if name.startswith("KUBE-SEP-")}
        if changed:
            self._sound = dict(services.endpoints, **changed)

    def by(self, target):
        """([(address, port, protocol)] behind a chain, each once; whether a chain refuses packets; whether every
        node has the same endpoints)."""
        if target not in self._others and target in self._balancing:
            # The usual case: the rule of the address jumps straight to a chain that only balances.
            return self._endpoints(self._balancing[target][1]), False, target.startswith("KUBE-SVC-")
        if target not in self._known:
            self._known[target] = self._through(target)
        return self._known[target]

    def _endpoints(self, names):
        return tuple(dict.fromkeys(filter(None, map(self._sound.get, names))))

    def _through(self, target):
        names, waiting, seen = [], [target], set()
        elsewhere, cluster = False, target.startswith("KUBE-SVC-")
        while waiting:
            name = waiting.pop()
            chain = self._nat.chains.get(name)
            if name in seen or chain is None:
                continue
            seen.add(name)
            if name.startswith(SERVICE_CHAINS):
                names += [endpoint for _chance, endpoint in balancing_of(self._nat, name)]
                elsewhere = elsewhere or refuses(chain)
                continue
            for rule in chain.rules:
                if (rule.target or "").startswith(PER_SERVICE):
                    cluster = cluster or _is_for_all(name, rule)
                    waiting.append(rule.target)
                    names += [rule.target] if rule.target.startswith("KUBE-SEP-") else []
        return self._endpoints(names), elsewhere, cluster


def _is_for_all(chain, rule):
    """True for the jump to all endpoints for all clients; in KUBE-EXT jumps with a match are for pods and the node."""
    return rule.target.startswith("KUBE-SVC-") and (chain.startswith("KUBE-FW-")
                                                    or (chain.startswith("KUBE-EXT-") and not rule.has_match))
