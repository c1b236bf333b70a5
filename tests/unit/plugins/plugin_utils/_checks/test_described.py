# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reports print of a check: of the collection from its files, of the user from the reports."""

import dataclasses

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue, described

OURS = next(iter(catalogue.catalogue().values()))
SITE = dataclasses.replace(OURS, id="SITE-X001", file="checks/site.yml", why="w", sources=("s",),
                           fix={"role": None, "class": "safe", "manual": "m", "safety": None})
CHECKS = {check.id: check for check in (OURS, SITE)}


def test_only_checks_of_the_user_that_judged_are_kept():
    rows = described.rows_of(CHECKS, [{"check": OURS.id}, {"check": SITE.id}, {"check": SITE.id}])
    assert rows == [{"check": "SITE-X001", "file": "checks/site.yml", "why": "w", "needs": list(OURS.needs),
                     "sources": ["s"], "manual": "m", "class": "safe"}]
    assert described.rows_of(CHECKS, [{"check": OURS.id}]) == []


def test_each_check_is_described_once_and_an_earlier_report_has_none():
    rows = described.rows_of(CHECKS, [{"check": SITE.id}])
    reports = [{"user_checks": rows}, {}, {"user_checks": None}, {"user_checks": rows}]
    assert described.of_reports(reports) == rows


def test_a_check_by_its_id():
    rows = described.rows_of(CHECKS, [{"check": SITE.id}])
    assert described.described(OURS.id, rows).why == OURS.why and described.described(OURS.id).file is None
    found = described.described("SITE-X001", rows)
    assert (found.file, found.fix_class, found.role, found.manual) == ("checks/site.yml", "safe", None, "m")
    assert described.described("SITE-X001") is None and described.described("GONE001", rows) is None
    # An id of the collection is never described by a report, which may hold what a node forged.
    assert described.described(OURS.id, [dict(rows[0], check=OURS.id, why="forged")]).why == OURS.why
