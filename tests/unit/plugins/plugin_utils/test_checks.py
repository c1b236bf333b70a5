# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check against its table in tests/checks: evidence in, finding out."""

import pathlib

import pytest
import yaml
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _catalogue, _evidence, _finding, _policy

TABLES = pathlib.Path(__file__).resolve().parents[3] / "checks"
KEYS = {"name", "expect", "modules", "evidence", "policy", "subjects", "also", "state", "boot", "persisted", "count", "remediation"}


def rows():
    for path in sorted(TABLES.glob("*.yml")):
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            yield pytest.param(path.stem, row, id="%s: %s" % (path.stem, row["name"]))


def test_every_check_has_its_table():
    assert sorted(path.stem for path in TABLES.glob("*.yml")) == sorted(_catalogue.catalogue())


@pytest.mark.parametrize("check_id", sorted(_catalogue.catalogue()))
def test_every_table_shows_pass_fail_and_unknown(check_id):
    table = yaml.safe_load((TABLES / (check_id + ".yml")).read_text(encoding="utf-8"))
    assert {"pass", "fail", "unknown"} <= {row["expect"] for row in table}
    # A look-alike: besides the plain pass at least one more row where the check stays silent.
    assert len([row for row in table if row["expect"] in ("pass", "skip")]) >= 2
    assert all(set(row) <= KEYS for row in table)


@pytest.mark.parametrize("check_id, row", list(rows()))
def test_check(check_id, row):
    policy = _policy.policy_of(row.get("policy") or {})
    evidence = healthy(policy.module_names, row.get("modules"), row.get("evidence"))
    for key, field in (("state", "state"), ("boot", "at_boot"), ("persisted", "persisted")):
        for name, value in (row.get(key) or {}).items():
            next(module for module in evidence["node_kernel_modules"]["modules"] if module["name"] == name)[field] = value
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
