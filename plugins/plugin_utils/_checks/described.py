# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of a check that reports print besides its findings. PRIVATE to the collection.

Checks of the collection are read from its files. Checks of the user are in the facts and in the report of each host
that they judged: two groups of hosts may have different checks, and a report may be read on a machine without the
files.
"""

from typing import NamedTuple

from . import catalogue

FACT = "node_assess_user_checks"


class Described(NamedTuple):
    """One check; a check of the collection has the `file` None."""

    why: str
    needs: tuple
    sources: tuple
    manual: str
    role: str
    fix_class: str
    file: str


def rows_of(checks, findings):
    """A row for each check of the user among `checks` (all checks by id) that has a finding."""
    judged = {row["check"] for row in findings}
    return [{"check": check.id, "file": check.file, "why": check.why, "needs": list(check.needs),
             "sources": list(check.sources), "manual": check.fix["manual"], "class": check.fix["class"]}
            for check in checks.values() if check.file and check.id in judged]


def of_reports(reports):
    """The rows of all reports, each check once."""
    return list({row["check"]: row for report in reports for row in report.get("user_checks") or ()}.values())


def described(check_id, rows=()):
    """The check with an id, from the collection or from `rows` of the user; None if it is in neither, which may happen
    with an earlier report."""
    check = catalogue.catalogue().get(check_id)
    if check:
        return Described(check.why, tuple(check.needs), tuple(check.sources), check.fix["manual"], check.fix["role"],
                         check.fix["class"], None)
    for row in rows:
        if row["check"] == check_id:
            return Described(row["why"] or "", tuple(row["needs"]), tuple(row["sources"]), row["manual"], None,
                             row["class"], row["file"])
    return None
