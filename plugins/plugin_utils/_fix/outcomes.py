# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcomes of the findings that a fix worked on. PRIVATE to the collection.

The work of a fix on one subject.
"""

from collections.abc import Iterable
from typing import NamedTuple

from .. import _finding
from .._checks.evaluate import one_line

FIXED, WOULD_FIX, REFUSED, FAILED = "fixed", "would fix", "refused", "failed"


class Work(NamedTuple):
    """The failing findings that a module is to mend, and the options it is given; without options there is nothing to
    do."""

    findings: list[dict]
    options: dict


class Refusal(NamedTuple):
    """Why findings about `subject` stay: `outcome` is `refused` or `failed`."""

    subject: str
    outcome: str
    reason: str


NOTHING = Work([], {})


def of_message(result: dict, subjects: Iterable[str]) -> list[Refusal]:
    """The refusals of a module that failed as a whole: its message, for each of the subjects."""
    message = result.get("msg") if result.get("failed") or result.get("unreachable") else None
    return [Refusal(subject, FAILED, message) for subject in subjects] if message else []


_SENTENCES = {FAILED: "The fix was tried and failed: %s", REFUSED: "The fix was refused: %s"}
# Check mode tries nothing.
_SENTENCES_OF_CHECK_MODE = dict(_SENTENCES, **{FAILED: "The fix would fail: %s"})
_STAYS = "the change was made, but the check still fails"
_UNCHANGED = "the module found nothing to change"


def recorded(tried, findings, refusals, check_mode=False, changed=True):
    """The `findings` after a fix with its outcome: `tried` are the findings it worked on, `changed` is whether it
    changed anything.

    A finding that is gone stays as one that passes, so that a report shows what was fixed.
    """
    keys = {_key(row) for row in tried}
    rows = [_judged(row, refusals, check_mode, changed) if _key(row) in keys else row for row in findings]
    if check_mode:
        return rows
    gone = _gone(tried, rows, refusals)
    replaced = {row["check"] for row in gone}
    kept = [row for row in rows
            if not (row["check"] in replaced and row["status"] == _finding.PASS and not row["subject"])]
    return sorted(kept + gone, key=_key)


def kept(before, findings):
    """The `findings` of a later look, with those of `before` that were fixed and still pass."""
    fixed = [row for row in before or [] if row["outcome"] == FIXED]
    keys = {_key(row) for row in fixed}
    return [dict(row, outcome=FIXED) if row["status"] == _finding.PASS and _key(row) in keys else row
            for row in findings] + _gone(fixed, findings)


def failed(row: dict, reasons: list[str]) -> dict:
    """The finding with the reasons why its fix failed."""
    return _with_outcome(row, FAILED, reasons)


def refused(row: dict, reason: str) -> dict:
    """The finding with the reason why its fix was refused."""
    return _with_outcome(row, REFUSED, [reason])


def _section(row):
    return _finding.section_of(row["check"])


def _key(row):
    return row["check"], row["subject"]


def _judged(row, refusals, check_mode, changed):
    if row["status"] == _finding.PASS:
        return dict(row, outcome=FIXED)
    if row["status"] not in (_finding.FAIL, _finding.UNKNOWN):
        return row
    of_subject = [refusal for refusal in refusals if refusal.subject in row["subject"].split(" or ")]
    if of_subject:
        outcome = FAILED if any(refusal.outcome == FAILED for refusal in of_subject) else REFUSED
        return _with_outcome(row, outcome, [refusal.reason for refusal in of_subject], check_mode)
    if not changed and row["outcome"] == FAILED:
        return row  # An earlier round recorded the reason.
    if not changed:
        return _with_outcome(row, REFUSED, [_UNCHANGED])
    return dict(row, outcome=WOULD_FIX) if check_mode else _with_outcome(row, FAILED, [_STAYS])


def _with_outcome(row, outcome, reasons, check_mode=False):
    sentences = _SENTENCES_OF_CHECK_MODE if check_mode else _SENTENCES
    sentence = sentences[outcome] % "; ".join(dict.fromkeys(one_line(reason) for reason in reasons))
    reason = row["reason"] if not row["reason"] or row["reason"].endswith((".", "!", "?")) else row["reason"] + "."
    return dict(row, outcome=outcome,
                reason=row["reason"] if sentence in row["reason"] else ("%s %s" % (reason, sentence)).strip())


def _gone(tried, findings, refusals=()):
    """The findings that no longer fail, of checks that were judged again.

    A subject is not fixed where its check is unknown, where its module has a reason why it stays, or where it fails in
    another check of its section.
    """
    present = {_key(row) for row in findings}
    judged = {row["check"] for row in findings if row["status"] in (_finding.PASS, _finding.FAIL, _finding.WAIVED)}
    judged -= {row["check"] for row in findings if row["status"] == _finding.UNKNOWN}
    wrong = {(_section(row), row["subject"]) for row in findings if row["status"] in (_finding.FAIL, _finding.UNKNOWN)}
    refused_subjects = {refusal.subject for refusal in refusals}
    tried = [row for row in tried if (_section(row), row["subject"]) not in wrong
             and not refused_subjects & set(row["subject"].split(" or "))]
    return [dict(row, status=_finding.PASS, problem=None, observed="", reason="", remediation="", waiver=None,
                 evidence=None, outcome=FIXED) for row in tried
            if _key(row) not in present and row["check"] in judged and not row["subject"].startswith("and ")]
