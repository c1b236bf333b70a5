# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of kube-proxy that always hold rules and have lost all or some of them. PRIVATE to the collection.

The cause is `iptables -F` of one chain, or of a table whose Services a partial sync has restored since, or single rules
were deleted. Source: kubernetes pkg/proxy/iptables/proxier.go and pkg/proxy/ipvs/proxier.go; KUBE-FIREWALL is empty on
some nodes, see guards.py.

An IP family that lost all chains of kube-proxy, beside the other one that has them.

Whatever the families of the cluster, kube-proxy makes 12 or 13 chains in each family that iptables can write to (seen
with 1.21, 1.30 and 1.36; kubernetes cmd/kube-proxy/app/server_linux.go createProxier(), which both modes share). Up to
1.20 it creates them in the cluster's family only.

Chains that lack one of the rules that kube-proxy writes together.

After one rule is deleted all chains still exist and are jumped to; the other rules of the same Service, or those of all
other Services, show that it is missing. Source: kubernetes pkg/proxy/iptables/proxier.go writeServicePortChains from
1.24 on (KUBE-EXT), and pkg/proxy/ipvs/proxier.go writeIptablesRules.
"""

from ..backends import FAMILIES
from ..observation import observe
from ..rules import match_options, uses
from ..services.endpoints import balancing_of, refuses
from ..setting import proxy_since
from ..structure import LARGE_CLUSTER
from ..tables import chains_of, rules_in, table_of
from .anchor_table import is_before_1_20, masquerades_by_mark
from .proxy import PORTALS, SERVICE_CHAIN, has_proxy, proxy_chains

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


_SINCE = (1, 21)
# Chains of table filter that only versions which write to both families create.
_NEWER = ("KUBE-NODEPORTS", "KUBE-NODE-PORT", "KUBE-PROXY-FIREWALL")
_TABLES = ("mangle", "nat", "filter")
_TITLES = {"ipv4": "IPv4", "ipv6": "IPv6"}


def ask_families(rule_sets, setting_by):
    """anchor_missing, once for a family that was flushed."""
    held = {rule_set.family: rule_set for rule_set in rule_sets if has_proxy(rule_set)}
    for family, other in zip(FAMILIES, reversed(FAMILIES)):
        if family in held or other not in held or not _writes_both(held[other], setting_by(held[other])):
            continue
        mine = [rule_set for rule_set in rule_sets if rule_set.family == family]
        backends = [rule_set.backend for rule_set in rule_sets if rule_set.family == other and has_proxy(rule_set)]
        usable = [rule_set for rule_set in mine
                  if rule_set.backend in backends and _is_usable(rule_set, setting_by(rule_set))]
        if usable and all(chains_of(rule_set, name) is not None for rule_set in mine for name in _TABLES):
            yield observe("anchor_missing", usable[0], "nat", "KUBE-SERVICES",
                          detail="all %s chains of kube-proxy were deleted; its %d %s chains exist" % (
                              _TITLES[family], len(proxy_chains(held[other])), _TITLES[other]))


def _writes_both(rule_set, setting):
    if setting.mode not in ("iptables", "ipvs"):
        return False
    since, filters = proxy_since(setting, _SINCE), table_of(rule_set, "filter")
    return since or (since is None and filters is not None and any(chain in filters.chains for chain in _NEWER))


def _is_usable(rule_set, setting):
    """True where kube-proxy can write: table nat exists, or no table exists at all because nft deleted them. Without
    IPv6 in the kernel no IPv6 table exists either. A legacy table exists as long as its kernel module is loaded."""
    return "nat" in rule_set.tables or (rule_set.backend == "nft" and rule_set.source == "live" and not rule_set.tables
                                        and (rule_set.family == "ipv4" or setting.ipv6 is True))


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
    return list(_of_service_chains(rule_set, nat, filters)) if setting.mode == "iptables" else []


def _of_service_chains(rule_set, nat, filters):
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
