# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of nft and iptables that are known to break with the rules of other versions, as data. PRIVATE to the
collection.

`reader`: (since, before) of the program that breaks; `writer`: the same of the program whose rules break it, None where
it breaks with its own. `agents`: the processes that need the broken function, None for all. `repaired`: (version,
processes or None for all) of builds that have the fix under an older version; `repaired_on`: the day of the fix,
because distributions give it to older versions without another number: of a program that was built later it is not
known.
"""

_CALICO, _KNFTABLES = ("calico-node", "calico-felix"), ("kube-proxy", "calico-node", "calico-felix")

# Since 1.1.2 nft stores the type of a set as a constant, for which an older nft calls a function that it does not have.
# Measured: nft 1.0.6 crashes on `list tables`, `list ruleset` and `-j list sets` where any table has one such set.
SETS_OF_CONSTANTS = {
    "tool": "nft", "reader": (None, "1.1.2"), "writer": ("1.1.2", None), "agents": None,
    "effect": "crashes (segmentation fault) where it lists sets of",
    "repaired": (("1.0.6.1", None), ("1.1.1", _CALICO)), "repaired_on": "2025-05-11",
    "sources": ("kubernetes issue 136786", "calico issue 13068 (1.1.0 and 1.1.6)", "calico issue 13987 (370 GB of core "
                "dumps)", "istio issue 58492 (1.0.9 on the node, 1.1.2 or later in the image)",
                "nftables commit be737a1986bf, in 1.1.4 and 1.0.6.1", "calico pull request 12660 (1.1.1 with the fix)")}
PAIRS = (
    SETS_OF_CONSTANTS,
    # It reads the whole rule set for each command, and sets of later versions crash it.
    {"tool": "nft", "reader": (None, "1.0.1"), "writer": ("1.0.1", None), "agents": None,
     "effect": "reads all tables for each command and crashes on sets of", "repaired": (), "repaired_on": None,
     "sources": ("kubernetes pull request 124152", "kubernetes issue 122572 (0.9.8)")},
    {"tool": "nft", "json": False, "reader": (None, None), "writer": None, "agents": _KNFTABLES,
     "effect": "has no JSON, and its agent cannot list its own sets", "repaired": (), "repaired_on": None,
     "sources": ("kubernetes pull request 140405", "istio issue 58964")},
    {"tool": "iptables", "reader": ("1.8.10", "1.8.11"), "writer": None, "agents": ("kube-router",),
     "effect": "does not find existing rules with -C, and kube-router adds them again at each sync", "repaired": (),
     "repaired_on": None, "sources": ("kube-router issues 1676 and 1789",)},
)
