# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of kube-proxy that always hold rules and here hold none. PRIVATE to the collection.

iptables -F of one chain, or of a table whose Services a partial sync has brought back since. Source: kubernetes
pkg/proxy/iptables/proxier.go and pkg/proxy/ipvs/proxier.go; KUBE-FIREWALL may be empty, it is not among them.
"""

from .observation import observe
from .proxy import has_proxy
from .tables import chains_of

_ALWAYS = {
    "iptables": (("nat", "KUBE-POSTROUTING"), ("nat", "KUBE-MARK-MASQ"), ("filter", "KUBE-FORWARD")),
    "ipvs": (("nat", "KUBE-POSTROUTING"), ("nat", "KUBE-MARK-MASQ"), ("nat", "KUBE-SERVICES"), ("filter", "KUBE-FORWARD")),
}


def ask_emptied(rule_set, setting):
    """emptied_chain of one rule set: a chain that is declared and has lost all its rules."""
    found = []
    if setting.mode not in _ALWAYS or not has_proxy(rule_set):
        return found
    for name, chain in _ALWAYS[setting.mode]:
        chains = chains_of(rule_set, name)
        if chains and chain in chains and not rule_set.tables[name].rule_counts()[chain]:
            found.append(observe("emptied_chain", rule_set, name, chain, detail="the chain is there and all its rules are gone"))
    nat = chains_of(rule_set, "nat")
    external = sorted(chain for chain in nat or () if chain.startswith("KUBE-EXT-") and not rule_set.tables["nat"].rule_counts()[chain])
    if external:
        found.append(observe("emptied_chain", rule_set, "nat", external[0], "", len(external), "the ways of external traffic to a Service are empty"))
    return found
