# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps and chains without which no packet reaches kube-proxy's rules. PRIVATE to the collection.

Two groups of questions: of one rule set (`ask_anchors`) and of all rule sets of a node (`ask_presence`, `ask_hint`),
because a family may be unused and kubelet may write to another backend than kube-proxy.

Nodes whose rules were flushed and only partly restored.

kube-proxy looks at its canary in mangle only. After `iptables -t nat -F` the next changed Service refills KUBE-SERVICES
and its own chains; the chains of all other Services stay empty and no jump is restored, while /healthz returns 200
(kubernetes pkg/util/iptables Monitor; partial syncs since 1.26).
"""

import collections

from ..observation import observe
from ..rules import states, takes_all
from ..setting import kubelet_since
from ..tables import chains_of, rules_in, rules_of, table_of
from .anchor_table import (
    ANCHORS, CANARY, CANARY_SINCE, CANARY_TABLES, HINT, HINT_SINCE, KUBELET, KUBELET_CANARY, comes_with, is_since,
    writes,
)
from .proxy import has_proxy

_NODE_PORTS, _SERVICES = "KUBE-NODEPORTS", "KUBE-SERVICES"


def ask_anchors(rule_set, setting):
    """anchor_missing, anchor_shadowed and canary_missing of one rule set; nothing where kube-proxy has no chain."""
    if not has_proxy(rule_set):
        return []
    expected = _expected(rule_set, setting)
    return (list(_unreferenced(rule_set, setting)) + list(_missing(rule_set, expected))
            + list(_node_ports(rule_set, setting)) + list(_shadowed(rule_set, expected))
            + list(_canaries(rule_set, setting)))


def ask_presence(rule_sets, setting_by):
    """chains_missing, once: kube-proxy runs, but no family and no backend has a single chain of it."""
    modes = [setting_by(rule_set).mode for rule_set in rule_sets]
    if not rule_sets or any(mode not in ANCHORS
                            for mode in modes) or any(has_proxy(rule_set) for rule_set in rule_sets):
        return []
    if any(rule_set.family is None or chains_of(rule_set, name) is None for rule_set in rule_sets
           for name in CANARY_TABLES):
        return []
    return [observe("chains_missing", rule_sets[0], "nat", "KUBE-SERVICES",
                    detail="kube-proxy runs in %s mode, but none of its chains exists in any family or backend"
                           % modes[0])]


def ask_hint(rule_sets, setting_by):
    """hint_missing of each family: no backend has the chain that shows kubelet's. IPv6 counts where it is used."""
    for family in sorted({rule_set.family for rule_set in rule_sets if rule_set.family}):
        mine = [rule_set for rule_set in rule_sets if rule_set.family == family]
        setting = setting_by(mine[0])
        mangles = [chains_of(rule_set, "mangle") for rule_set in mine]
        if setting.kubelet is not True or not kubelet_since(setting,
                                                            HINT_SINCE) or any(chains is None for chains in mangles):
            continue
        used = family == "ipv4" or any(has_proxy(rule_set)
                                       for rule_set in mine) or any(KUBELET_CANARY in chains for chains in mangles)
        if used and not any(HINT in chains for chains in mangles):
            beside = any(KUBELET_CANARY in chains for chains in mangles)
            yield observe("hint_missing", mine[0], "mangle", HINT, detail="kubelet creates it only at its start" + (
                "" if beside else "; its canary is missing too, so kubelet does not notice"))


def _expected(rule_set, setting):
    """The anchors this node must have: the anchors of its version. If the version is not known: the anchors that all
    versions have that the rest of its rules allows, and the anchors that came together with their chains."""
    found = []
    for anchor in ANCHORS.get(setting.mode, ()):
        table = table_of(rule_set, anchor.table)
        has = writes(rule_set, setting, anchor.since, anchor.until)
        if has or (has is None and table is not None and anchor.target in table.chains
                   and comes_with(setting.mode, anchor)):
            found.append(anchor)
    if setting.kubelet is True:
        table = table_of(rule_set, "filter")
        found += [anchor for anchor in KUBELET if table is not None and anchor.target in table.chains
                  and not any(other[:3] == anchor[:3] for other in found)]
    return found


def _unreferenced(rule_set, setting):
    """anchor_missing of a listing of single chains, which shows by the number of references that no rule jumps to
    KUBE-SERVICES of table nat; iptables mode and ipvs mode of all versions have jumps to it."""
    if ("nat", _SERVICES) not in rule_set.unreferenced or setting.mode not in (None, "iptables", "ipvs"):
        return
    table = table_of(rule_set, "nat")
    if table is not None and chains_of(rule_set, "nat") is None and table.rule_counts().get(_SERVICES):
        yield observe("anchor_missing", rule_set, "nat", "PREROUTING", "-A PREROUTING -j " + _SERVICES,
                      detail="%s: no rule of any chain jumps to it (0 references)" % _SERVICES)


def _missing(rule_set, expected):
    for anchor in expected:
        chains = chains_of(rule_set, anchor.table)
        if chains is not None and not any(_leads(rule, anchor) for rule in rules_in(chains, anchor.chain)):
            detail = ("no rule of %s jumps to it" % anchor.chain
                      if anchor.target in chains else "neither the jump nor the chain exists")
            yield observe("anchor_missing", rule_set, anchor.table, anchor.chain,
                          "-A %s -j %s" % (anchor.chain, anchor.target), detail="%s: %s" % (anchor.target, detail))


def _leads(rule, anchor):
    """True if the rule is the anchor. A jump may be limited to new connections, and to nothing more."""
    if rule.target != anchor.target:
        return False
    return not rule.has_match or (not rule.options
                                  and all(name in ("conntrack", "state") for name, _options in rule.matches)
                                  and "NEW" in states(rule))


