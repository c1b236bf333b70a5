# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of each cause, tests/causes/ID.yml: one where it holds, one where its evidence does not join and it must
not hold, one beside another cause.

A case has the findings that fail (`failing`) and all causes that must be found, each with the checks that it explains
(`causes`). A finding that no cause of the case explains is its own cause. `sentence` is that of the first cause;
`evidence` are sections that the cause reads. A row of `failing` is the id of a check, the texts of a finding, or the
case of tests/checks whose name begins with `like`.
"""

import pathlib
import re

import pytest
import yaml
from cases import table

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases import run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes import judge
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.judge import causes
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.catalogue import catalogue

TABLES = pathlib.Path(__file__).resolve().parents[4] / "causes"
CASES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(TABLES.glob("*.yml"))}
KEYS = {"case", "failing", "causes", "sentence", "fix", "evidence"}


def findings(case):
    return [finding for row in case["failing"] for finding in findings_of(row)]


def findings_of(row):
    texts = {"check": row} if isinstance(row, str) else dict(row)
    check = catalogue()[texts.pop("check")]
    if "like" not in texts:
        return [_finding.finding(check, _finding.FAIL,
                                 **dict({"subject": "its subject", "problem": check.title, "observed": "its value"},
                                        **texts))]
    like = next(each for each in table(check.id) if each["name"].startswith(texts["like"]))
    return [each for each in run.findings_of(check, like) if each["status"] == _finding.FAIL]


def causes_of(case):
    return judge.causes_of(findings(case), case.get("evidence", {}), "worker-7")


@pytest.mark.parametrize("case", [pytest.param(case, id="%s: %s" % (name, case["case"]))
                                  for name, cases in CASES.items() for case in cases])
def test_a_case_has_its_causes_and_no_finding_is_lost(case):
    assert set(case) <= KEYS
    found = causes_of(case)
    checks = {}
    for cause in found:
        checks.setdefault(cause["cause"], []).extend(row["check"] for row in cause["explains"])
    assert {name: set(explained) for name, explained in checks.items() if name} == {
        name: set(explained) for name, explained in case["causes"].items()}
    if "sentence" in case:
        assert found[0]["sentence"] == case["sentence"]
    if "fix" in case:
        assert found[0]["fix"] == case["fix"]
    explained = [(row["check"], row["subject"]) for cause in found for row in cause["explains"]]
    assert sorted(explained) == sorted((row["check"], row["subject"]) for row in findings(case))
    # A field that no row fills leaves a hole.
    assert [cause["sentence"] for cause in found if re.search(r"[{}]|None|  |: $|^$", cause["sentence"])] == []


def test_every_cause_has_its_table_and_no_table_is_orphaned():
    assert sorted(CASES) == sorted(cause.id for cause in causes())


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_table_has_a_case_of_each_sort(name):
    found = [set(case["causes"]) for case in CASES[name]]
    assert {name} in found, "no case where it alone holds"
    assert any(name not in names for names in found), "no case where it must not hold"
    assert any(len(names) > 1 for names in found) or any(
        name not in names and names for names in found[2:]), "no case beside another cause"
    assert any("sentence" in case for case in CASES[name] if name in case["causes"]), "no case with its sentence"
