# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All questions at once. PRIVATE to the collection."""

from .anchors import ask_anchors, ask_hint, ask_presence
from .drops import ask_drops
from .duplicates import ask_duplicates
from .emptied import ask_emptied
from .hostports import ask_hostports
from .leftovers import ask_backends, ask_other_mode, in_use
from .loops import ask_loops
from .lost_match import ask_lost_match
from .observation import merged
from .repaired import ask_repaired
from .services import ask_services
from .structure import ask_structure

_OF_ANY = (ask_lost_match, ask_structure, ask_loops, ask_services, ask_duplicates, ask_other_mode, ask_drops, ask_hostports)
# What must be there is asked where kube-proxy works, not of what is left of it in the other backend.
_OF_USED = (ask_anchors, ask_repaired, ask_emptied)
# What a flush of nat leads to by itself.
_OF_EMPTY_CHAINS = ("empty_service_chain", "unsound_endpoint", "orphan_chain", "emptied_chain")


def ask(rule_sets, setting_by):
    """All observations of one node, most telling first; C(setting_by) gives the Setting of a rule set.

    C(rule_sets): what was read of both families and backends.
    """
    found = []
    for rule_set in rule_sets:
        for question in _OF_ANY + (_OF_USED if in_use(rule_set, rule_sets) else ()):
            found += question(rule_set, setting_by(rule_set))
    found += ask_presence(rule_sets, setting_by)
    found += ask_hint(rule_sets, setting_by)
    found += ask_backends(rule_sets)
    return merged(_without_consequences(found))


def _without_consequences(found):
    """What follows from a half repaired node is not told beside it: its chains are empty, so nothing is behind them or leads on."""
    repaired = set((row["family"], row["backend"]) for row in found if row["kind"] == "half_repaired")
    return [row for row in found if not (row["kind"] in _OF_EMPTY_CHAINS and row["table"] == "nat" and (row["family"], row["backend"]) in repaired)]
