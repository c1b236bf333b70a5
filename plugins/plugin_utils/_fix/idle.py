# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a whole batch has nothing to fix, or no turn to take, so that one task answers for all its hosts. PRIVATE to
the collection."""

from collections.abc import Mapping

from ...module_utils._errors import BadInput
from .. import _batch, _catalogue, _finding, _run, _select
from .._plain import plain

_FIX = "preflight_fix"
_CLASSES = ("none",) + _catalogue.FIX_CLASSES
_latest = []
_latest_with_turn = []


def nothing_to_fix(hosts: list[str], variables_of, own: str, fix: str) -> bool:
    """True where this run has judged all `hosts` and none of them has a finding to fix. `variables_of(host)` are its
    raw variables, `own` is the host that asks, and `fix` its class of change."""
    return not _batch.is_any(hosts, own, lambda host: _has_work(variables_of(host), fix), _latest)


def no_turns(hosts: list[str], variables_of, own: str, result: str) -> bool:
    """True where no result of the action fix, which is the variable `result` of each of `hosts`, lists a turn."""
    return not _batch.is_any(hosts, own, lambda host: _has_turn(variables_of(host).get(result)), _latest_with_turn)


def _has_turn(result):
    return isinstance(result, Mapping) and bool(result.get("turns"))


def _has_work(variables, fix):
    """In doubt there is work, and the task finds out. The facts are not validated here: whatever they say, the worst is
    a task for each host, or a finding that stays and is reported."""
    facts, fix = variables.get("ansible_facts"), _furthest(plain(variables.get(_FIX)), fix)
    summary = facts.get("node_assess_summary") if isinstance(facts, Mapping) else None
    if fix is None or not isinstance(summary, Mapping) or summary.get("run") != _run.ID:
        return True
    if not summary.get("reached"):
        return False
    rows = facts.get("node_assess_findings")
    if not isinstance(rows, (list, tuple)):
        return True
    try:
        failing = [plain(row) for row in rows if not isinstance(row, Mapping) or row.get("status") == _finding.FAIL]
        return bool(_select.fixable(failing, fix, None, plain(summary.get("place"))))
    except (BadInput, TypeError, KeyError):
        return True


def _furthest(own, fix):
    """The class that reaches furthest: `own`, which the inventory may set for the host, or `fix`, which variables of
    the play may set for all. None where one of them is no class."""
    known = [name for name in (own, fix) if name is not None]
    return max(known, key=_CLASSES.index) if all(name in _CLASSES for name in known) else None
