# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of others: jumps to chains of Services, missing masquerading, other plugins. PRIVATE to the collection.

The kernel deletes no chain that a rule leads to. Once the Service goes, kube-proxy wants to delete the chain,
iptables-restore refuses the whole input, and from then on every sync of that family fails (seen with 1.30 and 1.36; its
log names the chain, not the rule).
"""

import itertools
import re

from ..observation import observe
from ..services.reached import PER_SERVICE
from ..tables import BUILT_IN, chains_of, readable, rules_behind, rules_in, table_of
from .owners import owner_of

_DETAIL = "kube-proxy cannot delete %s when its Service is deleted; from then on each of its syncs of this family fails"
# The last pattern: one chain for each pod, where a CNI configuration has ipMasq.
_CHAIN = re.compile(r"(FLANNEL-POSTRTG|WEAVE|IP-MASQ-AGENT|KIND-MASQ-AGENT|CNI-[0-9a-f]{24})\Z")
# It stays, without a rule and without a jump to it, where AWS_VPC_K8S_CNI_EXTERNALSNAT is set.
_KEPT = "AWS-SNAT-CHAIN-0"
_TRANSLATIONS = ("MASQUERADE", "SNAT")
_PLUGINS = ("aws", "azure_npm", "calico", "cilium", "flannel", "kube_router", "weave")
_TOGETHER = frozenset(
    frozenset(pair) for pair in (
        ("calico", "flannel"), ("flannel", "kube_router"), ("aws", "calico"), ("aws", "cilium"), ("aws", "kube_router"),
        ("azure_npm", "calico"), ("azure_npm", "cilium"), ("azure_npm", "flannel")))
_CANAL = ("calico", "flannel")


def ask_foreign(rule_set, setting):
    """foreign_jump of one rule set: the first such rule of each chain, with their number."""
    table = table_of(rule_set, "nat")
    if table is None or setting.mode not in (None, "iptables"):
        return
    for chain in table.unfolded():
        if owner_of(chain, "nat") != "kube_proxy":
            rules = [rule for rule in table.chains[chain].rules if (rule.target or "").startswith(PER_SERVICE)]
            if rules:
                yield observe("foreign_jump", rule_set, "nat", chain, rules[0].text, len(rules),
                              _DETAIL % rules[0].target)


# Chains of network plugins that masquerade traffic that leaves the cluster.
# Only chains with no other purpose are listed: chains of Calico, Cilium and Antrea exist and are empty where pods keep
# their addresses. Sources: flannel-io/flannel pkg/trafficmngr/iptables, weaveworks/weave net,
# kubernetes-sigs/ip-masq-agent, kubernetes-sigs/kind images/kindnetd, containernetworking/plugins pkg/ip (SetupIPMasq),
# aws/amazon-vpc-cni-k8s pkg/networkutils.
def ask_masquerade(rule_set, _setting):
    """masquerade_missing of one rule set: one for chains that masquerade nothing, one for chains without a jump."""
    chains = chains_of(rule_set, "nat")
    if chains is None:
        yield from _unreferenced(rule_set)
        return
    names = sorted(name for name in chains or () if _CHAIN.match(name) or name == _KEPT)
    if not names:
        return
    reached = {rule.target for rule in rules_in(chains, "POSTROUTING")}
    empty = [name for name in names if not _translates(chains, name) and (name != _KEPT or name in reached)]
    lost = [name for name in names if name not in reached and name not in empty and name != _KEPT]
    for found, detail in ((empty, "none of its rules masquerades"), (lost, "no rule of POSTROUTING jumps to it")):
        if found:
            yield observe("masquerade_missing", rule_set, "nat", found[0], "", len(found), detail)


def _unreferenced(rule_set):
    """The same of a listing of single chains: iptables prints how many rules lead to each."""
    table = table_of(rule_set, "nat")
    lost = sorted(name for of, name in rule_set.unreferenced if table is not None and of == "nat" and _CHAIN.match(name)
                  and name in table.chains and _translates(table.chains, name))
    if lost:
        yield observe("masquerade_missing", rule_set, "nat", lost[0], "", len(lost),
                      "no rule of POSTROUTING jumps to it (0 references)")


def _translates(chains, name):
    """True if a rule of the chain, or of one it leads to, gives packets another source."""
    return any(rule.target in _TRANSLATIONS for rule in rules_behind(chains, name))


# Chains of two network plugins on one node.
# A plugin that was replaced leaves its chains, with jumps from the built-in ones and its refusals, until the node
# reboots. Some plugins work together: Canal is Calico with Flannel, k3s is Flannel with the policies of kube-router,
# and on AWS and Azure another plugin may add policies. Sources: projectcalico docs (Canal), k3s docs (networking),
# Cilium docs (CNI chaining), amazon-vpc-cni-k8s, azure-container-networking.
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
