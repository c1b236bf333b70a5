# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that lead back to themselves. PRIVATE to the collection.

No kernel accepts such rules (ip_tables.c mark_source_chains, nf_tables_api.c nft_chain_validate): only a dump that was
edited or mixed from several holds them.
"""

from .observation import observe
from .tables import readable

# A Service rule of kube-proxy jumps only from one of these to a later one.
_LEVELS = ("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-FW-", "KUBE-EXT-", "KUBE-XLB-", "KUBE-SV", "KUBE-SEP-",
           "KUBE-MARK-MASQ")


def ask_loops(rule_set, setting):
    """chain_loop of one rule set: one for each set of chains that lead to one another; `count`: their number."""
    found = []
    for name, table in readable(rule_set):
        edges = _edges(table)
        for chains in _circles(edges):
            through = sorted(target for target in edges[min(chains)] if target in chains)
            found.append(observe("chain_loop", rule_set, name, min(chains), "", len(chains),
                                 "jumps back to itself through %s" % through[0][:64]))
    return found


def _circles(edges):
    """The sets of chains that lead to one another: strongly connected components, found as by Tarjan.

    Without recursion, since a dump may be a hundred thousand chains deep.
    """
    number, lowest, waiting, inside, found = {}, {}, [], set(), []
    for start in sorted(edges):
        path = [] if start in number else [(start, None)]
        while path:
            chain, rest = path.pop()
            if rest is None:
                number[chain] = lowest[chain] = len(number)
                waiting.append(chain)
                inside.add(chain)
                rest = iter(edges.get(chain, ()))
            for target in rest:
                if target not in number:
                    path += [(chain, rest), (target, None)]
                    break
                if target in inside:
                    lowest[chain] = min(lowest[chain], number[target])
            else:
                if lowest[chain] == number[chain]:
                    found.append(_component(chain, waiting, inside))
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[chain])
    return [chains for chains in found if len(chains) > 1 or list(chains)[0] in edges.get(list(chains)[0], ())]


def _component(chain, waiting, inside):
    """Removes the component of this chain from the stack `waiting` and returns it."""
    chains = set()
    while chain not in chains:
        chains.add(waiting.pop())
    inside -= chains
    return chains


def _edges(table):
    """{chain: targets that are chains}."""
    edges = {name: sorted({rule.target for rule in chain.rules if rule.target in table.chains})
             for name, chain in table.chains.items() if chain.rules}
    edges = {name: targets for name, targets in edges.items() if targets}
    if any(_leads_up(chain, target, edges) for chain, targets in edges.items() for target in targets):
        _add_services(table, edges)
    return edges


def _leads_up(chain, target, edges):
    """True for a jump that can close a loop with folded service rules, which only lead downwards."""
    mine, other = _level(chain), _level(target)
    return mine is not None and (target in edges if other is None else other <= mine)


def _level(chain):
    return next((level for level, prefix in enumerate(_LEVELS) if chain.startswith(prefix)), None)


def _add_services(table, edges):
    services = table.services
    rows = [(jump[0], jump[4:5]) for jump in services.jumps]
    rows += [(chain, endpoints) for chain, (_chances, endpoints) in services.balancing.items()]
    rows += [(chain, ("KUBE-MARK-MASQ",)) for chain in list(services.masquerading) + list(services.endpoints)]
    for chain, targets in rows:
        edges.setdefault(chain, []).extend(targets)
