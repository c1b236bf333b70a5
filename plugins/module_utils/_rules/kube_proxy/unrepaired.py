# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lost rules that kube-proxy does not restore by itself. PRIVATE to the collection.

It checks its canary in mangle only, and rewrites everything where the canary is gone (kubernetes pkg/util/iptables
Monitor). `iptables -t nat -F` leaves the canary: until kube-proxy is restarted nothing comes back, or only the part
that the next change touches (seen with 1.30.5, 1.34.9 and 1.36.3).
"""

import collections

from ..observation import observe
from ..tables import chains_of
from .anchor_table import ANCHORS, CANARY

_MODE = "iptables"
# Jumps that no other program writes; kubelet also writes the jumps to KUBE-FIREWALL.
_JUMPS = frozenset((anchor.table, "-A %s -j %s" % (anchor.chain, anchor.target)) for anchor in ANCHORS[_MODE]
                   if anchor.target != "KUBE-FIREWALL")
_CHAINS = ("KUBE-FORWARD", "KUBE-MARK-MASQ", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-SERVICES")


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
