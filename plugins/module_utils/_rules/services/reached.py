# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoints that a virtual address leads to. PRIVATE to the collection."""

from ..._parse.iptables.ruleset import BARE
from .endpoints import balancing_of, endpoint_of, refuses

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
        """([(address, port, protocol)] behind a chain; whether a chain refuses packets; whether all nodes have it)."""
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
