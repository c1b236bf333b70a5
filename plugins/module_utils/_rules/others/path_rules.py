# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of unknown programs that decide on packets that the node forwards or sends. PRIVATE to the collection.

Whether they meet pods depends on what a dump does not show (sets, other programs' marks, limits, queues, addresses of
machines), so they are named and not judged. Rules for packets to the node itself (INPUT) are the host's own matter.
"""

from ..kube_proxy.proxy import has_proxy
from ..model.interfaces import is_foreign
from ..observation import observe
from ..rules import plain_value, port_ranges, states, to_local
from ..tables import table_of
from ..targets import REFUSALS
from .owners import OTHER, owner_of

_HOOKS = ("PREROUTING", "FORWARD", "OUTPUT", "POSTROUTING")
_DECIDES = {"SNAT": "gives packets another source", "NETMAP": "gives packets another network",
            "DNAT": "sends packets to another address", "REDIRECT": "sends packets to a program of this node",
            "TPROXY": "sends packets to a program of this node", "NFQUEUE": "hands packets to a program",
            "QUEUE": "hands packets to a program"}
# Metadata and platform of clouds, multicast and broadcast.
_PLATFORM = ("169.254.169.254/", "168.63.129.16/", "224.", "239.", "240.", "255.255.255.255")
# Of one chain; a list of banned addresses may have thousands.
_MOST = 4


def ask_path_rules(rule_set, setting):
    """other_rule of one rule set: the first rules of each chain, the last of them with the number of the rest."""
    if rule_set.source == "live" and not has_proxy(rule_set) and setting.mode is None:
        return
    for name in ("raw", "mangle", "nat", "filter"):
        table = table_of(rule_set, name)
        for chain in _chains(table, name) if table is not None else ():
            found = [rule for rule in table.chains[chain].rules if _decides(rule, name)]
            for number, rule in enumerate(found[:_MOST], 1):
                yield observe("other_rule", rule_set, name, chain, rule.text, len(found) - _MOST + 1
                              if number == _MOST else 1, _DECIDES.get(rule.target, "refuses packets"))


def _chains(table, name):
    """The built-in chains of the path and the chains of unknown owners that they lead to."""
    found = dict.fromkeys(chain for chain in _HOOKS if chain in table.chains)
    waiting = list(found)
    while waiting:
        targets = dict.fromkeys(rule.target for rule in table.chains[waiting.pop(0)].rules
                                if rule.target in table.chains)
        new = [target for target in targets if target not in found and owner_of(target, name) == OTHER]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def _decides(rule, table):
    """Whether a rule may decide on a packet of a pod: no rule for invalid packets, for interfaces of other programs and
    of Weave, for the machine's platform, and none that a packet of the node itself or one address is meant by. Drops
    that refuse all packets are judged (drops.py)."""
    limited, given = states(rule), [rule.options.get(option) for option in ("-i", "-o")]
    if (rule.target not in _DECIDES and (rule.target not in REFUSALS or not rule.has_match)
            or limited and set(limited) == {"INVALID"} or (plain_value(rule, "-d") or "").startswith(_PLATFORM)
            or any(value and (is_foreign(value[0]) or value[0] == "weave") for value in given)):
        return False
    return table != "nat" or rule.target == "SNAT" or not (
        to_local(rule) or plain_value(rule, "-d") or rule.target == "REDIRECT" and port_ranges(rule))
