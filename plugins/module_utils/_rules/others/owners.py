# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The owner of a chain, by its name, and the chains of each owner. PRIVATE to the collection.

Names: kubernetes pkg/proxy and pkg/kubelet, calico felix/rules, flannel, cilium pkg/datapath/iptables, weave,
amazon-vpc-cni-k8s, azure-container-networking npm/util, kube-router pkg/controllers, containernetworking plugins, moby,
firewalld, ufw. The first match counts: KUBE- belongs to kube-proxy only where no other owner's pattern matches.
"""

import collections
import functools
import re

from ..tables import BUILT_IN, readable

OTHER = "other"
_OWNERS = (
    ("kube_router", r"KUBE-ROUTER-|KUBE-POD-FW-|KUBE-NWPLCY-"),
    ("kubelet", r"KUBE-IPTABLES-HINT$|KUBE-KUBELET-CANARY$|KUBE-MARK-DROP$|KUBE-FIREWALL$|KUBE-HOSTPORTS$|KUBE-HP-"),
    ("kube_proxy", r"KUBE-"),
    ("calico", r"cali-"),
    ("flannel", r"FLANNEL-"),
    ("cilium", r"(OLD_)?CILIUM_"),
    ("weave", r"WEAVE(-|$)"),
    ("aws", r"AWS-(SNAT|CONNMARK)-CHAIN-"),
    ("azure_npm", r"AZURE-NPM"),
    ("portmap", r"CNI-(HOSTPORT-|DN-|SN-)"),
    ("cni", r"CNI-"),
    ("docker", r"DOCKER(-|_|$)"),
    ("ufw", r"ufw6?-"),
    ("firewalld",
     r"(IN|FWD|FWDI|FWDO|PRE|POST)_\w|(PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING)_(\w+_)?(direct|ZONES|POLICIES)"))
_PATTERNS = tuple((owner, re.compile(pattern)) for owner, pattern in _OWNERS)

# Nearly all chains of a big node, by their first nine characters.
OF_SERVICES = frozenset(("KUBE-SVC-", "KUBE-SVL-", "KUBE-SEP-", "KUBE-EXT-"))

KUBERNETES = ("kube_proxy", "kubelet")
# Owners that connect pods or filter their traffic.
CNI = ("aws", "azure_npm", "calico", "cilium", "cni", "flannel", "kube_router", "portmap", "weave")
# The owners in CNI whose chains refuse traffic of pods because of a network policy.
POLICIES = ("aws", "azure_npm", "calico", "cilium", "kube_router", "weave")


def owner_of(chain, table=None):
    """The name of the owner; `other` for built-in and unknown chains."""
    if chain[:9] in OF_SERVICES:
        return "kube_proxy"
    if chain == "KUBE-FIREWALL" and table == "nat":
        return "kube_proxy"  # In ipvs mode up to 1.24 (kubernetes pkg/proxy/ipvs); kubelet's is in filter.
    return _owner_by_name(chain)


@functools.lru_cache(maxsize=1024)
def _owner_by_name(chain):
    return next((owner for owner, pattern in _PATTERNS if pattern.match(chain)), OTHER)


def count_owners(rule_set):
    """Rules and chains of each owner in one rule set, sorted: `[{"owner", "family", "backend", "rules", "chains"}]`.

    A rule of a built-in chain counts for the owner of its target; built-in chains have no owner and do not count.
    """
    rules, chains = collections.Counter(), collections.Counter()
    for name, table in readable(rule_set):
        counts = table.rule_counts()
        of_services = [number for chain, number in counts.items() if chain[:9] in OF_SERVICES]
        rules.update({"kube_proxy": sum(of_services)} if of_services else {})
        chains.update({"kube_proxy": len(of_services)} if of_services else {})
        for chain, number in [(chain, number) for chain, number in counts.items() if chain[:9] not in OF_SERVICES]:
            if chain in BUILT_IN:
                rules.update(owner_of(rule.target or "", name) for rule in table.chains[chain].rules)
            else:
                owner = owner_of(chain, name)
                rules[owner] += number
                chains[owner] += 1
    return [{"owner": owner, "family": rule_set.family, "backend": rule_set.backend, "rules": rules[owner],
             "chains": chains[owner]} for owner in sorted(set(rules) | set(chains))]