def _node_ports(rule_set, setting):
    """The last rule of KUBE-SERVICES jumps to the NodePorts, unless no address serves them (nodePortAddresses)."""
    chains = chains_of(rule_set, "nat")
    if setting.mode != "iptables" or not chains or not rule_set.tables["nat"].rule_counts().get(_NODE_PORTS):
        return
    if not any(rule.target == _NODE_PORTS for rule in rules_in(chains, "KUBE-SERVICES")):
        yield observe("anchor_missing", rule_set, "nat", "KUBE-SERVICES", "-A KUBE-SERVICES -j %s" % _NODE_PORTS,
                      detail="%s: it has rules, but no rule of KUBE-SERVICES jumps to it" % _NODE_PORTS)


def _shadowed(rule_set, expected):
    """The first rule of a chain that no packet gets past, if anchors stand only behind it."""
    for place in sorted({(anchor.table, anchor.chain) for anchor in expected}):
        table = table_of(rule_set, place[0])
        rules = rules_of(table, place[1])
        end = next((index for index, rule in enumerate(rules) if takes_all(table, rule)), None)
        if end is None:
            continue
        mine = [anchor for anchor in expected if (anchor.table, anchor.chain) == place]
        hidden = sorted({anchor.target for anchor in mine if not any(_leads(rule, anchor) for rule in rules[:end])
                         and any(_leads(rule, anchor) for rule in rules[end:])})
        if hidden:
            yield observe("anchor_shadowed", rule_set, place[0], place[1], rules[end].text, len(hidden),
                          "no packet passes it, so none reaches %s%s" % (
                              ", ".join(hidden), "; nft list table may show a match that iptables-save does not"
                              if rule_set.backend == "nft" else ""))


def _canaries(rule_set, setting):
    tables = [chains_of(rule_set, name) for name in CANARY_TABLES]
    if setting.mode != "iptables" or not is_since(rule_set, setting, CANARY_SINCE):
        return
    for name, chains in zip(CANARY_TABLES, tables):
        if chains is not None and CANARY not in chains and not _lacks_chains(chains):
            yield observe("canary_missing", rule_set, name, CANARY,
                          detail="it was deleted; kube-proxy creates it in every table that it watches"
                          if name == "mangle" else "it was deleted; kube-proxy watches only the one in mangle")


def _lacks_chains(chains):
    """Whether rules jump to chains of Kubernetes that a listing does not have: no kernel takes such a rule, so the
    listing was shortened, and other chains that it lacks may be on the node."""
    return any(rule.target and rule.target.startswith("KUBE-") and rule.target not in chains
               for chain in chains.values() for rule in chain.rules)


_JUMPING = ("PREROUTING", "OUTPUT")
_MODE = "iptables"
# Jumps that no other program writes; kubelet also writes the jumps to KUBE-FIREWALL.
_JUMPS = frozenset((anchor.table, "-A %s -j %s" % (anchor.chain, anchor.target)) for anchor in ANCHORS[_MODE]
                   if anchor.target != "KUBE-FIREWALL")
_CHAINS = ("KUBE-FORWARD", "KUBE-MARK-MASQ", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-SERVICES")


def ask_repaired(rule_set, setting):
    """half_repaired: with the canary most service chains are empty, or some without a jump to KUBE-SERVICES."""
    mangle, nat = chains_of(rule_set, "mangle"), chains_of(rule_set, "nat")
    if setting.mode not in (None,
                            "iptables") or not mangle or CANARY not in mangle or not nat or "KUBE-SERVICES" not in nat:
        return []
    counts = rule_set.tables["nat"].rule_counts()
    empty = sorted(chain for chain in nat if not counts.get(chain) and chain.startswith(("KUBE-SVC-", "KUBE-SVL-")))
    if not empty:
        return []
    services = [chain for chain in nat if chain.startswith(("KUBE-SVC-", "KUBE-SVL-"))]
    jumps = [name for name in _JUMPING
             if name in nat and any(rule.target == "KUBE-SERVICES" for rule in nat[name].rules)]
    if jumps and 2 * len(empty) < max(len(services), 3):
        return []
    detail = "%d of %d service chains are empty, %s; the canary in mangle exists, so kube-proxy does not notice" % (
        len(empty), len(services), "no rule jumps to KUBE-SERVICES" if not jumps else "KUBE-SERVICES is reached")
    return [observe("half_repaired", rule_set, "nat", empty[0], "", len(empty), detail)]


# Lost rules that kube-proxy does not restore by itself.
# It checks its canary in mangle only, and rewrites everything where the canary is gone (kubernetes pkg/util/iptables
# Monitor). `iptables -t nat -F` leaves the canary: until kube-proxy is restarted nothing comes back, or only the part
# that the next change touches (seen with 1.30.5, 1.34.9 and 1.36.3).
def ask_unrepaired(observations, rule_sets, setting_by):
    """unrepaired of each rule set; `observations` are the problems found in them."""
    lost = collections.Counter((row["family"], row["backend"]) for row in observations if _is_lost(row))
    for rule_set in rule_sets:
        count = lost[rule_set.family, rule_set.backend]
        if count and setting_by(rule_set).mode == _MODE and CANARY in (chains_of(rule_set, "mangle") or ()):
            yield observe("unrepaired", rule_set, "mangle", CANARY, "", count,
                          "rules were deleted, but %s in mangle exists, so kube-proxy does not notice" % CANARY)


def _is_lost(row):
    """Whether an observation shows that rules of kube-proxy itself were deleted, rather than rules of one Service."""
    kind = row["kind"]
    return (kind == "half_repaired" or (kind == "anchor_missing" and (row["table"], row["text"]) in _JUMPS)
            or (kind == "emptied_chain" and row["chain"] in _CHAINS))
