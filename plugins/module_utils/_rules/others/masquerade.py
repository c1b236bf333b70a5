# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of network plugins that masquerade traffic that leaves the cluster. PRIVATE to the collection.

Only chains with no other purpose are listed: chains of Calico, Cilium and Antrea exist and are empty where pods keep
their addresses. Sources: flannel-io/flannel pkg/trafficmngr/iptables, weaveworks/weave net,
kubernetes-sigs/ip-masq-agent, kubernetes-sigs/kind images/kindnetd, containernetworking/plugins pkg/ip (SetupIPMasq),
aws/amazon-vpc-cni-k8s pkg/networkutils.
"""

import re

from ..observation import observe
from ..tables import chains_of

# The last pattern: one chain for each pod, where a CNI configuration has ipMasq.
_CHAIN = re.compile(r"(FLANNEL-POSTRTG|WEAVE|IP-MASQ-AGENT|KIND-MASQ-AGENT|CNI-[0-9a-f]{24})\Z")
# It stays, without a rule and without a jump to it, where AWS_VPC_K8S_CNI_EXTERNALSNAT is set.
_KEPT = "AWS-SNAT-CHAIN-0"
_TRANSLATIONS = ("MASQUERADE", "SNAT")


def ask_masquerade(rule_set, _setting):
    """masquerade_missing of one rule set: once for the chains that masquerade nothing, once for the chains that no rule
    jumps to."""
    chains = chains_of(rule_set, "nat")
    names = sorted(name for name in chains or () if _CHAIN.match(name) or name == _KEPT)
    if not names:
        return
    reached = {rule.target for rule in chains["POSTROUTING"].rules} if "POSTROUTING" in chains else ()
    empty = [name for name in names if not _translates(chains, name) and (name != _KEPT or name in reached)]
    lost = [name for name in names if name not in reached and name not in empty and name != _KEPT]
    for found, detail in ((empty, "none of its rules masquerades"), (lost, "no rule of POSTROUTING jumps to it")):
        if found:
            yield observe("masquerade_missing", rule_set, "nat", found[0], "", len(found), detail)


def _translates(chains, name):
    """True if a rule of the chain, or of one it leads to, gives packets another source."""
    seen, waiting = {name}, [name]
    while waiting:
        for rule in chains[waiting.pop()].rules:
            if rule.target in _TRANSLATIONS:
                return True
            if rule.target in chains and rule.target not in seen:
                seen.add(rule.target)
                waiting.append(rule.target)
    return False
