# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on one host, in the same words for every format. PRIVATE to the collection."""

from .. import _finding, _run
from .._checks import verdict as _levels
from . import judge
from .judge import CERTAINTIES, EFFECTS

BLOCKED, FIT, UNKNOWN, NO_NODE, NOT_REACHED = STATES = "blocked", "fit", "not_known", "no_node", "not_reached"
_ROOT = "not root"


def verdict_of(summary, findings, causes, settings, users=()):
    """`{"state", "because", "low", "others", "more", "severity", "blocking", "known", "note"}` by the settings of
    node_gate, with `baseline` as `_runs.baseline` reads it: the state, the text that explains it, how many findings of
    severity low or info fail, how many others fail that the settings let pass, how many further causes block, the
    severity from which on a finding counts, the findings that block, rows of `check` and `subject`, how many failing
    findings the baseline has, and why it does not count. `users` are the texts of the user's checks, see
    described.py."""
    known = known_of(findings, causes, settings) if summary["reached"] else frozenset()
    found = _judged(summary, findings, causes, settings, users, known)
    failing = [row for row in findings if row["status"] == _finding.FAIL]
    new = [row for row in failing if (row["check"], row["subject"]) not in known | blocking_of(found)]
    others = sum(_finding.at_least(row["severity"], "medium") for row in new) if summary["reached"] else 0
    return dict(found, low=len(new) - others, others=others,
                known=sum((row["check"], row["subject"]) in known for row in failing),
                note=settings["baseline"].note if settings["baseline"] and summary["reached"] else "")


def not_assessed(settings):
    """The verdict on a host that this run has not assessed."""
    return _row(settings, UNKNOWN, "this run has not assessed it")


def causes_in(facts):
    """The causes among the facts of a host; none where a word of them is unknown, because facts may be damaged."""
    rows = _run.part_of(facts, "node_assess_causes") or []
    whole = all(row["felt"] in EFFECTS and row["certainty"] in CERTAINTIES and row["severity"] in _finding.SEVERITIES
                for row in rows)
    return rows if whole else []


def known_of(findings, causes, settings):
    """{(check, subject)} of the findings that the baseline of the settings has, as bad as they are."""
    return settings["baseline"].known(findings, causes) if settings["baseline"] else frozenset()


def _judged(summary, findings, causes, settings, users, known):
    if not summary["reached"]:
        return _row(settings, NOT_REACHED, summary["reason"] or "")
    levels, _counts = _levels.weighed_rows(summary, findings, *(settings[name] for name in (
        "severity", "unknown", "unreached", "waived", "classes")), users=users, known=known)
    blocking = levels["fail"]
    names = {(row["check"], row["subject"]) for row in blocking.findings if row["status"] == _finding.FAIL}
    of = [cause for cause in causes if blocks(cause, names)]
    if of:
        return _row(settings, BLOCKED, _because(of[0], blocking.findings, known), len(of) - 1, blocking.findings)
    if blocking.reason or blocking.findings:
        return _row(settings, BLOCKED, blocking.reason or _finding.sentence_of(blocking.findings[0]), 0,
                    blocking.findings)
    if not findings:
        return _row(settings, UNKNOWN, "no check ran on it")
    doubts = sorted((row for row in findings if row["status"] == _finding.UNKNOWN), reverse=True,
                    key=lambda row: _finding.at_least(row["severity"], settings["severity"]))
    # The settings decide whether doubts count; their number is that of the blocks below the verdict.
    if doubts and _finding.at_least(doubts[0]["severity"], settings["severity"]):
        checks = len({row["check"] for row in doubts})
        because = _reasons([_ROOT if row["check"] in summary["needs_root"] else row["reason"] for row in doubts])
        return _row(settings, UNKNOWN, "%d %s could not look (%s)" % (
            checks, "check" if checks == 1 else "checks", because))
    if summary.get("place") == "container" and summary.get("kubelet") == "absent":
        return _row(settings, NO_NODE, "it is a container without kubelet; %d checks were skipped" % summary["skip"])
    return _row(settings, FIT, "")


def _reasons(reasons):
    """The first reason, but the missing rights before any other, and how many more there are."""
    different = sorted(dict.fromkeys(reasons), key=lambda reason: reason != _ROOT)
    more = len(different) - 1
    return different[0] + (", and %d more %s" % (more, "reason" if more == 1 else "reasons") if more else "")


def _because(cause, blocking, known):
    """The short sentence of a cause, or the problem of a finding that blocks: the sentence of a cause that also
    explains findings of the baseline may be about one of them."""
    names = judge.names_of(cause)
    return cause["short"] if not names & known else next(
        row["problem"] or row["title"] for row in blocking if (row["check"], row["subject"]) in names)


def _row(settings, state, because, more=0, blocking=()):
    return {"state": state, "because": because, "low": 0, "others": 0, "more": more, "severity": settings["severity"],
            "blocking": [{"check": row["check"], "subject": row["subject"]} for row in blocking], "known": 0,
            "note": ""}


def blocking_of(verdict):
    """The findings that block, {(check, subject)}."""
    return {(row["check"], row["subject"]) for row in verdict["blocking"]}


def blocks(cause, blocking):
    """Whether a cause explains one of the findings that block, the result of blocking_of()."""
    return any((row["check"], row["subject"]) in blocking for row in cause["explains"])


def sentence(host, verdict):
    """The verdict as one sentence."""
    because = judge.within(verdict["because"])
    more = "cause" if verdict["more"] == 1 else "causes"
    more = " (and %d more %s)" % (verdict["more"], more) if verdict["more"] else ""
    beside = ["%d %s" % (number, noun % ("finding" if number == 1 else "findings")) for number, noun in (
        (verdict["low"], "low %s"), (verdict["others"], "%s that the gate lets pass"),
        (verdict["known"], "%s of the baseline")) if number]
    return {
        BLOCKED: "%s is not fit for traffic: %s%s" % (host, because, more),
        FIT: "%s is fit for traffic%s" % (host, " (%s)" % ", ".join(beside) if beside else ""),
        UNKNOWN: "%s is not known: %s" % (host, because),
        NO_NODE: "%s is not a node: %s" % (host, because),
        NOT_REACHED: "%s was not reached: %s" % (host, because),
    }[verdict["state"]] + ("; " + verdict["note"] if verdict["note"] else "")
