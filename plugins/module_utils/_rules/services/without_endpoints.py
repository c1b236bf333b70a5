# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that kube-proxy refuses because they have no endpoints. PRIVATE to the collection.

It is what kube-proxy has to do (kubernetes pkg/proxy/iptables/proxier.go), and mostly no fault of the node.
"""

import re

from ..observation import observe
from ..tables import rules_of, table_of

_CHAINS = ("KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-NODEPORTS")
_REFUSED = re.compile(r'--comment "?([\w./:-]{1,200}) has no (local )?endpoints')
_MOST = 5


def ask_without_endpoints(rule_set, _setting):
    """without_endpoints of a dump: the names of the first Services, and how many there are. A person who copies rules
    asks about a Service; of a live node, which may have hundreds of idle ones, it would be noise."""
    table = table_of(rule_set, "filter") if rule_set.source != "live" else None
    names = dict.fromkeys(found.group(1) for chain in _CHAINS for rule in rules_of(table, chain)
                          for found in [_REFUSED.search(rule.text)] if found and not found.group(2))
    if names:
        yield observe("without_endpoints", rule_set, "filter", "KUBE-SERVICES", "", len(names),
                      ", ".join(sorted(names)[:_MOST]) + (" and %d more" % (len(names) - _MOST)
                                                          if len(names) > _MOST else ""))
