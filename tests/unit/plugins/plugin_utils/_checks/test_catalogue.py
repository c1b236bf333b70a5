# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An invalid entry of the catalogue is refused, and what reports print of a check."""

import dataclasses
import re

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

ENTRY = {"id": "KMOD999", "title": "t", "severity": "low", "kind": "none_of", "select": "a", "needs": ["node_host"],
         "why": "w", "fix": {"role": None, "manual": "m", "safety": "s"}, "sources": ["x"]}


def test_an_entry():
    check = catalogue.checks_of([("file", ENTRY)])["KMOD999"]
    assert check.section == "KMOD" and check.needs == ("node_host",)


@cases
def test_refused(change, words):
    with pytest.raises(BadInput, match=re.escape(words)) as refused:
        catalogue.checks_of([("file", dict(ENTRY, **change))])
    assert "\n" not in str(refused.value) and str(refused.value).startswith("file: ")


@cases
def test_what_nobody_can_know_is_let_pass(change):
    assert catalogue.checks_of([("file", dict(ENTRY, **change))])


def test_an_id_is_there_once():
    with pytest.raises(BadInput, match="^file: the id %s exists twice$" % ENTRY["id"]):
        catalogue.checks_of([("file", ENTRY), ("file", ENTRY)])


def test_a_missing_key():
    with pytest.raises(BadInput, match="lacks why"):
        catalogue.checks_of([("file", {key: value for key, value in ENTRY.items() if key != "why"})])


def test_a_want_that_looks_like_a_policy_value_is_one():
    values = policies.default_policy().values
    named = [check.want for check in catalogue.catalogue().values()
             if isinstance(check.want, str) and "_" in check.want]
    assert [want for want in named if want not in values] == []


OURS = next(iter(catalogue.catalogue().values()))
SITE = dataclasses.replace(OURS, id="SITE-X001", file="checks/site.yml", why="w", sources=("s",),
                           fix={"role": None, "class": "safe", "manual": "m", "safety": None})
CHECKS = {check.id: check for check in (OURS, SITE)}


def test_only_checks_of_the_user_that_judged_are_kept():
    rows = catalogue.rows_of(CHECKS, [{"check": OURS.id}, {"check": SITE.id}, {"check": SITE.id}])
    assert rows == [{"check": "SITE-X001", "file": "checks/site.yml", "why": "w", "needs": list(OURS.needs),
                     "sources": ["s"], "manual": "m", "class": "safe"}]
    assert catalogue.rows_of(CHECKS, [{"check": OURS.id}]) == []


def test_each_check_is_described_once_and_an_earlier_report_has_none():
    rows = catalogue.rows_of(CHECKS, [{"check": SITE.id}])
    reports = [{"user_checks": rows}, {}, {"user_checks": None}, {"user_checks": rows}]
    assert catalogue.of_reports(reports) == rows


def test_a_check_by_its_id():
    rows = catalogue.rows_of(CHECKS, [{"check": SITE.id}])
    assert catalogue.described(OURS.id, rows).why == OURS.why and catalogue.described(OURS.id).file is None
    found = catalogue.described("SITE-X001", rows)
    assert (found.file, found.fix_class, found.role, found.manual) == ("checks/site.yml", "safe", None, "m")
    assert catalogue.described("SITE-X001") is None and catalogue.described("GONE001", rows) is None
    # An id of the collection is never described by a report, which may hold what a node forged.
    assert catalogue.described(OURS.id, [dict(rows[0], check=OURS.id, why="forged")]).why == OURS.why
