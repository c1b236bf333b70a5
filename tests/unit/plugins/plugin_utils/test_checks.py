# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check against its table in tests/checks: evidence in, finding out."""

import pytest
from cases import TABLES, case_of, table

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _catalogue, _evidence, _finding

KEYS = {"name", "expect", "modules", "evidence", "policy", "subjects", "also", "state", "boot", "persisted", "count", "remediation"}


def rows():
    for path in sorted(TABLES.glob("*.yml")):
        for row in table(path.stem):
            yield pytest.param(path.stem, row, id="%s: %s" % (path.stem, row["name"]))


def test_every_check_has_its_table():
    assert sorted(path.stem for path in TABLES.glob("*.yml")) == sorted(_catalogue.catalogue())


@pytest.mark.parametrize("check_id", sorted(_catalogue.catalogue()))
def test_every_table_shows_pass_fail_and_unknown(check_id):
    cases = table(check_id)
    assert {"pass", "fail", "unknown"} <= {row["expect"] for row in cases}
    # A look-alike: besides the plain pass at least one more row where the check stays silent.
    assert len([row for row in cases if row["expect"] in ("pass", "skip")]) >= 2
    assert all(set(row) <= KEYS for row in cases)


@pytest.mark.parametrize("check_id, row", list(rows()))
def test_check(check_id, row):
    evidence, policy = case_of(row)
    # What a table shows has to be what a node may answer at all.
    assert _evidence.checked_sections(evidence)[1] == {}
    found, _requirements = _assess.judged(evidence, policy, [_catalogue.catalogue()[check_id]])
    assert all(list(finding) == list(_finding.KEYS) for finding in found)
    statuses = [finding["status"] for finding in found]
    assert sorted(set(statuses)) == sorted({row["expect"], row.get("also", row["expect"])}), found
    failing = [finding for finding in found if finding["status"] == "fail"]
    if "subjects" in row:
        assert [finding["subject"] for finding in failing] == row["subjects"]
    if "count" in row:
        assert len(failing) == row["count"]
    for finding in failing:
        assert "{" not in "".join(str(value) for value in finding.values())
        assert all(finding[key] for key in ("subject", "observed", "expected", "reason", "remediation"))
        assert row.get("remediation", "") in finding["remediation"]
    assert all(finding["reason"] for finding in found if finding["status"] in ("skip", "unknown"))
