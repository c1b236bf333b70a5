# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node is fit for traffic, and the sentences that explain why not. PRIVATE to the collection.

Unknown findings grouped by cause: users fix a cause, not each check that rests on it.
"""

from typing import NamedTuple

from .. import _finding, _run
from .._fix.select import facts_of
from .._options import checked
from .._render.text import some
from . import catalogue
from .catalogue import described

_DENIED = "denied"
# A sentence names at most this many checks; the report names all.
_NAMED = 5


def needing_root(findings: list[dict], checks, evidence: dict) -> list[str]:
    """Ids of the checks that are unknown because the look was not made as root: access to a section that they need was
    denied."""
    if (evidence.get("node_host") or {}).get("as_root") is not False:
        return []
    denied = {name for name, section in evidence.items() if _DENIED in (section.get("collected") or {}).values()}
    needing = {check.id for check in checks if not denied.isdisjoint(need.partition(".")[0] for need in check.needs)}
    return sorted(needing & {row["check"] for row in findings if row["status"] == _finding.UNKNOWN})


def by_cause(findings, needs_root, below=(), severity=None):
    """[(findings, sentence)] of the unknown findings, in their order; a check whose cause no other check shares gets
    None as sentence. `below` are further unknown findings, below `severity`: they are in no row, but a sentence counts
    them, so that its number matches a table of all findings."""
    causes = _causes(findings, needs_root)
    others = _causes(below, needs_root)
    return [(rows, _sentence(cause, checks_of(rows), len(checks_of(others.get(cause, ()))), severity))
            for cause, rows in causes.items()]


def _causes(findings, needs_root):
    causes = {}
    for row in findings:
        if row["status"] == _finding.UNKNOWN:
            causes.setdefault(None if row["check"] in needs_root else row["reason"], []).append(row)
    return causes


def _sentence(cause, checks, others, severity):
    number, one = len(checks), len(checks) == 1
    if others:
        counted = "%d of %d unknown checks %s %s" % (number, number + others, "is" if one else "are",
                                                     severity if severity == "high" else severity + " or higher")
    else:
        counted = "%d %s unknown" % (number, "check" if one else "checks")
    if cause is None:
        return "not run as root: %s, use --become" % counted
    return None if one else "%s (%s): %s" % (counted, some(checks, _NAMED), cause)


def checks_of(findings: list[dict]) -> list[str]:
    """The ids of the findings, each once."""
    return list(dict.fromkeys(row["check"] for row in findings))


LEVELS = ("fail", "warn", "ignore")


class Weighed(NamedTuple):
    """The findings of one level, the worst failure first, and ids of checks that are unknown because the look was not
    made as root; and the reason why nothing was judged, or not all of the answer. `below` are the unknown findings
    below `severity`, which the sentences only count."""

    findings: list[dict]
    needs_root: tuple[str, ...] | list[str]
    reason: str | None
    below: tuple[dict, ...] | list[dict] = ()
    severity: str | None = None


def weighed(facts, severity, unknown, unreached, waived="ignore", classes=catalogue.FIX_CLASSES, known=frozenset()):
    """({level: Weighed}, counts): the failing, unknown and waived findings at `severity` or above, by the level that
    the settings give them, and the number of findings of each status. A failure with a fix of a class that is not among
    `classes` is a warning; a finding that is among `known`, {(check, subject)}, does not block."""
    summary = _run.summary_of(facts_of(facts))
    findings = _run.findings_of(facts) if summary else []
    return weighed_rows(summary, findings, severity, unknown, unreached, waived, classes, _run.user_checks_of(facts),
                        known)


def weighed_rows(summary, findings, severity, unknown, unreached, waived="ignore", classes=catalogue.FIX_CLASSES,
                 users=(), known=frozenset()):
    """The same for a summary and its findings."""
    checked("severity", severity, {"type": "str", "choices": _finding.SEVERITIES})
    checked("unknown", unknown, {"type": "str", "choices": LEVELS})
    checked("unreached", unreached, {"type": "str", "choices": LEVELS})
    checked("waived", waived, {"type": "str", "choices": LEVELS})
    reason = _not_judged(summary, findings)
    if reason:
        return {level: Weighed([], (), reason if level == unreached else None) for level in LEVELS}, None
    level_of = {_finding.FAIL: "fail", _finding.UNKNOWN: unknown, _finding.WAIVED: waived}
    rows = [row for row in _finding.by_urgency(findings) if _finding.at_least(row["severity"], severity)]
    levels = {level: [] for level in LEVELS}
    for row in rows:
        level = level_of.get(row["status"])
        if level == "fail" and not _is_of(row, classes, users):
            level = "warn"
        if level and not (level == "fail" and (row["check"], row["subject"]) in known):
            levels[level].append(row)
    below = [row for row in findings if row["status"] == _finding.UNKNOWN
             and not _finding.at_least(row["severity"], severity)]
    reason = _not_usable(summary.get("unusable"))
    return {level: Weighed(found, summary["needs_root"], reason if level == unreached else None, below, severity)
            for level, found in levels.items()}, summary


def _is_of(row, classes, users):
    """Whether a finding counts with these classes of fixes; a finding of a check without a class always counts."""
    check = described(row["check"], users)
    return row["status"] != _finding.FAIL or not check or check.fix_class in (None, *classes)


def _not_judged(summary, findings):
    if not summary:
        return "this run has not assessed the node"
    if not summary["reached"]:
        return "the node was not assessed: %s" % summary["reason"]
    if not findings:
        return ("no check ran on the node: node_assess_sections, node_assess_checks and node_assess_skip exclude all "
                "checks")
    return None


def _not_usable(unusable):
    """The sentence about sections that an answer lacks or that do not fit, or None. By such an answer a node could hide
    a fault."""
    if not unusable:
        return None
    others = len(unusable) - 1
    more = " (and %d more section%s)" % (others, "s" if others > 1 else "") if others else ""
    return ("%s%s; assess the node again, and if the answer stays so, look on the node for what changes it, or report a "
            "bug of this collection" % (unusable[0]["reason"], more))


def sentences(level):
    """The reason why not all was judged, and one sentence for each failing or waived finding and for each cause of
    unknown findings."""
    failing = [level.reason] if level.reason else []
    failing += ["%s (%s) %s" % (row["check"], row["severity"], _finding.problem_of(row)) for row in _failing(level)]
    failing += ["%s (%s) is waived %s" % (row["check"], row["severity"], row["waiver"]) for row in _waived(level)]
    return failing + [sentence or "%s (%s) is unknown: %s" % (rows[0]["check"], rows[0]["severity"], rows[0]["reason"])
                      for rows, sentence in by_cause(level.findings, level.needs_root, level.below,
                                                     level.severity)]


def _failing(level):
    return [row for row in level.findings if row["status"] == _finding.FAIL]


def _waived(level):
    return [row for row in level.findings if row["status"] == _finding.WAIVED]
