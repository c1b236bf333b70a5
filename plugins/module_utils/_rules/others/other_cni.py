# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of two network plugins on one node. PRIVATE to the collection.

A plugin that was replaced leaves its chains, with jumps from the built-in ones and its refusals, until the node
reboots. Some plugins work together: Canal is Calico with Flannel, k3s is Flannel with the policies of kube-router, and
on AWS and Azure another plugin may add policies. Sources: projectcalico docs (Canal), k3s docs (networking), Cilium
docs (CNI chaining), amazon-vpc-cni-k8s, azure-container-networking.
"""

import itertools

from ..observation import observe
from ..tables import BUILT_IN, readable
from .owners import owner_of

_PLUGINS = ("aws", "azure_npm", "calico", "cilium", "flannel", "kube_router", "weave")
_TOGETHER = frozenset(
    frozenset(pair) for pair in (
        ("calico", "flannel"), ("flannel", "kube_router"), ("aws", "calico"), ("aws", "cilium"), ("aws", "kube_router"),
        ("azure_npm", "calico"), ("azure_npm", "cilium"), ("azure_npm", "flannel")))
_CANAL = ("calico", "flannel")


def ask_other_cni(rule_sets):
    """other_cni: for each two plugins that do not work together, the plugin with fewer rules; of flannel and Calico the
    former, which Calico replaces by a migration of its own. Only the configuration of the network plugin distinguishes
    such a node from Canal, so the check asks for it where a detail names Canal."""
    held = {}
    for rule_set in rule_sets:
        for name, table in readable(rule_set):
            counts = table.rule_counts()
            for chain in sorted(chain for chain in table.chains if counts.get(chain) and chain not in BUILT_IN):
                owner = owner_of(chain, name)
                if owner in _PLUGINS:
                    held.setdefault(owner, []).append((rule_set, name, chain, counts[chain]))
    for pair in itertools.combinations(sorted(held), 2):
        if frozenset(pair) not in _TOGETHER or pair == _CANAL and _masquerades(held["calico"]):
            fewer, more = sorted(pair, key=lambda owner: (pair == _CANAL and owner == "calico",
                                                          sum(row[3] for row in held[owner]), owner))
            rule_set, table, chain, _count = held[fewer][0]
            # At the beginning, because the end of a detail may be cut.
            detail = "%sone of these network plugins is not in use any more: %s, %s" % (
                "unless this is Canal, " if pair == _CANAL else "", _sum(fewer, held), _sum(more, held))
            yield observe("other_cni", rule_set, table, chain, "", len(held[fewer]), detail)


def _masquerades(rows):
    """Whether Calico masquerades for its pools of addresses, as where it has the network of pods. In Canal flannel has
    that network, but calico-node makes a default pool there too, unless NO_DEFAULT_POOLS is set (projectcalico/calico
    node/pkg/lifecycle/startup configureIPPools(), manifests/canal.yaml)."""
    return any(chain == "cali-nat-outgoing" for _rule_set, _table, chain, _count in rows)


def _sum(owner, held):
    chains, rules = len(held[owner]), sum(row[3] for row in held[owner])
    return "%d chain%s of %s with %d rule%s" % (chains, "" if chains == 1 else "s", owner, rules,
                                                "" if rules == 1 else "s")
