# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All questions at once. PRIVATE to the collection."""

from .anchors import ask_anchors, ask_hint, ask_presence
from .drops import ask_drops
from .duplicates import ask_duplicates
from .emptied import ask_emptied
from .hostports import ask_hostports
from .incomplete import ask_incomplete
from .leftovers import ask_backends, ask_other_mode, in_use
from .loops import ask_loops
from .lost_match import ask_lost_match
from .marks import ask_marks
from .masquerade import ask_masquerade
from .observation import merged
from .proxy import PORTALS
from .repaired import ask_repaired
from .services import ask_services
from .structure import ask_structure

_OF_ANY = (ask_lost_match, ask_structure, ask_loops, ask_services, ask_duplicates, ask_other_mode, ask_hostports, ask_masquerade)
# What must be there is asked where kube-proxy works, not of what is left of it in the other backend.
_OF_USED = (ask_anchors, ask_repaired, ask_emptied, ask_incomplete, ask_marks)
# What a flush of nat leads to by itself.
_OF_EMPTY_CHAINS = ("empty_service_chain", "unsound_endpoint", "orphan_chain", "emptied_chain")
# What leaves endpoints without a rule that leads to them.
_OF_BALANCING = ("empty_service_chain", "wrong_probability", "dangling_jump", "half_repaired")


def ask(rule_sets, setting_by, services=None):
    """All observations of one node, most telling first; C(setting_by) gives the Setting of a rule set.

    C(rule_sets): what was read of both families and backends. C(services): [Service] where they are not in rules, as in nftables mode.
    """
    found = []
    for rule_set in rule_sets:
        found += ask_drops(rule_set, setting_by(rule_set), services)
        for question in _OF_ANY + (_OF_USED if in_use(rule_set, rule_sets) else ()):
            found += question(rule_set, setting_by(rule_set))
    found += ask_presence(rule_sets, setting_by)
    found += ask_hint(rule_sets, setting_by)
    found += ask_backends(rule_sets)
    return merged(_without_consequences(found))


def _without_consequences(found):
    """What follows from a half repaired node is not told beside it: its chains are empty, so nothing is behind them or leads on. Nor is
    what nothing leads to any more told beside the emptied chain that led to it, or an endpoint beside what is wrong with its Service (or
    with any where its own is not known)."""
    repaired = set(_place(row)[:2] for row in found if row["kind"] == "half_repaired")
    emptied = set(_place(row)[:2] for row in found if row["kind"] == "emptied_chain" and row["chain"] in PORTALS)
    broken = set(place for row in found if row["kind"] in _OF_BALANCING and not _is_share(row) for place in (_place(row), _place(row)[:3]))
    return [row for row in found if not (
        (row["kind"] in _OF_EMPTY_CHAINS and row["table"] == "nat" and _place(row)[:2] in repaired)
        or (_follows_from_empty(row) and _place(row)[:2] in emptied)
        or (_is_share(row) and _place(row) in broken)
        or (row["kind"] == "orphan_chain" and row["chain"].startswith("KUBE-SEP-") and _place(row)[:3] in broken))]


def _follows_from_empty(row):
    """True for what is told of chains behind KUBE-SERVICES and KUBE-NODEPORTS."""
    return (row["kind"] == "orphan_chain" and row["table"] == "nat") or (row["kind"] == "anchor_missing" and row["chain"] == "KUBE-SERVICES")


def _is_share(row):
    """True for what shares.py tells, with the rule that is missing; services.py tells of a whole chain."""
    return row["kind"] == "wrong_probability" and bool(row["text"])


def _place(row):
    return row["family"], row["backend"], row["table"], row["chain"]
