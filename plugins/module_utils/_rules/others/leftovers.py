# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of another proxy mode, or in the backend that is not in use. PRIVATE to the collection."""

import re

from ..kube_proxy.anchor_table import HINT, KUBELET_CANARY
from ..kube_proxy.proxy import SERVICE_CHAIN, SHARED, has_proxy
from ..observation import observe
from ..rules import REFUSALS
from ..setting import proxy_since, since
from ..tables import chains_of, readable, rules_of
from .owners import CNI, OF_SERVICES, owner_of

# Chains of one mode only (kubernetes pkg/proxy/iptables, pkg/proxy/ipvs, 1.20 to 1.30): (table or None, pattern).
_ONLY = {
    "ipvs": (("nat", re.compile("KUBE-(NODE-PORT|LOAD-BALANCER|FIREWALL)$")),
             ("filter", re.compile("KUBE-(NODE-PORT|SOURCE-RANGES-FIREWALL|IPVS-FILTER|IPVS-OUT-FILTER)$"))),
    "iptables": ((None, re.compile("KUBE-(NODEPORTS|PROXY-CANARY)$")),
                 ("filter", re.compile("KUBE-(SERVICES|EXTERNAL-SERVICES)$")), ("nat", SERVICE_CHAIN))}

# A dump may hold any number of chains that refuse packets.
_SHOWN = 3
_UNDECIDED = ("kube-proxy has rules in nft and in legacy; neither its own iptables nor kubelet's hint shows which of "
              "them it uses")


def ask_other_mode(rule_set, setting):
    """other_mode of one rule set, or idle_leftover, which is harmless: one for each table and mode, with the number of
    chains; nothing where the mode is not known."""
    found = []
    if setting.mode not in ("iptables", "ipvs", "nftables"):
        return found
    for name, table in readable(rule_set):
        foreign = {}
        for chain in sorted(chain for chain in table.chains if setting.mode != "iptables"
                            or chain[:9] not in OF_SERVICES):
            whose = _mode_of(name, chain, setting)
            if whose:
                foreign.setdefault(whose, []).append(chain)
        found += [observe("other_mode", rule_set, name, chains[0], "", len(chains),
                          "chains of %s, but kube-proxy runs in %s mode%s" % (
                              whose, setting.mode, _refusals(table, chains)))
                  for whose, chains in sorted(foreign.items())]
    return found + list(_old(rule_set, setting))


def _refusals(table, chains):
    """What left-over rules do that refuse packets to Services, which the mode that runs may have endpoints for."""
    counts = [(sum(rule.target in REFUSALS for rule in table.chains[chain].rules), chain) for chain in chains]
    refusing = [row for row in counts if row[0]]
    return "".join("; %d rules of %s refuse packets to Services" % row if row[0] != 1 else
                   "; a rule of %s refuses packets to a Service" % row[1] for row in refusing[:_SHOWN]) + (
                       "; and %d more chains do" % len(refusing[_SHOWN:]) if refusing[_SHOWN:] else "")


def _mode_of(table, chain, setting):
    """The mode that a chain belongs to, if kube-proxy does not run in that mode."""
    mode = next((mode for mode, rows in sorted(_ONLY.items()) if mode != setting.mode and any(
        where in (None, table) and pattern.match(chain) for where, pattern in rows)), None)
    if mode:
        return "%s mode" % mode
    # kubelet up to 1.27 makes the two of SHARED as well.
    if setting.mode == "nftables" and owner_of(chain, table) == "kube_proxy" and (chain not in SHARED
                                                                                  or since(setting, (1, 28))):
        return "another mode"
    return None


def _old(rule_set, setting):
    """Chains of older versions, and chains that remain after a change to nftables mode."""
    if setting.mode == "nftables" and setting.kubelet is not True and not _has_kubelet(rule_set):
        # kubelet makes this chain too, so it may belong there.
        if "KUBE-FIREWALL" in (chains_of(rule_set, "filter") or ()) and chains_of(rule_set, "mangle") is not None:
            yield observe("idle_leftover", rule_set, "filter", "KUBE-FIREWALL", "", 1,
                          "remains after a change from iptables mode to another; harmless")
    for name, table in readable(rule_set):
        if setting.mode == "iptables" and name == "nat" and proxy_since(setting, (1, 24)):
            chains = sorted([chain for chain in table.chains if chain.startswith("KUBE-XLB-")])
            if chains:
                yield observe("other_mode", rule_set, name, chains[0], "", len(chains),
                              "chains of kube-proxy before 1.24")
        if setting.mode == "iptables" and name == "filter" and proxy_since(setting, (1, 20)):
            for rule in rules_of(table, "INPUT"):
                if rule.target == "KUBE-SERVICES":
                    yield observe("other_mode", rule_set, name, "INPUT", rule.text, 1,
                                  "a jump of kube-proxy before 1.20")


