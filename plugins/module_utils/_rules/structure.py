# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps to chains that do not exist, and chains that no rule jumps to. PRIVATE to the collection."""

import re

from .kube_proxy.proxy import SERVICE_CHAIN
from .observation import observe
from .others.owners import KUBERNETES, owner_of
from .setting import since
from .tables import BUILT_IN, chains_of, declares_all, readable
from .targets import EXTENSIONS

# With more endpoints than this, kube-proxy clears stale chains now and then (largeClusterEndpointsThreshold).
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
        from .services.shares import ask_shares
        yield from ask_shares(rule_set, table, unreached, local)
