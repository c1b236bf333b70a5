# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes between two runs, or the differences between two nodes, as pure functions. PRIVATE to the collection.

Node, check and subject identify a finding. Like is compared with like: a failure is new only if the earlier run judged
its check on its node, and fixed only if the later one did. A report lists only the first of many subjects: a subject
that may be among the rest is still failing.
"""

import re

from .. import _finding

NEW, FIXED, STILL, JUDGED, UNKNOWN, LOST = KINDS = (
    "new", "fixed", "still_failing", "newly_judged", "newly_unknown", "no_longer_judged")
WORDS = {NEW: "new", FIXED: "fixed", STILL: "still failing", JUDGED: "newly judged", UNKNOWN: "newly unknown",
         LOST: "no longer judged"}
ASSESSED = "assessed"
_REST = re.compile(r"and [0-9]{1,9} more\Z")
_TRAITS = ("os", "kernel", "iptables", "kube_proxy", "needs")


def of_runs(before: dict, after: dict) -> dict:
    """The changes between two runs, each `{"fleet": roll-up, "reports": {host: report}}`, on the hosts that both
    assessed. A host that was not reached is one row of `not_reached`, and no change."""
    then, now = ({row["host"]: row for row in run["fleet"]["hosts"]} for run in (before, after))
    assessed = {host for host, row in now.items() if row["status"] == ASSESSED}
    was_assessed = {host for host, row in then.items() if row["status"] == ASSESSED}
    rows, left_out = [], set()
    for host in sorted(assessed & was_assessed):
        was, findings = _findings(before, host), _findings(after, host)
        rows += [dict(row, host=host) for row in of_findings(was, findings)]
        left_out |= {row["check"] for row in was} ^ {row["check"] for row in findings}
    return dict(_counted(rows), schema=1, kind="runs", before=_named(before), after=_named(after),
                compared_hosts=len(assessed & was_assessed), left_out_checks=sorted(left_out),
                new_hosts=sorted(assessed - set(then)), gone_hosts=sorted(set(then) - set(now)),
                reached_again=sorted(assessed & set(then) - was_assessed),
                not_reached=[{"host": host, "status": now[host]["status"], "reason": now[host]["reason"] or "",
                              "was": then[host]["status"] if host in then else None}
                             for host in sorted(set(now) - assessed)])


def counts_text(changes: dict, words: "dict | None" = None) -> str:
    """The number of changes of each kind, in `words` for it, by default WORDS."""
    return ", ".join("%d %s" % (changes["totals"][kind], (words or WORDS)[kind]) for kind in KINDS)


def of_nodes(run: dict, first: str, second: str) -> dict:
    """How the node `second` of a run differs from `first`: `new` are failures on `second` alone, `fixed` are failures
    of `first` that `second` passes."""
    one, two = run["reports"][first], run["reports"][second]
    traits = [{"by": name, "first": one["summary"].get(name), "second": two["summary"].get(name)} for name in _TRAITS
              if one["summary"].get(name) != two["summary"].get(name)]
    rows = [dict(row, host=second) for row in of_findings(one["findings"], two["findings"])]
    return dict(_counted(rows), schema=1, kind="nodes", run=_named(run), nodes=[first, second], traits=traits)


def of_findings(before: list, after: list) -> list:
    """Rows of the changes on one node, the worst first: `change`, `was` and `is` beside the texts of the finding."""
    then, now = by_check(before), by_check(after)
    rows = []
    for check in sorted(set(then) | set(now)):
        rows += _of_check(then.get(check, {}), now.get(check, {}))
    return sorted(rows, key=lambda row: (KINDS.index(row["change"]), -_finding.SEVERITIES.index(row["severity"]),
                                         row["check"], row["subject"]))


def _of_check(then, now):
    """Rows of one check; `then` and `now` are its findings by subject; the finding that counts the rest of many has the
    key None."""
    gone = {subject for subject, row in then.items() if row["status"] == _finding.FAIL and subject not in now}
    for subject, row in now.items():
        was = then.get(subject)
        if row["status"] == _finding.FAIL:
            earlier = was["status"] if was else _rest_of(then)
            yield _row(STILL if earlier == _finding.FAIL else JUDGED if earlier in _NOT_JUDGED else NEW, row, earlier,
                       _finding.FAIL)
        elif (row["status"] == _finding.UNKNOWN and not gone and then
              and not (was and was["status"] in (_finding.UNKNOWN, _finding.FAIL))):
            # An earlier failure gets its own row below.
            yield _row(UNKNOWN, row, was["status"] if was else _rest_of(then), _finding.UNKNOWN)
    for subject, row in then.items():
        if row["status"] == _finding.FAIL and (subject in gone or now[subject]["status"] != _finding.FAIL):
            status = _rest_of(now) if subject in gone else now[subject]["status"]
            yield _row(_ENDS[status], row, _finding.FAIL, status)


def _rest_of(rows):
    """The status of a subject that the findings of its check do not list."""
    statuses = {row["status"] for row in rows.values()}
    if None in rows:
        return _finding.FAIL
    if _finding.UNKNOWN in statuses:
        return _finding.UNKNOWN
    if statuses & {_finding.PASS, _finding.FAIL, _finding.WAIVED}:
        return _finding.PASS
    return _finding.SKIP if statuses else None


_ENDS = {_finding.PASS: FIXED, _finding.FAIL: STILL, _finding.UNKNOWN: UNKNOWN, _finding.WAIVED: LOST,
         _finding.SKIP: LOST, None: LOST}
# Statuses before that say nothing about a finding that fails now.
_NOT_JUDGED = (_finding.UNKNOWN, None)


def by_check(findings: list) -> dict:
    """{check: {subject: finding}}; the finding that counts the rest of many subjects has the key None."""
    found = {}
    for row in findings:
        subject = None if _REST.match(row["subject"]) and row["status"] == _finding.FAIL else row["subject"]
        found.setdefault(row["check"], {})[subject] = row
    return found


def _row(change, row, was, now):
    text = {_finding.FAIL: _finding.problem_of, _finding.WAIVED: lambda each: each["waiver"] or ""}.get(
        row["status"], lambda each: each["reason"])(row)
    return {"change": change, "check": row["check"], "subject": row["subject"], "title": row["title"],
            "severity": row["severity"], "was": was, "is": now, "text": text}


def _counted(rows):
    return {"totals": {kind: sum(row["change"] == kind for row in rows) for kind in KINDS}, "rows": rows}


def _findings(run, host):
    """The findings of a host, without those of checks that its policy disables: these are not judged."""
    report = run["reports"].get(host) or {"findings": [], "summary": {}}
    disabled = {row["check"] for row in report["summary"].get("disabled") or ()}
    return [row for row in report["findings"] if row["check"] not in disabled]


def _named(run):
    return {"run": run["fleet"]["run"], "started": run["fleet"]["started"]}
