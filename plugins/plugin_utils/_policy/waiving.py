# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: failures that a user accepts until a date. PRIVATE to the collection."""

import datetime
import fnmatch
import re

from ...module_utils._errors import BadInput
from .. import _finding
from .._options import unknown_name

# A waiver is reported from this many days before its end.
SOON = 14
# The keys that identify a waiver.
KEYS = ("check", "host", "subject", "owner", "expires")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})\Z", re.ASCII)
_WAIVABLE = (_finding.FAIL, _finding.UNKNOWN)


def parse_waivers(rows, check_ids):
    """The waivers with parsed dates. Raises BadInput for an invalid date and for an unknown check."""
    waivers = []
    for index, row in enumerate(rows):
        name = "node_policy_waivers[%d]" % index
        if row["check"] not in check_ids:
            raise unknown_name("%s: the check" % name, row["check"], check_ids)
        try:
            expires = date_of(row["expires"])
        except ValueError:
            raise BadInput("%s.expires is %r, but must be a date such as 2027-01-31" % (name, row["expires"])) from None
        waivers.append(dict(row, host=row.get("host") or "*", subject=row.get("subject") or "*", expires=expires))
    return waivers


def date_of(text: str) -> datetime.date:
    """The date in a text such as 2027-01-31. Raises ValueError.

    From Python 3.11 on fromisoformat() also takes 20270131 and weeks, but a policy means the same on every controller;
    strptime() would be imported anew by each worker.
    """
    found = _DATE.match(text)
    if not found:
        raise ValueError(text)
    return datetime.date(*map(int, found.groups()))


def of_host(waivers: tuple, host: str) -> tuple:
    """The waivers whose pattern matches the name of a host."""
    return tuple(waiver for waiver in waivers if _matches(host, waiver["host"]))


def without_host(waivers: tuple, host: str, inventory) -> tuple:
    """The waivers whose pattern matches neither `host` nor any other name in `inventory`, a list."""
    return tuple(waiver for waiver in waivers if not _matches(host, waiver["host"])
                 and waiver["host"] not in inventory and not fnmatch.filter(inventory, waiver["host"]))


def refuse_groups(waivers, groups):
    """Raises BadInput for a waiver whose pattern for hosts is the name of one of the `groups` {name: hosts}: such a
    waiver would match no host and never be reported."""
    for index, waiver in enumerate(waivers):
        if waiver["host"] in groups and waiver["host"] not in (groups.get("all") or ()):
            raise BadInput("node_policy_waivers[%d].host is %r, which is a group, but must be a pattern for the names of "
                           "hosts; for a group set node_policy_waivers among its variables" % (index, waiver["host"]))


def _matches(name, pattern):
    """Whether a pattern matches; the name itself does, too, such as that of an endpoint [fd00::1]:443."""
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def apply_waivers(findings, waivers, today):
    """The findings; a finding that a waiver covers on `today` (a date in UTC) is marked as waived. An expired waiver
    changes no status; the finding names its expiry date."""
    return [_waive(row, waivers, today) for row in findings]


def used(waivers, findings, today, idle=()):
    """A row for each waiver: its patterns, owner and last day, how many days are left after `today` (a date in UTC;
    negative where it has expired), and whether it matches any of the findings.

    `matched` becomes None if that is not known: the check did not run or does not apply, its result is unknown, or not
    all subjects are named. Waivers that are `idle` are for no host of the inventory and match nothing.
    """
    rows = {}
    for waiver in (*waivers, *idle):
        found = [row for row in findings if row["check"] == waiver["check"]]
        row = {"check": waiver["check"], "host": waiver["host"], "subject": waiver["subject"], "owner": waiver["owner"],
               "expires": waiver["expires"].isoformat(), "days_left": (waiver["expires"] - today).days,
               "matched": waiver not in idle and _is_used(waiver["subject"], found)}
        rows[tuple(row[key] for key in KEYS)] = row
    return [rows[key] for key in sorted(rows)]


def name_of(row):
    """The name of a row of `used`: its check and its patterns, without patterns that match everything."""
    patterns = [form % row[key] for form, key in ((" '%s'", "subject"), (" on '%s'", "host")) if row[key] != "*"]
    return "waiver for %s%s" % (row["check"], "".join(patterns))


def ending(row):
    """The sentence about a waiver that has expired or will expire within SOON days; None for others."""
    return _ending(name_of(row), row["days_left"], row["expires"], row["owner"])


def end_of(name: str, expires: datetime.date, today: datetime.date, owner: str) -> "str | None":
    """The same about what `name` names."""
    return _ending(name, (expires - today).days, expires.isoformat(), owner)


def _ending(name, days_left, expires, owner):
    if days_left > SOON:
        return None
    when = ("expired on %s" % expires if days_left < 0 else "ends today" if not days_left else
            "ends in %d day%s, on %s" % (days_left, "" if days_left == 1 else "s", expires))
    return "%s %s (owner: %s)" % (name, when, owner)


def _is_used(pattern, rows):
    if any(row["status"] in _WAIVABLE + (_finding.WAIVED,) and _matches(row["subject"], pattern)
           for row in rows):
        return True
    doubtful = not rows or any(row["status"] in (_finding.SKIP, _finding.UNKNOWN) or row["subject"].startswith("and ")
                               for row in rows)
    return None if doubtful else False


def _waive(row, waivers, today):
    if row["status"] not in _WAIVABLE:
        return row
    matching = [waiver for waiver in waivers
                if waiver["check"] == row["check"] and _matches(row["subject"], waiver["subject"])]
    if not matching:
        return row
    latest = max(matching, key=lambda waiver: waiver["expires"])
    words = "%s (%s)" % (latest["reason"], latest["owner"])
    if latest["expires"] < today:
        return dict(row, waiver="expired on %s and waives nothing: %s" % (latest["expires"].isoformat(), words))
    return dict(row, status=_finding.WAIVED, waiver="until %s: %s" % (latest["expires"].isoformat(), words))
