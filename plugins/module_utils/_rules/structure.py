# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps to chains that do not exist, and chains that no rule jumps to. PRIVATE to the collection.

Chains that lead back to themselves.

No kernel accepts such rules (ip_tables.c mark_source_chains, nf_tables_api.c nft_chain_validate): only a dump that was
edited or mixed from several holds them.

Signs of a rule set that iptables-nft-save printed while it changed.

iptables-nft-save is not atomic. While another program writes, it now and then reports incompatible base chains in a
table that has none, prints rules twice or leaves some out (observed with 1.8.9; iptables nft-cache.c starts over where
the generation changes). A damaged node shows the same signs, but shows them again at the next reading.
"""

import re

from .kube_proxy.proxy import SERVICE_CHAIN
from .observation import observe
from .others.owners import KUBERNETES, owner_of
from .rules import EXTENSIONS
from .setting import since
from .tables import BUILT_IN, chains_of, declares_all, readable, rules_of

# With more endpoints than this, kube-proxy clears stale chains now and then (kubernetes pkg/proxy/iptables
# largeClusterEndpointsThreshold).
LARGE_CLUSTER = 1000

# Chains that are reported as orphan_chain here. Other chains of Kubernetes may have no jump, or anchors.py checks their
# jumps. leftovers.py reports KUBE-XLB, and shares.py reports KUBE-SEP as a problem of its Service.
_SPOKEN_OF = re.compile(r"KUBE-(SVC|SVL|EXT|FW)-")

# Chains for the endpoints of this node only; KUBE-XLB up to 1.23.
_LOCAL = frozenset(("KUBE-SVL-", "KUBE-XLB-"))


def ask_structure(rule_set, setting):
    """dangling_jump and orphan_chain of one rule set, unless a lost line may have been the chain, or the jump to it."""
    for name, table in readable(rule_set):
        if declares_all(rule_set, name):
            yield from _dangling(rule_set, name, table)
        if chains_of(rule_set, name) is not None:
            yield from _orphans(rule_set, name, table, setting)


def _dangling(rule_set, name, table):
    # The set may hold many thousands of names: it is reduced in place, not copied.
    folded = table.dangling()
    folded -= EXTENSIONS
    reported = set()
    for chain in table.unfolded():
        for rule in table.chains[chain].rules:
            target = rule.target
            if target is None or target in table.chains or target in EXTENSIONS:
                continue
            if target in folded:
                reported.add(target)
            # A target with arguments is an extension that this list does not know; a jump has none.
            if not rule.has_arguments:
                yield observe("dangling_jump", rule_set, name, chain, rule.text, 1,
                              "the table has no chain %s" % target[:64])
    # All rules that jump to the remaining targets are folded service rules.
    folded -= reported
    counts = table.references(folded) if folded else {}
    for target in sorted(folded):
        yield observe("dangling_jump", rule_set, name, target, "", counts[target],
                      "rules of Services jump to this chain, which does not exist")


def _unsettled(rule_set, table, targets):
    """unsettled_chain: in a large cluster the chain of a deleted Service keeps its rules for as long as kube-proxy's
    syncPeriod. The chain of a Service that lost its rule in KUBE-SERVICES looks the same."""
    waiting = [chain for chain in table.chains if chain[:9] == "KUBE-SVC-" and chain not in targets]
    if waiting:
        yield observe("unsettled_chain", rule_set, "nat", min(waiting), "", len(waiting),
                      "no rule jumps to %d chain%s of Services: the Services were deleted within syncPeriod of "
                      "kube-proxy, or rules were lost" % (
                          len(waiting), "" if len(waiting) == 1 else "s"))


def _orphans(rule_set, name, table, setting):
    unreached = []
    large = len(table.services.endpoints) > LARGE_CLUSTER or sum(1 for chain in table.chains
                                                                 if chain.startswith("KUBE-SEP-")) > LARGE_CLUSTER
    targets = table.targets(endpoints=not large)
    if large and name == "nat" and setting.mode in (None, "iptables"):
        yield from _unsettled(rule_set, table, targets)
    # At most this one of the 50,000 chains of a large cluster is reported.
    chains = ["KUBE-MARK-DROP"] if large else table.chains
    for chain in sorted([chain for chain in chains if chain in table.chains and chain not in targets]):
        if chain in BUILT_IN or owner_of(chain, name) not in KUBERNETES:
            continue
        if SERVICE_CHAIN.match(chain):
            if name == "nat" and not large and _SPOKEN_OF.match(chain):
                yield observe("orphan_chain", rule_set, name, chain,
                              detail="no rule jumps to this chain of a Service")
            elif name == "nat" and not large and chain.startswith("KUBE-SEP-"):
                unreached.append(chain)
        elif chain == "KUBE-MARK-DROP" and since(setting, (1, 28)):
            yield observe("orphan_chain", rule_set, name, chain, detail="only kubelet up to 1.27 creates it")
    if name != "nat" or setting.mode not in (None, "iptables"):
        return
    local = [chain for chain in targets if chain[:9] in _LOCAL]
    if unreached or local or table.services.affinity:
        # Compiled only when it is needed.
        from .services.stale_endpoints import ask_shares
        yield from ask_shares(rule_set, table, unreached, local)


# A Service rule of kube-proxy jumps only from one of these to a later one.
_LEVELS = ("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-FW-", "KUBE-EXT-", "KUBE-XLB-", "KUBE-SV", "KUBE-SEP-",
           "KUBE-MARK-MASQ")


def ask_loops(rule_set, setting):
    """chain_loop of one rule set: one for each set of chains that lead to one another; `count`: their number."""
    found = []
    for name, table in readable(rule_set):
        edges = _edges(table)
        for chains in _circles(edges):
            through = sorted(target for target in edges[min(chains)] if target in chains)
            found.append(observe("chain_loop", rule_set, name, min(chains), "", len(chains),
                                 "jumps back to itself through %s" % through[0][:64]))
    return found


def _circles(edges):
    """The sets of chains that lead to one another: strongly connected components, found as by Tarjan.

    Without recursion, since a dump may be a hundred thousand chains deep.
    """
    number, lowest, waiting, inside, found = {}, {}, [], set(), []
    for start in sorted(edges):
        path = [] if start in number else [(start, None)]
        while path:
            chain, rest = path.pop()
            if rest is None:
                number[chain] = lowest[chain] = len(number)
                waiting.append(chain)
                inside.add(chain)
                rest = iter(edges.get(chain, ()))
            for target in rest:
                if target not in number:
                    path += [(chain, rest), (target, None)]
                    break
                if target in inside:
                    lowest[chain] = min(lowest[chain], number[target])
            else:
                if lowest[chain] == number[chain]:
                    found.append(_component(chain, waiting, inside))
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[chain])
    return [chains for chains in found if len(chains) > 1 or list(chains)[0] in edges.get(list(chains)[0], ())]


def _component(chain, waiting, inside):
    """Removes the component of this chain from the stack `waiting` and returns it."""
    chains = set()
    while chain not in chains:
        chains.add(waiting.pop())
    inside -= chains
    return chains


def _edges(table):
    """{chain: targets that are chains}."""
    edges = {name: sorted({rule.target for rule in chain.rules if rule.target in table.chains})
             for name, chain in table.chains.items() if chain.rules}
    edges = {name: targets for name, targets in edges.items() if targets}
    if any(_leads_up(chain, target, edges) for chain, targets in edges.items() for target in targets):
        _add_services(table, edges)
    return edges


def _leads_up(chain, target, edges):
    """True for a jump that can close a loop with folded service rules, which only lead downwards."""
    mine, other = _level(chain), _level(target)
    return mine is not None and (target in edges if other is None else other <= mine)


def _level(chain):
    return next((level for level, prefix in enumerate(_LEVELS) if chain.startswith(prefix)), None)


def _add_services(table, edges):
    services = table.services
    rows = [(jump[0], jump[4:5]) for jump in services.jumps]
    rows += [(chain, endpoints) for chain, (_chances, endpoints) in services.balancing.items()]
    rows += [(chain, ("KUBE-MARK-MASQ",)) for chain in list(services.masquerading) + list(services.endpoints)]
    for chain, targets in rows:
        edges.setdefault(chain, []).extend(targets)


# kube-proxy writes these chains and their rules in one transaction, and creates a Service's chains in the same manner.
_NEVER_EMPTY = frozenset(("KUBE-MARK-MASQ", "KUBE-POSTROUTING", "KUBE-FORWARD"))
_LED_TO = ("KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-FORWARD")
_OF_SERVICES = frozenset(("KUBE-SVC-", "KUBE-SEP-", "KUBE-EXT-"))


def torn_signs(rule_set):
    """Traces that a change during the reading may have left, as a frozenset of tuples; empty for most rule sets."""
    found = [("incompatible", name) for name in rule_set.unreadable]
    found += [("incompatible", "")] if rule_set.notices.get("foreign_base_chain") else []
    held = dict(readable(rule_set))
    if "KUBE-SERVICES" in getattr(held.get("filter"), "chains", ()) and "nat" not in held:
        found.append(("gone", "nat"))
    for name, table in held.items():
        counts = table.rule_counts()
        found += [("twice", name, chain, text) for chain, text, _times in table.duplicates()
                  if owner_of(chain, name) == "kube_proxy"]
        found += [("twice", name, chain, "") for chain in table.repeated_more if owner_of(chain, name) == "kube_proxy"]
        found += [("empty", name, chain) for chain, count in counts.items()
                  if not count and (chain in _NEVER_EMPTY or chain[:9] in _OF_SERVICES)]
        if "KUBE-SERVICES" in table.chains:
            leading = {rule.target for chain in BUILT_IN for rule in rules_of(table, chain)}
            found += [("unreached", name, chain) for chain in _LED_TO if chain in table.chains and chain not in leading]
    return frozenset(found)
