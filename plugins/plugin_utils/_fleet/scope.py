# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a failure local to a node, to a group of nodes, or everywhere? PRIVATE to the collection.

Only nodes on which a check passes or fails decide; a node with an unknown or waived result may be on either side, and
is counted. A group is named only if it contains all nodes that fail and no node that passes, and if it is the only such
group: with two, the cause would not be clear. The variables by which the user groups are tried first.
"""

from .. import _finding
from .traits import traits_of

_GROUP = "inventory group"
_NO_HOSTS = frozenset()


def scopes(reports):
    """`{check: scope or None}` for the checks that fail on a node of `reports`; None if no scope is certain.

    A scope is `{"kind": "node", "group" or "everywhere", "by", "value", "failing", "judged", "unclear"}`; `by` and
    `value` name the group, the rest are numbers of nodes.
    """
    reached = [report for report in reports if report["summary"]["reached"]]
    traits = _traits(reached)
    return {check: _scope(sides, traits) for check, sides in sorted(_sides(reached).items()) if sides[_finding.FAIL]}


def scope_text(scope, hosts):
    """A scope as the rest of a sentence that begins with the failure; `hosts` are those on which the check fails."""
    judged = scope["judged"]
    if scope["kind"] == "everywhere":
        text = "on all %d nodes judged" % judged
    elif scope["kind"] == "node":
        text = "only on %s (%d nodes judged)" % (", ".join(hosts), judged)
    else:
        text = "on all nodes %s %s %s and no other (%d of %d judged)" % (
            "in" if scope["by"] == _GROUP else "with", scope["by"], scope["value"], scope["failing"], judged)
    return text + (", unknown or waived on %d" % scope["unclear"] if scope["unclear"] else "")


def _traits(reports):
    """[{trait: {value or None where it is not known: hosts}}]: of the variables that the user groups by, then of each
    report and of inventory groups."""
    found = dict(traits_of(reports), **{_GROUP: {}})
    for report in reports:
        for group in report.get("groups", ()):
            found[_GROUP].setdefault(group, set()).add(report["host"])
    named = {name: {} for report in reports for name in report.get("group_by") or ()}
    for name, values in named.items():
        for report in reports:
            values.setdefault((report.get("group_by") or {}).get(name), set()).add(report["host"])
    return [named, found]


def _sides(reports):
    """{check: {fail, unknown and pass: hosts}}; a host counts with its worst finding, and does not count if all are
    skipped."""
    found = {}
    for report in reports:
        statuses = {}
        for row in report["findings"]:
            statuses.setdefault(row["check"], set()).add(row["status"])
        for check, known in statuses.items():
            side = (_finding.FAIL if _finding.FAIL in known else
                    _finding.UNKNOWN if known & {_finding.UNKNOWN, _finding.WAIVED} else
                    _finding.PASS if _finding.PASS in known else None)
            if side:
                sides = found.setdefault(check, {_finding.FAIL: set(), _finding.UNKNOWN: set(), _finding.PASS: set()})
                sides[side].add(report["host"])
    return found


def _scope(sides, traits):
    failing, passing = sides[_finding.FAIL], sides[_finding.PASS]
    by = value = None
    if len(failing) + len(passing) < 2:
        return None
    if not passing:
        kind = "everywhere"
    elif len(failing) == 1:
        kind = "node"
    else:
        groups = next(filter(None, (_explaining(failing, failing | passing, each) for each in traits)), ())
        if len(groups) != 1:
            return None
        kind, (by, value) = "group", groups[0]
    return {"kind": kind, "by": by, "value": value, "failing": len(failing), "judged": len(failing) + len(passing),
            "unclear": len(sides[_finding.UNKNOWN])}


def _explaining(failing, judged, traits):
    """[(trait, value)] that all of `failing` have and no other of `judged`; a trait explains nothing if it is not known
    on all judged nodes."""
    return [(name, value) for name, values in traits.items() if judged.isdisjoint(values.get(None, _NO_HOSTS))
            for value, hosts in values.items() if failing <= hosts and hosts & judged == failing]
