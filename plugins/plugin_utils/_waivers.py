# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: a failure somebody accepted, for a while. PRIVATE to the collection."""

import datetime
import fnmatch

from ..module_utils._errors import BadInput
from . import _finding
from ._options import unknown_name

_WAIVABLE = (_finding.FAIL, _finding.UNKNOWN)


def parse_waivers(rows, check_ids):
    """The waivers with their dates read. Raises BadInput for a date that is none and a check nobody knows."""
    waivers = []
    for index, row in enumerate(rows):
        name = "node_policy_waivers[%d]" % index
        if row["check"] not in check_ids:
            raise unknown_name("%s: the check" % name, row["check"], check_ids)
        try:
            # From Python 3.11 on fromisoformat() also takes 20270131 and weeks; a policy means the same on every
            # controller.
            expires = datetime.datetime.strptime(row["expires"], "%Y-%m-%d").date()
        except ValueError:
            raise BadInput("%s.expires is %r, but must be a date such as 2027-01-31" % (name, row["expires"])) from None
        waivers.append(dict(row, subject=row.get("subject") or "*", expires=expires))
    return waivers


def apply_waivers(findings, waivers, today):
    """The findings, with what is waived on `today` (a date in UTC) marked; an expired waiver changes no status and says
    so."""
    return [_waive(row, waivers, today) for row in findings]


def used(waivers, findings):
    """`[{"check", "subject", "matched"}]` of the waivers: whether one matches any of the findings, by subject pattern.

    None where that cannot be told: the check did not run or does not apply, what it looks at is unknown, or not all
    subjects are named.
    """
    rows = {(waiver["check"], waiver["subject"]): [row for row in findings if row["check"] == waiver["check"]]
            for waiver in waivers}
    return [{"check": check, "subject": pattern, "matched": _is_used(pattern, found)}
            for (check, pattern), found in sorted(rows.items())]


def _is_used(pattern, rows):
    if any(row["status"] in _WAIVABLE + (_finding.WAIVED,) and fnmatch.fnmatchcase(row["subject"], pattern)
           for row in rows):
        return True
    doubtful = not rows or any(row["status"] in (_finding.SKIP, _finding.UNKNOWN) or row["subject"].startswith("and ")
                               for row in rows)
    return None if doubtful else False


def _waive(row, waivers, today):
    if row["status"] not in _WAIVABLE:
        return row
    matching = [waiver for waiver in waivers
                if waiver["check"] == row["check"] and fnmatch.fnmatchcase(row["subject"], waiver["subject"])]
    if not matching:
        return row
    latest = max(matching, key=lambda waiver: waiver["expires"])
    words = "%s (%s)" % (latest["reason"], latest["owner"])
    if latest["expires"] < today:
        return dict(row, waiver="expired on %s, waives nothing: %s" % (latest["expires"].isoformat(), words))
    return dict(row, status=_finding.WAIVED, waiver="until %s: %s" % (latest["expires"].isoformat(), words))
