# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers: which findings are waived, until when, and the text of an expired waiver."""

import datetime

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import waiving

DAY = datetime.date(2026, 11, 20)


def finding(subject="xt_comment", status="fail", check="KMOD001"):
    return {"check": check, "subject": subject, "status": status, "waiver": None}


def applied(row, **change):
    waiver = dict({"check": "KMOD001", "reason": "old kernel", "owner": "net", "expires": "2026-11-20"}, **change)
    return waiving.apply_waivers([row], waiving.parse_waivers([waiver], ["KMOD001", "KMOD002"]), DAY)[0]


def test_the_last_day_counts():
    row = applied(finding())
    assert (row["status"], row["waiver"]) == ("waived", "until 2026-11-20: old kernel (net)")


def test_an_expired_waiver_waives_nothing_and_says_so():
    row = applied(finding(), expires="2026-11-19")
    assert (row["status"], row["waiver"]) == ("fail", "expired on 2026-11-19 and waives nothing: old kernel (net)")


@cases
def test_who_is_waived(row, change, status):
    assert applied(row, **change)["status"] == status


def used(*rows, **change):
    waiver = dict({"check": "KMOD001", "reason": "old kernel", "owner": "net", "expires": "2026-11-20"}, **change)
    return waiving.used(waiving.parse_waivers([waiver, waiver], ["KMOD001", "KMOD002"]), rows, DAY)


@cases
def test_whether_a_waiver_matches_anything(rows, subject, matched):
    assert used(*rows, subject=subject) == [{
        "check": "KMOD001", "host": "*", "subject": subject or "*", "owner": "net", "expires": "2026-11-20",
        "days_left": 0, "matched": matched}]


@pytest.mark.parametrize("host, pattern, is_its", [
    ("db1", "db*", True), ("web1", "db*", False), ("db1", None, True), ("DB1", "db*", False), ("db1", "db[12]", True)])
def test_a_waiver_is_for_hosts_by_pattern(host, pattern, is_its):
    row = {"check": "KMOD001", "reason": "r", "owner": "o", "expires": "2026-11-20", "host": pattern}
    assert len(waiving.of_host(waiving.parse_waivers([row], ["KMOD001"]), host)) == is_its


@cases
def test_a_waiver_for_no_host_of_the_inventory_matches_nothing(pattern, idle):
    row = {"check": "KMOD001", "reason": "r", "owner": "o", "expires": "2026-11-20", "host": pattern}
    waivers = waiving.parse_waivers([row], ["KMOD001"])
    found = waiving.without_host(waivers, "db1", ["db1", "web1"])
    assert len(found) == idle
    rows = waiving.used((), [finding("nf_nat", "fail")], DAY, found)
    assert [each["matched"] for each in rows] == [False] * idle


@cases
def test_what_is_said_of_a_waiver_that_ends(expires, change, sentence):
    assert waiving.ending(used(expires=expires, **change)[0]) == sentence