def ask_backends(rule_sets, used=None):
    """other_backend: Kubernetes or CNI chains with rules in a backend that kube-proxy does not use, or kubelet's.

    `used`: the backend of the iptables that kube-proxy runs, None where that is not known.
    """
    found = []
    for family in sorted({rule_set.family or "" for rule_set in rule_sets}):
        mine = [rule_set for rule_set in rule_sets
                if (rule_set.family or "") == family and rule_set.backend in ("nft", "legacy")]
        if len({rule_set.backend for rule_set in mine}) == 2:
            found += _of_family(mine, used)
    return found


def _of_family(rule_sets, used):
    holding = [backend for backend in ("nft", "legacy")
               if any(rule_set.backend == backend and holds_rules(rule_set) for rule_set in rule_sets)]
    if not holding:
        return
    live = _live(rule_sets, holding, used)
    if live is None:
        name, chain = _held(rule_sets[0], ("kube_proxy",))[0]
        row = observe("other_backend", rule_sets[0], name, chain, "",
                      sum(len(_held(rule_set, ("kube_proxy",))) for rule_set in rule_sets), _UNDECIDED)
        yield dict(row, backend="nft and legacy")
        return
    for rule_set in rule_sets:
        if rule_set.backend == live:
            continue
        for owners, what in ((("kube_proxy",), "kube-proxy"), (CNI, "the pod network")):
            held = _held(rule_set, owners)
            if held:
                name, chain = held[0]
                yield observe("other_backend", rule_set, name, chain, "", len(held),
                              "chains of %s with rules, while kube-proxy has rules in %s%s" % (
                                  what, live, ", too" if len(holding) > 1 else ""))
        if _has_kubelet(rule_set) and not any(_has_kubelet(other) for other in rule_sets if other.backend == live):
            yield observe("other_backend", rule_set, "mangle", HINT, "", 1,
                          "kubelet writes here, while kube-proxy's rules are in %s" % live)


def _live(rule_sets, holding, used):
    """kube-proxy's backend. With rules in both: the backend of the iptables that it runs, or the backend with kubelet's
    hint, which decides at kube-proxy's start (kubernetes-sigs/iptables-wrappers). None where neither is known, or the
    hint is in both."""
    if len(holding) == 1:
        return holding[0]
    hinted = [backend for backend in holding
              if any(rule_set.backend == backend and _has_kubelet(rule_set) for rule_set in rule_sets)]
    return used or (hinted[0] if len(hinted) == 1 else None)


def holds_rules(rule_set):
    """True if kube-proxy has rules there, not only chains."""
    return has_proxy(rule_set) and any(number and owner_of(chain, name) == "kube_proxy"
                                       for name, table in readable(rule_set)
                                       for chain, number in table.rule_counts().items())


def in_both(rule_sets):
    """True if kube-proxy has rules of one family in both backends."""
    held = [(rule_set.family, rule_set.backend) for rule_set in rule_sets
            if rule_set.backend in ("nft", "legacy") and holds_rules(rule_set)]
    return len(set(held)) > len({family for family, _backend in held})


def in_use(rule_set, rule_sets, used=None):
    """False for a rule set without rules of kube-proxy, if the other backend has some, or with leftover ones."""
    others = [other for other in rule_sets
              if other.family == rule_set.family and other.backend != rule_set.backend and holds_rules(other)]
    if not others or not holds_rules(rule_set):
        return not others
    live = _live([rule_set] + others, [other.backend for other in [rule_set] + others], used)
    return live is None or live == rule_set.backend


def _held(rule_set, owners):
    """The chains of these owners that have rules: `[(table, chain)]`."""
    found = []
    for name, table in readable(rule_set):
        counts = table.rule_counts()
        found += sorted((name, chain) for chain in table.chains
                        if counts.get(chain) and owner_of(chain, name) in owners)
    return found


def _has_kubelet(rule_set):
    return any(name == "mangle" and (HINT in table.chains or KUBELET_CANARY in table.chains)
               for name, table in readable(rule_set))
