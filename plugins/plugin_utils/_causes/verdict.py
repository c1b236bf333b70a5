# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on one host, in the same words for every format. PRIVATE to the collection."""

from .. import _finding
from .._checks import verdict as _levels
from . import judge

BLOCKED, FIT, UNKNOWN, NO_NODE, NOT_REACHED = STATES = "blocked", "fit", "not_known", "no_node", "not_reached"
_ROOT = "not root"


def verdict_of(summary, findings, causes, settings, users=()):
    """`{"state", "because", "low", "more", "severity", "blocking"}` by the settings of node_gate: the state, the text
    that explains it, how many findings fail and do not block, how many further causes block, the severity from which
    on a finding counts, and the findings that block, rows of `check` and `subject`. `users` are the texts of the
    user's checks, see described.py."""
    if not summary["reached"]:
        return _row(settings, NOT_REACHED, summary["reason"] or "")
    levels, _counts = _levels.weighed_rows(summary, findings, *(settings[name] for name in (
        "severity", "unknown", "unreached", "waived", "classes")), users=users)
    blocking = levels["fail"]
    names = {(row["check"], row["subject"]) for row in blocking.findings if row["status"] == _finding.FAIL}
    low = sum(row["status"] == _finding.FAIL for row in findings) - len(names)
    of = [cause for cause in causes if blocks(cause, names)]
    if of:
        return _row(settings, BLOCKED, of[0]["short"], low, len(of) - 1, blocking.findings)
    if blocking.reason or blocking.findings:
        return _row(settings, BLOCKED, blocking.reason or _finding.sentence_of(blocking.findings[0]), low, 0,
                    blocking.findings)
    if not findings:
        return _row(settings, UNKNOWN, "no check ran on it")
    doubts = [row for row in findings if row["status"] == _finding.UNKNOWN
              and _finding.at_least(row["severity"], settings["severity"])]
    if doubts:
        checks = len({row["check"] for row in doubts})
        because = _ROOT if any(row["check"] in summary["needs_root"] for row in doubts) else doubts[0]["reason"]
        return _row(settings, UNKNOWN, "%d %s could not look (%s)" % (
            checks, "check" if checks == 1 else "checks", because), low)
    if summary.get("place") == "container" and summary.get("kubelet") == "absent":
        return _row(settings, NO_NODE, "it is a container without kubelet; %d checks were skipped" % summary["skip"],
                    low)
    return _row(settings, FIT, "", low)


def _row(settings, state, because, low=0, more=0, blocking=()):
    return {"state": state, "because": because, "low": low, "more": more, "severity": settings["severity"],
            "blocking": [{"check": row["check"], "subject": row["subject"]} for row in blocking]}


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
    low = verdict["low"]
    return {
        BLOCKED: "%s is not fit for traffic: %s%s" % (host, because, more),
        FIT: "%s is fit for traffic%s" % (host, " (%d low %s)" % (low, "finding" if low == 1 else "findings")
                                          if low else ""),
        UNKNOWN: "%s is not known: %s" % (host, because),
        NO_NODE: "%s is not a node: %s" % (host, because),
        NOT_REACHED: "%s was not reached: %s" % (host, because),
    }[verdict["state"]]

