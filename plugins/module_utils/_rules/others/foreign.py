# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of other programs that jump to the chain of a Service. PRIVATE to the collection.

The kernel deletes no chain that a rule leads to. Once the Service goes, kube-proxy wants to delete the chain,
iptables-restore refuses the whole input, and from then on every sync of that family fails (seen with 1.30 and 1.36; its
log names the chain, not the rule).
"""

from ..observation import observe
from ..services.reached import PER_SERVICE
from ..tables import table_of
from .owners import owner_of

_DETAIL = "kube-proxy cannot delete %s when its Service is deleted; from then on each of its syncs of this family fails"


def ask_foreign(rule_set, setting):
    """foreign_jump of one rule set: the first such rule of each chain, with their number."""
    table = table_of(rule_set, "nat")
    if table is None or setting.mode not in (None, "iptables"):
        return
    for chain in table.unfolded():
        if owner_of(chain, "nat") != "kube_proxy":
            rules = [rule for rule in table.chains[chain].rules if (rule.target or "").startswith(PER_SERVICE)]
            if rules:
                yield observe("foreign_jump", rule_set, "nat", chain, rules[0].text, len(rules),
                              _DETAIL % rules[0].target)
