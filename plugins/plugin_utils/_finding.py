# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one constructor of a finding, and the order of its two axes. PRIVATE to the collection."""

import re

PASS, FAIL, SKIP, UNKNOWN, WAIVED = "pass", "fail", "skip", "unknown", "waived"
STATUSES = (PASS, SKIP, WAIVED, UNKNOWN, FAIL)
SEVERITIES = ("info", "low", "medium", "high")
KEYS = ("check", "subject", "title", "problem", "status", "severity", "observed", "expected", "reason", "remediation",
        "waiver", "outcome", "evidence")
# Null where there is nothing to tell.
_NULLABLE = ("problem", "waiver", "outcome", "evidence")


def section_of(check_id):
    """The letters of an id of a check: KMOD, KPROXY, ..."""
    return check_id.rstrip("0123456789")


def finding(check, status, subject="", observed="", expected="", reason="", remediation="", waiver=None, problem=None,
            outcome=None, evidence=None):
    """A flat dict with always the same keys; `check` and `subject` together identify it in all runs."""
    return {
        "check": check.id, "subject": subject, "title": check.title, "problem": problem, "status": status,
        "severity": check.severity, "observed": observed, "expected": expected, "reason": reason,
        "remediation": remediation, "waiver": waiver, "outcome": outcome,
        "evidence": evidence,
    }


def is_finding(row):
    """Whether a row with the types of a finding has a status and a severity, and no text is null but those of problem,
    waiver, outcome and evidence."""
    texts = [row[key] for key in KEYS if key not in _NULLABLE]
    return row["status"] in STATUSES and row["severity"] in SEVERITIES and None not in texts


def problem_of(row):
    """What is wrong, in one line: the problem (or the title and the subject), and what was found and is wanted as far
    as it does not name them."""
    problem = row["problem"] or "%s: %s" % (row["title"], row["subject"])
    return "; ".join([problem] + ["%s: %s" % part for part in unsaid(row)])


def sentence_of(row):
    """What is wrong, with its waiver where it is waived; of what is unknown, what must hold and why that is not known.
    """
    if row["status"] == FAIL:
        return problem_of(row)
    if row["status"] == WAIVED and row["problem"]:
        return "%s; waived %s" % (problem_of(row), row["waiver"])
    return "%s: %s" % (row["title"], row["waiver"] or row["reason"] or row["subject"])


def unsaid(row):
    """[(word, text)]: what was found and what is wanted where the problem does not name it as whole words; of subjects
    that are only counted the title is what is wanted, which is no news."""
    return [(word, row[key]) for word, key in (("found", "observed"), ("wanted", "expected"))
            if row[key] not in ("", row["title"])
            and not re.search(r"(?<!\w)%s(?!\w)" % re.escape(row[key]), row["problem"] or "")]


def at_least(severity, threshold):
    """True where `severity` is as bad as `threshold` or worse."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(threshold)


def by_urgency(findings: list[dict]) -> list[dict]:
    """The findings, what fails worst first; those of a check in the order of the evidence, which begins with what
    breaks most."""
    return sorted(findings,
                  key=lambda row: (-STATUSES.index(row["status"]), -SEVERITIES.index(row["severity"]), row["check"]))


def summarise(findings):
    """How many of each status, and the worst severity that fails (None where nothing does)."""
    counts = dict.fromkeys((PASS, FAIL, SKIP, UNKNOWN, WAIVED), 0)
    for row in findings:
        counts[row["status"]] += 1
    failing = [row["severity"] for row in findings if row["status"] == FAIL]
    counts["worst"] = max(failing, key=SEVERITIES.index) if failing else None
    return counts
