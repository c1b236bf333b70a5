# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Session affinity of Services that does not keep a client at its endpoint. PRIVATE to the collection.

With sessionAffinity ClientIP the chain of each endpoint records the client (recent --set), and the chain of the Service
sends the client back to that endpoint (recent --rcheck) before it balances; kube-proxy writes both together (kubernetes
pkg/proxy/iptables/proxier.go writeServiceToEndpointRules()).
"""

from ..observation import observe
from ..tables import chains_of
from .endpoints import balancing_of, endpoint_of
from .reached import SERVICE_CHAINS


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
