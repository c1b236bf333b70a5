# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the FORWARD chain lets pod traffic through. PRIVATE to the collection.

A rule limited to replies, to marked Service traffic, to ICMP, to single ports or to the bridges of other
programs does not. Any other ACCEPT counts.
"""

from ..model.interfaces import is_foreign
from ..rules import plain_value, port_ranges, states
from .owners import owner_of

_ICMP = ("icmp", "icmpv6", "ipv6-icmp", "1", "58")


def accepts_pods(table, rules):
    """True if one of these rules of FORWARD, or of the chains they lead to, accepts traffic of pods."""
    seen, waiting = set(), [rules]
    while waiting:
        for rule in waiting.pop():
            if rule.target == "ACCEPT":
                if _counts(table, rule):
                    return True
            elif rule.target in table.chains and rule.target not in seen and not _of_bridge(rule):
                seen.add(rule.target)
                waiting.append(table.chains[rule.target].rules)
    return False


def _counts(table, rule):
    limited = states(rule)
    if (limited
            and "NEW" not in limited) or rule.chain == "KUBE-FORWARD" or owner_of(rule.chain, table.name) == "docker":
        return False
    return not _of_bridge(rule) and plain_value(rule, "-p") not in _ICMP and port_ranges(rule) is None


def _of_bridge(rule):
    return any(is_foreign(plain_value(rule, option) or "") for option in ("-i", "-o"))
