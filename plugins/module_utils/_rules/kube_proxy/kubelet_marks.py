# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chains that show whether kubelet set up its rules, for each family. PRIVATE to the collection.

kubelet creates its chains once, at its start. Only if that succeeds it creates its canary in three tables and watches
the one in mangle; it recreates deleted canaries within a minute. If it fails, kubelet never tries again for that family
(kubernetes pkg/kubelet/kubelet_network_linux.go, pkg/util/iptables/iptables.go). Since 1.28 kubelet creates the hint
first, so the hint may exist after a failure too.
"""

import collections

from ..tables import chains_of
from .anchor_table import CANARY_TABLES, HINT, KUBELET_CANARY
from .proxy import has_proxy

# hint: True, False, or None where not all of mangle could be read. canary: the same for the canary in mangle. others:
# the other tables that hold a canary. used: whether the family is needed; kubelet creates IPv6 chains anyhow.
Marks = collections.namedtuple("Marks", ("hint", "canary", "others", "used"))


def kubelet_marks(rule_sets, family, unread):
    """`Marks` of a family over both backends; `unread`: whether it may have rules that could not be read."""
    mine = [rule_set for rule_set in rule_sets if rule_set.family == family]
    mangles = [chains_of(rule_set, "mangle") for rule_set in mine] + ([None] if unread else [])
    canary = _holds(mangles, KUBELET_CANARY)
    others = sorted({name for rule_set in mine for name in CANARY_TABLES[1:]
                     if KUBELET_CANARY in (chains_of(rule_set, name) or ())})
    used = family == "ipv4" or canary is True or bool(others) or any(has_proxy(rule_set) for rule_set in mine)
    return Marks(_holds(mangles, HINT), canary, others, used)


def _holds(tables, chain):
    if any(chain in chains for chains in tables if chains is not None):
        return True
    return None if any(chains is None for chains in tables) else False
