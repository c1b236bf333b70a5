# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of kube-proxy that always hold rules and have lost all or some of them. PRIVATE to the collection.

The cause is `iptables -F` of one chain, or of a table whose Services a partial sync has restored since, or single rules
were deleted. Source: kubernetes pkg/proxy/iptables/proxier.go and pkg/proxy/ipvs/proxier.go; KUBE-FIREWALL is empty on
some nodes, see guards.py.
"""

from ..observation import observe
from ..rules import uses
from ..tables import chains_of
from .age import is_before_1_20, masquerades_by_mark
from .proxy import PORTALS, has_proxy

# (table, chain, target of its rules, minimum number of such rules, the problem if there are fewer).
_BOTH = (("nat", "KUBE-POSTROUTING", "MASQUERADE", 1, "none of its rules masquerades"),
         ("nat", "KUBE-POSTROUTING", "MARK", 1, "none of its rules clears the mark"),
         ("nat", "KUBE-MARK-MASQ", "MARK", 1, "none of its rules sets the mark"),
         ("filter", "KUBE-FORWARD", "ACCEPT", 2, "one of its rules that accept marked packets and replies is missing"))
_ALWAYS = {"iptables": _BOTH, "ipvs": _BOTH + (("nat", "KUBE-SERVICES", None, 1, ""),)}
# The chains that these two chains jump to.
_BEHIND = {"KUBE-SERVICES": ("KUBE-SVC-", "KUBE-SVL-"), "KUBE-NODEPORTS": ("KUBE-EXT-", "KUBE-XLB-")}
_GONE = "the chain exists, but it has lost all its rules"


def ask_emptied(rule_set, setting):
    """emptied_chain of one rule set: a chain that is declared and has lost its rules."""
    found, mode = [], setting.mode or _mode_of_empty(rule_set)
    if mode not in _ALWAYS or not has_proxy(rule_set):
        return found
    for name, chain, target, least, missing in _ALWAYS[mode]:
        chains = chains_of(rule_set, name)
        if not chains or chain not in chains or any(row["chain"] == chain for row in found):
            continue
        if not rule_set.tables[name].rule_counts().get(chain):
            found.append(observe("emptied_chain", rule_set, name, chain, detail=_GONE))
        elif (target and sum(1 for rule in chains[chain].rules if rule.target == target) < least
              and not _of_old(rule_set, setting, chains[chain].rules, target)):
            found.append(observe("emptied_chain", rule_set, name, chain, detail=missing))
    return found + (list(_of_services(rule_set, mode)) if chains_of(rule_set, "nat") else [])


def _mode_of_empty(rule_set):
    """iptables for a dump whose KUBE-SERVICES is empty: no mode that has this chain leaves it empty."""
    chains = chains_of(rule_set, "nat") or {} if rule_set.source != "live" else {}
    empty = "KUBE-SERVICES" in chains and not rule_set.tables["nat"].rule_counts().get("KUBE-SERVICES")
    return "iptables" if empty else None


def _of_old(rule_set, setting, rules, target):
    """True for a rule that versions before 1.20 do not write: up to 1.18 no rule clears the mark, and without a range
    of pods KUBE-FORWARD accepts only marked packets."""
    if target == "MARK":
        return any(masquerades_by_mark(rule) for rule in rules)
    return target == "ACCEPT" and any(rule.target == target and uses(rule, "mark")
                                      for rule in rules) and is_before_1_20(rule_set, setting)


def _of_services(rule_set, mode):
    table = rule_set.tables["nat"]
    counts = table.rule_counts()
    external = sorted(chain for chain in table.chains
                      if chain.startswith(("KUBE-EXT-", "KUBE-FW-")) and not counts.get(chain))
    if external:
        yield observe("emptied_chain", rule_set, "nat", external[0], "", len(external),
                      "the chains for external traffic to a Service are empty")
    for portal in PORTALS if mode == "iptables" else ():
        # KUBE-NODEPORTS is empty without a NodePort. KUBE-SERVICES of IPv6 may be empty with nodePortAddresses and
        # without a Service; of IPv4 it has at least default/kubernetes, but where all Services are of IPv6.
        if portal in table.chains and not counts.get(portal):
            targets = table.targets(endpoints=False)
            lost = [chain for chain in table.chains
                    if chain.startswith(_BEHIND[portal]) and counts.get(chain) and chain not in targets]
            if lost:
                yield observe("emptied_chain", rule_set, "nat", portal, "", 1,
                              "%s; %d chains of Services are reached only through it" % (_GONE, len(lost)))
            elif portal == "KUBE-SERVICES" and rule_set.family == "ipv4" and not any(
                    chain.startswith(_BEHIND[portal]) for chain in table.chains):
                yield observe("emptied_chain", rule_set, "nat", portal, "", 1,
                              "it is empty and no Service has a chain, although default/kubernetes always exists: "
                              "kube-proxy has finished no sync")
