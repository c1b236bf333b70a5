# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action report: files for all that was assessed, the roll-up over all, one sentence where it cannot write."""

import json
import re

import pytest
import report_action
from ansible.errors import AnsibleActionFail
from case_rows import cases
from report_action import assessed

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run


@pytest.fixture
def run(monkeypatch):
    return report_action.runner(monkeypatch)


def test_files_and_table(run, tmp_path):
    folder = tmp_path / "report"
    result = run({"folder": str(folder)}, {"a": assessed(), "b": assessed(xt_comment="absent"), "c": {}},
                 alive=["a", "b"])
    assert result["changed"] is False
    assert sorted(path.name for path in folder.rglob("*.json")
                  if "runs" not in path.parts) == ["a.json", "b.json", "fleet.json"]
    assert sorted(path.name for path in (folder / "latest").rglob("*.json")) == ["a.json", "b.json", "fleet.json"]
    fleet = json.loads((folder / "fleet.json").read_text())
    assert fleet["totals"] == {"hosts": 3, "assessed": 2, "not_reached": 1, "not_rolled_out": 0, "pending": 0,
                               "blocked": 1, "not_known": 0, "no_node": 0, "fit": 1, "fit_with_low": 0,
                               "fit_with_others": 0}
    node = json.loads((folder / "nodes" / "b.json").read_text())
    assert node["findings"][0]["check"] in ("KMOD001", "KMOD014") and "evidence" not in node
    text = "\n".join(run.shown)
    assert "KMOD001" in text and "not reached c" in text and str(folder) in text
    assert not list(folder.rglob(".*"))


def test_hosts_of_later_batches_are_pending(run, tmp_path):
    result = run({"folder": str(tmp_path)}, {"a": assessed(), "b": {}}, batch=["a"], alive=["a", "b"])
    assert result["totals"]["pending"] == 1


def test_evidence_on_demand_and_formats(run, tmp_path):
    run({"folder": str(tmp_path), "evidence": True, "formats": ["json"]}, {"a": assessed()})
    assert "node_host" in json.loads((tmp_path / "nodes" / "a.json").read_text())["evidence"]
    assert run.shown == []
    assert run({"folder": str(tmp_path / "not_made"), "formats": ["terminal"]}, {"a": assessed()})["files"] == []
    assert not (tmp_path / "not_made").exists() and run.shown
    run.shown.clear()
    assert run({"folder": str(tmp_path / "not_made"), "formats": []}, {"a": assessed()})["files"] == []
    assert not (tmp_path / "not_made").exists() and run.shown == []


def test_a_format_adds_to_json(run, tmp_path):
    run({"folder": str(tmp_path), "formats": ["junit"]}, {"a": assessed()})
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "fleet.json", "junit.xml", "a.json", "order"}
    assert run.shown == []


def test_the_summary_tells_what_changed_since_the_run_before(run, tmp_path, monkeypatch):
    texts = []
    for run_id, modules in (("20261121T090000Z-9", {}), ("20261122T090000Z-8", {"xt_comment": "absent"}),
                            ("20261123T090000Z-7", {"xt_comment": "absent"})):
        monkeypatch.setattr(_run, "ID", run_id)
        run({"folder": str(tmp_path), "formats": ["json", "markdown"]}, {"a": assessed(**modules)})
        texts.append((tmp_path / "summary.md").read_text())
        assert "changes" not in json.loads((tmp_path / "fleet.json").read_text())
    assert "Since run" not in texts[0] and re.search(r"Since run 20261121T090000Z-9: [1-9]\d* new, 0 fixed,", texts[1])
    assert re.search(r"Since run 20261122T090000Z-8: 0 new, 0 fixed, [1-9]\d* still failing,", texts[2])
    (tmp_path / "runs" / "20261123T090000Z-7" / "fleet.json").write_text("{")
    monkeypatch.setattr(_run, "ID", "20261124T090000Z-7")
    run({"folder": str(tmp_path), "formats": ["markdown"]}, {"a": assessed()})
    # A run that cannot be read is no base, and the one before it is.
    assert "Since run 20261122T090000Z-8: 0 new," in (tmp_path / "summary.md").read_text()


def test_a_file_that_cannot_be_written_costs_no_other_host_its_own(run, tmp_path):
    (tmp_path / "nodes" / "b.json" / "inside").mkdir(parents=True)
    result = run({"folder": str(tmp_path)}, {"a": assessed(), "b": assessed(), "c": assessed()})
    assert [path.rpartition("/")[2] for path in result["files"]] == ["fleet.json", "a.json", "c.json"]
    assert (len(result["warnings"]) == 1
            and result["warnings"][0].endswith("/nodes/b.json could not be written: Is a directory"))
    assert json.loads((tmp_path / "fleet.json").read_text())["totals"]["assessed"] == 3
    assert not list(tmp_path.rglob(".report-*"))


def test_damaged_facts_of_a_host_cost_no_other_host_its_report(run, tmp_path):
    run({"folder": str(tmp_path / "alone")}, {"a": assessed(), "c": assessed()})
    damaged = dict(assessed(), node_assess_findings=[{"check": "\x1b[2J"}], node_assess_digest=3)
    run({"folder": str(tmp_path / "all"), "evidence": True},
        {"a": assessed(), "b": damaged, "c": assessed(), "d": [], "e": "x"})
    rows = {row["host"]: row["status"] for row in json.loads((tmp_path / "all" / "fleet.json").read_text())["hosts"]}
    assert rows == {"a": "assessed", "b": "not_reached", "c": "assessed", "d": "not_reached", "e": "not_reached"}
    for name in "ac":
        with_evidence = json.loads((tmp_path / "all" / "nodes" / (name + ".json")).read_text())
        assert (with_evidence.pop("evidence")
                and with_evidence == json.loads((tmp_path / "alone" / "nodes" / (name + ".json")).read_text()))


@cases
def test_one_sentence(run, arguments, words):
    with pytest.raises(AnsibleActionFail) as caught:
        run(arguments, {"a": assessed()})
    assert words in str(caught.value)
