# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reports print of a check besides its findings. PRIVATE to the collection.

Checks of the collection are read from its files. Those of the user stand in the facts and the report of each host that
they judged: two groups may have different ones, and a report is read where the files are not.
"""

from typing import NamedTuple

from . import _catalogue

FACT = "node_assess_user_checks"


class Described(NamedTuple):
    """One check; `file` is None for those of the collection."""

    why: str
    needs: tuple
    sources: tuple
    manual: str
    role: str
    fix_class: str
    file: str


def rows_of(checks, findings):
    """A row for each check of the user among `checks`, all by id, that one of the findings is of."""
    judged = {row["check"] for row in findings}
    return [{"check": check.id, "file": check.file, "why": check.why, "needs": list(check.needs),
             "sources": list(check.sources), "manual": check.fix["manual"], "class": check.fix["class"]}
            for check in checks.values() if check.file and check.id in judged]


def of_reports(reports):
    """The rows of all reports, each check once."""
    return list({row["check"]: row for report in reports for row in report.get("user_checks") or ()}.values())


def described(check_id, rows=()):
    """The check of an id, which is of the collection or in `rows` of the user; None where it is in neither, as an
    earlier report may have it."""
    check = _catalogue.catalogue().get(check_id)
    if check:
        return Described(check.why, tuple(check.needs), tuple(check.sources), check.fix["manual"], check.fix["role"],
                         check.fix["class"], None)
    for row in rows:
        if row["check"] == check_id:
            return Described(row["why"] or "", tuple(row["needs"]), tuple(row["sources"]), row["manual"], None,
                             row["class"], row["file"])
    return None
