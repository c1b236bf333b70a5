# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs all questions about rule sets. PRIVATE to the collection."""

from .duplicates import ask_duplicates
from .kube_proxy.anchors import ask_anchors, ask_hint, ask_presence, ask_repaired
from .kube_proxy.emptied import ask_emptied, ask_families, ask_incomplete
from .kube_proxy.guards import ask_guards, ask_invalid
from .kube_proxy.lost_match import ask_lost_match
from .kube_proxy.marks import ask_marks, ask_tunnel_marks
from .kube_proxy.proxy import PORTALS, SERVICE_CHAIN
from .observation import Tally, place_of
from .others.drops import ask_drops, ask_policy
from .others.first_chains import ask_sets
from .others.foreign import ask_exempt_ranges, ask_foreign, ask_masquerade, ask_other_cni, ask_path_rules
from .others.hostports import (
    ask_before_services, ask_host_ports_of_ipvs, ask_hostport_pods, ask_hostports, ask_node_ports, ask_redirections,
)
from .others.leftovers import ask_backends, ask_other_mode, in_use
from .others.node_packets import ask_input, ask_node_packets
from .others.pod_chains import ask_dispatch
from .services.chain_names import ask_chain_names
from .services.service_path import ask_cleared_marks
from .services.services import ask_services
from .services.stale_endpoints import ask_affinity, ask_stale_endpoints, ask_without_endpoints
from .structure import ask_loops, ask_structure

_OF_ANY = (ask_lost_match, ask_structure, ask_loops, ask_services, ask_chain_names, ask_duplicates, ask_other_mode,
           ask_hostports, ask_before_services, ask_host_ports_of_ipvs, ask_node_ports, ask_redirections,
           ask_hostport_pods, ask_sets, ask_masquerade, ask_foreign, ask_policy, ask_node_packets, ask_path_rules,
           ask_cleared_marks, ask_exempt_ranges, ask_tunnel_marks, ask_stale_endpoints, ask_without_endpoints,
           ask_dispatch)
# Missing rules are only reported for the backend kube-proxy works in, not for its leftovers in the other one.
_OF_USED = (ask_anchors, ask_repaired, ask_emptied, ask_incomplete, ask_marks, ask_guards, ask_affinity)
# Consequences of a flush of nat.
_OF_EMPTY_CHAINS = ("empty_service_chain", "unsound_endpoint", "orphan_chain", "emptied_chain")
# Observations that leave endpoints without a rule that jumps to them.
_OF_BALANCING = ("empty_service_chain", "wrong_probability", "dangling_jump", "half_repaired")


def ask(rule_sets, setting_by, services=None, used=None):
    """(observations of one node, most severe first; `Tally.more`, the number of further ones).

    `rule_sets`: the rule sets of both families and backends; `setting_by` returns the Setting of a rule set.
    `services`: [Service] where rules do not hold them, as in nftables mode. `used`: the backend of the iptables that
    kube-proxy runs.
    """
    tally = Tally()
    for row in _observations(rule_sets, setting_by, services, used):
        tally.add(row)
    return _without_consequences(tally.rows(), tally.more)


def _observations(rule_sets, setting_by, services, used):
    for rule_set in rule_sets:
        yield from ask_drops(rule_set, setting_by(rule_set), services)
        yield from ask_input(rule_set, setting_by(rule_set), services)
        for question in _OF_ANY + (_OF_USED if in_use(rule_set, rule_sets, used) else ()):
            yield from question(rule_set, setting_by(rule_set))
    yield from ask_presence(rule_sets, setting_by)
    yield from ask_families(rule_sets, setting_by)
    yield from ask_invalid([rule_set for rule_set in rule_sets if in_use(rule_set, rule_sets)], setting_by)
    yield from ask_hint(rule_sets, setting_by)
    yield from ask_backends(rule_sets, used)
    yield from ask_other_cni(rule_sets)


def _without_consequences(rows, more):
    """Leaves out each observation that follows from another one. On a half repaired node: empty, unsound and orphan
    chains. Beside an emptied chain: chains that only this chain led to. Beside a missing rule: the orphan chain that it
    led to. Beside a problem of a Service: an endpoint that no rule jumps to (beside a problem of any Service where its
    own is not known). A rule that another observation names. A Service that no rule jumps to is reported once; if its
    rule jumps to another chain, that rule is reported instead."""
    judged = {_rule_of(row) for row in rows if row["kind"] != "other_rule"}
    rows = [row for row in rows if row["kind"] != "other_rule" or _rule_of(row) not in judged]
    places = [place_of(row) for row in rows] + list(more)
    repaired = {place[1:3] for place in places if place[0] == "half_repaired"}
    emptied = {place[1:3] for place in places if place[0] == "emptied_chain" and place[4] in PORTALS}
    unreached = {place[1:5] for place in places if place[0] == "anchor_missing"}
    misled = {place[1:5] for place in places
              if place[0] == "anchor_missing" and place[5] and SERVICE_CHAIN.match(place[4])}
    # By wrong_targets.py: a Service jumps to the endpoint of another Service.
    foreign = {place[1:5] for place in places if place[0] == "unsound_endpoint" and place[5]}
    broken = {where for place in places if place[0] in _OF_BALANCING and not _is_share(place)
              for where in (place[1:5], place[1:4])} | foreign

    def follows(place):
        kind, table, chain = place[0], place[3], place[4]
        return (
            (kind in _OF_EMPTY_CHAINS and table == "nat" and place[1:3] in repaired)
            or (_follows_from_empty(place) and place[1:3] in emptied)
            or (kind == "orphan_chain" and place[1:5] in unreached)
            or (kind == "anchor_missing" and not place[5] and place[1:5] in misled)
            or (kind == "emptied_chain" and place[1:5] in foreign)
            or (_is_share(place) and place[1:5] in broken)
            or (kind == "orphan_chain" and chain.startswith("KUBE-SEP-") and place[1:4] in broken))
    return [row for row in rows
            if not follows(place_of(row))], {place: count for place, count in more.items() if not follows(place)}


def _rule_of(row):
    return tuple(row[key] for key in ("family", "backend", "table", "chain", "text"))


def _follows_from_empty(place):
    """True for an observation of chains behind KUBE-SERVICES and KUBE-NODEPORTS."""
    return (place[0] == "orphan_chain" and place[3] == "nat") or (place[0] == "anchor_missing" and (
        place[4] == "KUBE-SERVICES" or SERVICE_CHAIN.match(place[4])))


def _is_share(place):
    """True for an observation of shares.py, which has the missing rule as its text."""
    return place[0] == "wrong_probability" and place[5]
