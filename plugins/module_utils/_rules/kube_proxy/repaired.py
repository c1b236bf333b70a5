# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes whose rules were flushed and only partly restored. PRIVATE to the collection.

kube-proxy looks at its canary in mangle only. After `iptables -t nat -F` the next changed Service refills KUBE-SERVICES
and its own chains; the chains of all other Services stay empty and no jump is restored, while /healthz returns 200
(kubernetes pkg/util/iptables Monitor; partial syncs since 1.26).
"""

import collections

from ..observation import observe
from ..tables import chains_of
from .anchor_table import ANCHORS, CANARY

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
