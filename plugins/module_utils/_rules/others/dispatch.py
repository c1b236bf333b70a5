# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interfaces of pods that Calico's dispatch chains do not know. PRIVATE to the collection.

Felix leads the packets of each interface to the chain of its pod, and drops those of all others that begin like one
(projectcalico/calico felix/rules/dispatch.go).
"""

from ..observation import observe
from ..rules import plain_value
from ..tables import rules_of, table_of
from ..targets import REFUSALS

_CHAINS = (("cali-to-wl-dispatch", "-o"), ("cali-from-wl-dispatch", "-i"))
_PREFIX = 3


def ask_dispatch(rule_set, setting):
    """unexpected_drop of the last rule of a dispatch chain, where a route to a pod leads over an interface that no rule
    of the chain names. With one rule alone other rules may not have been shown."""
    table = table_of(rule_set, "filter")
    for name, option in _CHAINS:
        rules = rules_of(table, name)
        known = [plain_value(rule, option) for rule in rules[:-1]]
        if len(known) < 2 or None in known or rules[-1].target not in REFUSALS or rules[-1].options:
            continue
        routed = setting.single_routes()
        # Both are of one time only where the other interfaces have routes.
        if any(not each.endswith("+") and each not in routed for each in known):
            continue
        prefixes = {each[:_PREFIX] for each in known}
        lost = [each for each in routed if each[:_PREFIX] in prefixes and not any(
            each.startswith(own[:-1]) if own.endswith("+") else each == own for own in known)]
        if lost:
            yield observe("unexpected_drop", rule_set, "filter", name, rules[-1].text, 1,
                          "Calico dispatches no packets to the pod behind %s, which has a route: calico-node (Felix) "
                          "has not updated its rules since that pod was made" % lost[0])
            return
