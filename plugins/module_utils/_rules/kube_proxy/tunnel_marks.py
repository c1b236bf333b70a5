# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tunnels whose mark holds the bit by which kubelet drops packets. PRIVATE to the collection.

kubelet up to 1.27 drops packets with the mark 0x8000 in OUTPUT (kubernetes pkg/kubelet/kubelet_network_linux.go). A
tunnel marks its encrypted packets, to route them past itself: wg-quick with 51820, which is 0xca6c.
"""

from ..observation import observe
from ..rules import match_options
from ..tables import chains_of, rules_of, table_of
from .mark_values import mark_value

_CHAIN = "KUBE-FIREWALL"


def ask_tunnel_marks(rule_set, setting):
    """mark_mismatch of one rule set: the rule of kubelet that drops the packets of a tunnel."""
    table = table_of(rule_set, "filter")
    dropping = [rule for rule in rules_of(table, _CHAIN) if rule.target == "DROP"]
    if not any(match_options(rule, "mark") for rule in dropping) or not _is_reached(rule_set, table):
        return
    for name, mark in setting.tunnel_marks():
        rule = next((rule for rule in dropping if _drops(rule, mark)), None)
        if rule is not None:
            yield observe("mark_mismatch", rule_set, "filter", _CHAIN, rule.text, 1,
                          "%s puts the mark 0x%x on its encrypted packets, and this rule of kubelet drops them" % (
                              name, mark))


def _drops(rule, mark):
    """Whether a rule drops all packets with a mark."""
    if rule.options or any(name not in ("mark", "comment") for name, _options in rule.matches):
        return False
    marks = [(mark_value(values), negated) for _option, values, negated in match_options(rule, "mark")]
    return bool(marks) and all(found is not None and (mark & found[1] == found[0]) is not negated
                               for found, negated in marks)


def _is_reached(rule_set, table):
    """Whether OUTPUT jumps to the chain, as kubelet has it; people paste the chain alone, too."""
    rules = rules_of(table, "OUTPUT")
    if any(rule.target == _CHAIN for rule in rules):
        return True
    return chains_of(rule_set, "filter") is None and not rules
