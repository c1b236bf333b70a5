# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services whose rules lead to endpoints that the API server does not have. PRIVATE to the collection.

A Service may have fewer endpoints in the rules than in the API (hints of topology, a traffic policy), so what the rules
lack counts only for default/kubernetes, which has neither.
"""

from ..observation import observe
from ..tables import table_of
from .chain_hash import endpoint_text
from .endpoints import endpoint_of
from .reached import Reached
from .services import addressed_jumps

_SHOWN, _OWN = 5, ("default", "kubernetes")


def ask_stale_endpoints(rule_set, setting):
    """unsound_endpoint of each endpoint that kubectl does not list."""
    nat, listed = table_of(rule_set, "nat"), setting.api_endpoints()
    if not listed or nat is None or setting.mode not in (None, "iptables"):
        return
    held = _held(nat)
    for (space, name), ends in sorted(listed.items(), key=str):
        keys = [key for key in held if key[1] == name and space in (None, key[0])]
        wanted = {end for end in ends if (":" in end[0]) == (rule_set.family == "ipv6")}
        if len(keys) != 1 or not wanted:
            continue
        own = held[keys[0]]
        for end in sorted(set(own) - wanted)[:_SHOWN]:
            yield observe("unsound_endpoint", rule_set, "nat", own[end], "", 1,
                          "it leads to %s, which kubectl does not list as an endpoint of %s/%s: kube-proxy has not "
                          "taken over a change" % ((endpoint_text(end),) + keys[0]))
        lost = sorted(wanted - set(own)) if own and keys[0] == _OWN and not set(own) - wanted else []
        if lost:
            yield observe("unsound_endpoint", rule_set, "nat", own[min(own)], "", 1,
                          "kubectl lists %s as an endpoint of %s/%s too, and no rule leads there: kube-proxy has not "
                          "taken over a change" % ((endpoint_text(lost[0]),) + keys[0]))


def _held(nat):
    """{(namespace, name): {(address, port): its chain}} of all Services that rules name."""
    chains, found, reached = {}, {}, Reached(nat)
    for chain in nat.chains:
        if chain.startswith("KUBE-SEP-"):
            end = endpoint_of(nat, chain)[0]
            if end:
                chains.setdefault(end[:2], chain)
                comments = {rule.comment for rule in nat.chains[chain].rules if rule.comment}
                for comment in comments:
                    _add(found, comment, [end], chains)
    for _chain, _address, _protocol, _port, target, comment in addressed_jumps(nat):
        _add(found, comment, reached.by(target)[0], chains)
    return found


def _add(found, comment, ends, chains):
    space, slash, name = (comment or "").partition(" ")[0].partition("/")
    if slash and ends:
        own = found.setdefault((space, name.partition(":")[0]), {})
        own.update((end[:2], chains[end[:2]]) for end in ends if end[:2] in chains)
