# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs of a rule set that iptables-nft-save printed while it changed. PRIVATE to the collection.

iptables-nft-save is not atomic. While another program writes, it now and then reports incompatible base chains in a
table that has none, prints rules twice or leaves some out (observed with 1.8.9; iptables nft-cache.c starts over where
the generation changes). A damaged node shows the same signs, but shows them again at the next reading.
"""

from .others.owners import owner_of
from .tables import BUILT_IN, readable, rules_of

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
