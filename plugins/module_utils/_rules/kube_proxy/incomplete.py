# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that lack one of the rules that kube-proxy writes together. PRIVATE to the collection.

After one rule is deleted all chains still exist and are jumped to; the other rules of the same Service, or those of all
other Services, show that it is missing. Source: kubernetes pkg/proxy/iptables/proxier.go writeServicePortChains from
1.24 on (KUBE-EXT), and pkg/proxy/ipvs/proxier.go writeIptablesRules.
"""

from ..observation import observe
from ..rules import match_options, uses
from ..services.endpoints import balancing_of, refuses
from ..structure import LARGE_CLUSTER
from ..tables import chains_of, rules_in
from .proxy import SERVICE_CHAIN, has_proxy

_MARKING = "KUBE-MARK-MASQ"
_OF_SERVICE = frozenset(("KUBE-SVC-", "KUBE-SVL-"))
_ENTRIES = _OF_SERVICE | frozenset(("KUBE-EXT-", "KUBE-XLB-"))
# The addresses that are not reached where one of these chains has rules and no rule jumps to it.
_UNREACHED = {"SVC": "the ClusterIP of the Service is", "SVL": "the ClusterIP of the Service is",
              "EXT": "NodePort and external addresses of the Service are",
              "FW": "load balancer addresses of the Service are"}


def ask_incomplete(rule_set, setting):
    """emptied_chain and anchor_missing of one rule set, for chains that still hold rules."""
    nat, filters = chains_of(rule_set, "nat"), chains_of(rule_set, "filter")
    if not nat or filters is None or not has_proxy(rule_set):
        return []
    if setting.mode == "ipvs":
        return list(_of_sets(rule_set, nat, filters))
    return list(_of_services(rule_set, nat, filters)) if setting.mode == "iptables" else []


def _of_services(rule_set, nat, filters):
    table = rule_set.tables["nat"]
    direct = {jump[4] for jump in table.services.jumps if jump[0] == "KUBE-SERVICES"}.union(
        rule.target for rule in rules_in(nat, "KUBE-SERVICES"))
    external = sorted(chain for chain in {jump[4] for jump in table.services.jumps}
                      if chain[:9] == "KUBE-EXT-" and rules_in(nat, chain))
    for chain in external:
        why = _lack(nat[chain].rules)
        if why:
            yield observe("emptied_chain", rule_set, "nat", chain, detail=why)
    yield from _unreached(rule_set, table, filters, direct)
    counts = table.rule_counts()
    chains = [chain for chain in direct if chain and chain[:9] in _OF_SERVICE and counts.get(chain)]
    bare = [chain for chain in chains if chain not in table.services.masquerading
            and not any(rule.target == _MARKING for rule in nat[chain].rules)]
    # No chain has the rule without a local traffic detection (detectLocalMode); where most do, the others lost it.
    if bare and 2 * len(bare) < len(chains):
        yield observe("emptied_chain", rule_set, "nat", min(bare), "", len(bare),
                      "its rule to %s is missing; the chains of all other Services have one" % _MARKING)


def _unreached(rule_set, table, filters, direct):
    """anchor_missing of each Service whose ClusterIP no rule leads to while external traffic reaches it, or that no
    rule leads to at all.

    A deleted Service leaves no chain with rules, except for a while in a large cluster.
    """
    entries = {jump[4] for jump in table.services.jumps if jump[0] == "KUBE-NODEPORTS" or jump[4][:9] == "KUBE-EXT-"}
    lost = sorted(chain for chain in entries if chain[:9] in _ENTRIES and chain in table.chains
                  and not any(prefix + chain[9:] in direct for prefix in _OF_SERVICE))
    if lost:
        # Their ClusterIPs are refused: they have no endpoints, or none on this node.
        refused = {(rule.comment or "").partition(" ")[0] for rule in rules_in(filters, "KUBE-SERVICES")}
        # The name of a Service is in the comment of the first rule that leads to its chain.
        names = {jump[4]: (jump[5] or "").partition(" ")[0] for jump in reversed(table.services.jumps)}
        for chain in [chain for chain in lost if names.get(chain, "") not in refused]:
            yield observe("anchor_missing", rule_set, "nat", chain,
                          detail="external traffic of the Service is forwarded, traffic to its ClusterIP is not")
    if len(table.services.endpoints) > LARGE_CLUSTER:
        return
    counts, targets = table.rule_counts(), table.targets(endpoints=False)
    for chain in sorted(chain for chain, count in counts.items()
                        if count and chain not in targets and SERVICE_CHAIN.match(chain)):
        where = _UNREACHED.get(chain.split("-")[1])
        # Where the chain of all endpoints exists, the chain of the local endpoints is for external traffic only.
        # What leads to no endpoint either is left over, and not a Service that lost its rule.
        sound = chain[:9] not in _OF_SERVICE or balancing_of(table, chain) or refuses(table.chains[chain])
        if where and sound and not (chain[:9] == "KUBE-SVL-" and "KUBE-SVC-" + chain[9:] in counts):
            yield observe("anchor_missing", rule_set, "nat", chain,
                          detail="no rule jumps to it: %s not reached" % where)


def _lack(rules):
    """The rule that a KUBE-EXT chain lacks, or None. It masquerades all traffic and sends it to the Service; with a
    Local policy it does so only for packets of the node itself."""
    marks = [rule for rule in rules if rule.target == _MARKING]
    last = [rule for rule in rules if (rule.target or "")[:9] in _OF_SERVICE and not rule.has_match]
    if any(rule.target[:9] == "KUBE-SVC-" for rule in last):
        return None if any(not rule.has_match for rule in marks) else "its rule to %s is missing" % _MARKING
    if not last:
        return "its rule to the Service is missing" if any(not rule.has_match for rule in marks) else None
    own = [rule.target for rule in rules
           if any(option == "--src-type" for option, _values, _negated in match_options(rule, "addrtype"))]
    missing = _MARKING if _MARKING not in own else "all endpoints" if not any(target[:9] == "KUBE-SVC-"
                                                                              for target in own if target) else None
    return "its rule to %s for packets of the node itself is missing" % missing if missing else None


def _of_sets(rule_set, nat, filters):
    """For ipvs mode: the last rule of each of these chains always exists, whatever rules with sets precede it."""
    for table, chains, chain, target, why in (
            ("nat", nat, "KUBE-SERVICES", "KUBE-NODE-PORT", "none of its rules jumps to KUBE-NODE-PORT"),
            ("nat", nat, "KUBE-LOAD-BALANCER", _MARKING, "its rule to %s is missing" % _MARKING),
            ("nat", nat, "KUBE-POSTROUTING", "MASQUERADE", "none of its rules masquerades marked packets"),
            ("filter", filters, "KUBE-SOURCE-RANGES-FIREWALL", "DROP", "none of its rules refuses a client")):
        rules = rules_in(chains, chain)
        if rules and not any(rule.target == target and not uses(rule, "set") for rule in rules):
            yield observe("emptied_chain", rule_set, table, chain, detail=why)
    rules = rules_in(filters, "KUBE-IPVS-FILTER")
    if any(rule.target == "REJECT" for rule in rules) and not any(
            rule.target == "RETURN" and _of_cluster_ips(rule) for rule in rules):
        yield observe("emptied_chain", rule_set, "filter", "KUBE-IPVS-FILTER",
                      detail="ClusterIPs are refused: the rule that lets them pass is missing")


def _of_cluster_ips(rule):
    return any(value.endswith("CLUSTER-IP") for _option, values, _negated in match_options(rule, "set")
               for value in values)
