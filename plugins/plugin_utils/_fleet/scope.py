# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a failure local to a node, to a group of nodes, or everywhere? PRIVATE to the collection.

Only nodes on which a check passes or fails decide; a node with an unknown or waived result may be on either side, and
is counted. A group is named only if it contains all nodes that fail and no node that passes, and if it is the only such
group: with two, the cause would not be clear. The variables by which the user groups are tried first.

Values of the variables by which a user groups the hosts.

Traits of a node in reports: kernel, OS image, iptables, kube-proxy.
"""

import re

from ansible.errors import AnsibleError

from ...module_utils._errors import BadInput
from .. import _finding
from .._options import close_to
from .._plain import plain
from .._render.text import escaped

# Name of the trait and key of the summary.
TRAITS = (("kernel", "kernel"), ("OS image", "os"), ("iptables", "iptables"), ("kube-proxy", "kube_proxy"))


def traits_of(reports: list) -> dict:
    """`{trait: {value or None where it is not known: {host}}}` of reports."""
    found = {name: {} for name, _key in TRAITS}
    for report in reports:
        for name, key in TRAITS:
            # The summary has "kernel 6.1".
            value = (report["summary"].get(key) or "").removeprefix("kernel ") or None
            found[name].setdefault(value, set()).add(report["host"])
    return found


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


# Hosts are always grouped by these.
_ALWAYS = ("groups", *(key for _name, key in TRAITS))
_MOST = 10
_LONGEST = 100
_CAUSE = 300
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def checked_names(names: "list | None") -> list:
    """The variables among `names`, each once. Raises BadInput."""
    for name in names or ():
        if not _NAME.match(name):
            raise BadInput("group_by: %r is not the name of a variable" % name[:_LONGEST])
    chosen = list(dict.fromkeys(name for name in names or () if name not in _ALWAYS))
    if len(chosen) > _MOST:
        raise BadInput("group_by names %d variables, but at most %d are taken" % (len(chosen), _MOST))
    return chosen


def values_of(variables: list, hosts, others, hostvars) -> dict:
    """`{host: {variable: text}}` of `hosts`, without variables that are not set for it. Raises BadInput for a value
    that is no scalar, and for a variable that is set neither for one of `hosts` nor for one of `others`."""
    found = {host: _set_for(host, variables, hostvars[host]) for host in (hosts if variables else ())}
    for name in variables:
        if not any(name in values for values in found.values()) and not any(
                hostvars[host].get(name) is not None for host in others):
            known = {str(key) for host in [*hosts, *others][:1] for key in hostvars[host]}
            near = close_to(name, known, cutoff=0.7)
            raise BadInput("group_by: the variable %s is set for no host of this play%s"
                           % (name, "; did you mean %s?" % near if near else ""))
    return found


def _set_for(host, variables, known):
    values = {name: _value_of(host, name, known) for name in variables}
    return {name: value for name, value in values.items() if value is not None}


def _value_of(host, name, known):
    try:
        value = plain(known.get(name))
    except AnsibleError as error:
        raise BadInput("group_by: %s of host %s cannot be templated: %s"
                       % (name, host, escaped(str(error))[:_CAUSE])) from None
    if isinstance(value, bool):
        value = str(value).lower()
    if value is None or value == "":
        return None
    if not isinstance(value, (str, int, float)):
        raise BadInput("group_by: %s of host %s is a %s, but must be a text, a number, or true or false"
                       % (name, host, "list" if isinstance(value, list) else "dictionary"))
    text = str(value)
    if len(text) > _LONGEST:
        raise BadInput("group_by: %s of host %s has %d characters, but at most %d are taken"
                       % (name, host, len(text), _LONGEST))
    return text
