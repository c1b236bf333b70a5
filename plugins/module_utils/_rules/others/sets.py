# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusals by an ipset: a list of banned addresses, or of addresses that may pass. PRIVATE to the collection.

A list of the internet may hold the private networks that pods have addresses of. kube-router rejects all packets to the
node that its sets do not let in (cloudnativelabs/kube-router pkg/controllers/proxy/network_services_controller.go).
"""

from ..addresses import within
from ..observation import observe
from ..rules import match_options
from ..tables import table_of
from ..targets import REFUSALS
from .owners import OTHER, owner_of

# Members and endpoints that are compared.
_MOST_MEMBERS, _MOST_ENDPOINTS = 20000, 20


def pardon_sets(rules, judged, setting, services):
    """Replaces each True in `judged` of a rule that bans the sources in a set: by the address of an endpoint in it, or
    False; `services()` returns [Service], or None where they are not known."""
    for index, rule in enumerate(rules):
        name = _set_of(rule, "src", False) if judged[index] is True else None
        if name is None:
            continue
        members = (setting.members(name) or ())[:_MOST_MEMBERS]
        addresses = dict.fromkeys(endpoint[0] for service in (services() or () if members else ())
                                  for endpoint in service.endpoints or ())
        judged[index] = next((address for address in list(addresses)[:_MOST_ENDPOINTS]
                              if any(within(address, member) for member in members)), False)


def ask_sets(rule_set, setting):
    """unexpected_drop of a rule that refuses packets that are not in a set, and the set is empty."""
    table = table_of(rule_set, "filter")
    for chain in table.unfolded() if table is not None else ():
        if owner_of(chain, "filter") not in ("kube_router", OTHER):
            continue
        for rule in table.chains[chain].rules:
            name = _set_of(rule, None, True) if rule.target in REFUSALS else None
            if name is not None and setting.members(name) == ():
                yield observe("unexpected_drop", rule_set, "filter", chain, rule.text, 1,
                              "refuses all packets that no rule before it accepts, because the set %s is empty" % name)


def _set_of(rule, direction, negated):
    """The name of the one set that a rule matches, or None; `direction`: the only one that counts."""
    found = [(values, inverted) for option, values, inverted in match_options(rule, "set") if option == "--match-set"]
    if len(found) != 1 or len(found[0][0]) < 2 or bool(found[0][1]) is not negated:
        return None
    return found[0][0][0] if direction in (None, found[0][0][1]) else None
