# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only constructor of a finding, and the orders of statuses and severities. PRIVATE to the collection."""

import re

PASS, FAIL, SKIP, UNKNOWN, WAIVED = "pass", "fail", "skip", "unknown", "waived"
STATUSES = (PASS, SKIP, WAIVED, UNKNOWN, FAIL)
SEVERITIES = ("info", "low", "medium", "high")
KEYS = ("check", "subject", "title", "problem", "status", "severity", "observed", "expected", "reason", "remediation",
        "waiver", "outcome", "evidence")
_OTHERS = re.compile(r"and \d+ more\Z")
# Keys that are null if they do not apply.
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
    """Whether a row with the types of a finding has a valid status and severity, and no text is null except problem,
    waiver, outcome and evidence."""
    texts = [row[key] for key in KEYS if key not in _NULLABLE]
    return row["status"] in STATUSES and row["severity"] in SEVERITIES and None not in texts


def problem_of(row):
    """A failure in one line: the problem (or the title and the subject), and the observed and expected values that the
    problem does not name."""
    problem = row["problem"] or "%s: %s" % (row["title"], row["subject"])
    return "; ".join([problem] + ["%s: %s" % part for part in unsaid(row)])


def sentence_of(row):
    """The problem of a failure, with its waiver if it is waived; of an unknown finding, its title and why it is
    unknown.
    """
    if row["status"] == FAIL:
        return problem_of(row)
    if row["status"] == WAIVED and row["problem"]:
        return "%s; waived %s" % (problem_of(row), row["waiver"])
    return "%s: %s" % (row["title"], row["waiver"] or row["reason"] or row["subject"])


def unsaid(row):
    """[(word, text)]: the observed and the expected value, unless the problem names it as whole words. The finding that
    counts further subjects has the title as expected value, which adds nothing."""
    return [(word, row[key]) for word, key in (("found", "observed"), ("wanted", "expected"))
            if row[key] not in ("", row["title"])
            and not re.search(r"(?<!\w)%s(?!\w)" % re.escape(row[key]), row["problem"] or "")]


def counts_others(row):
    """Whether a failure only counts the subjects that are not listed."""
    return row["status"] == FAIL and bool(_OTHERS.match(row["subject"]))


def at_least(severity, threshold):
    """True if `severity` is as bad as `threshold` or worse."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(threshold)


def by_urgency(findings: list[dict]) -> list[dict]:
    """The findings, the worst failures first; findings of one check in the order of the evidence, which begins with the
    rows that break most."""
    return sorted(findings,
                  key=lambda row: (-STATUSES.index(row["status"]), -SEVERITIES.index(row["severity"]), row["check"]))


def summarise(findings):
    """The number of findings of each status, and the worst severity of a failure (None without a failure)."""
    counts = dict.fromkeys((PASS, FAIL, SKIP, UNKNOWN, WAIVED), 0)
    for row in findings:
        counts[row["status"]] += 1
    failing = [row["severity"] for row in findings if row["status"] == FAIL]
    counts["worst"] = max(failing, key=SEVERITIES.index) if failing else None
    return counts
