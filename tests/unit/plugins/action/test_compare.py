# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action compare: runs by their names, their beginnings and paths, files that it writes, and one sentence for what
cannot be compared."""

import json
import os
import pathlib
import subprocess
import sys
from unittest import mock

import pytest
from action_runs import plugin_of
from ansible.errors import AnsibleActionFail
from case_rows import cases
from report_runs import finding, report, roll_up

from ansible_collections.kubenode.netfilter.plugins.action import compare
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.action import Failed
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import render_json
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import store

TOP = pathlib.Path(__file__).resolve().parents[4]
RUNS = ["20261121T090000Z-9", "20261122T090000Z-8", "20261123T090000Z-7"]
STATUSES = [("pass", "fail"), ("fail", "fail"), ("fail", "pass")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three runs of two nodes, a and b."""
    path = tmp_path / "report"
    for run_id, statuses in zip(RUNS, STATUSES):
        write(monkeypatch, path, run_id, dict(zip("ab", statuses)))
    return path


def write(monkeypatch, path, run_id, statuses, with_nodes=True):
    monkeypatch.setattr(_run, "ID", run_id)
    reports = {host: report(host, finding("KMOD003", "" if status == "pass" else "ip_vs", status))
               for host, status in statuses.items()}
    fleet = roll_up(reports)
    with store.opened(str(path)) as opened:
        for host in reports if with_nodes else ():
            store.write_node(opened, host, render_json(dict(reports[host], run=run_id)))
        store.write_fleet(opened, fleet, {"fleet.json": render_json(fleet)})


def run(**arguments):
    with mock.patch.object(compare, "Display") as display:
        try:
            result = plugin_of(compare, arguments).run(task_vars={})
        except Failed as error:
            if "totals" not in error.result:
                raise
            result = dict(error.result, failed=True, msg=str(error))
    result["shown"] = [call.args[0] for call in display.return_value.display.call_args_list]
    return result


def rows(result):
    return [(row["host"], row["change"]) for row in result["changes"]["rows"]]


@cases
def test_runs_and_nodes_by_name(folder, arguments, expected):
    result = run(folder=str(folder), **arguments)
    assert rows(result) == expected and result["shown"] == [result["text"]] and result["changed"] is False
    assert sorted(os.listdir(str(folder / "runs"))) == RUNS and result["files"] == []


def test_the_last_run_after_the_clock_was_set_back(folder, monkeypatch):
    write(monkeypatch, folder, "20261122T120000Z-5", {"a": "pass", "b": "fail"})
    result = run(folder=str(folder))
    assert result["changes"]["before"]["run"] == RUNS[2] and rows(result) == [("a", "fixed"), ("b", "new")]


@pytest.mark.parametrize("target", [None, "runs/20990101T000000Z-1", "/etc", "../" + RUNS[0],
                                    "runs/../runs/" + RUNS[0]])
def test_without_a_link_to_the_last_run(folder, target):
    (folder / "latest").unlink()
    if target:
        (folder / "latest").symlink_to(target)
    changes = run(folder=str(folder))["changes"]
    assert [changes[name]["run"] for name in ("before", "after")] == RUNS[1:]


def test_a_run_that_was_killed_before_its_first_roll_up(folder):
    (folder / "runs" / "20261124T090000Z-1" / "nodes").mkdir(parents=True)
    assert run(folder=str(folder))["changes"]["after"]["run"] == RUNS[2]


@pytest.mark.parametrize("text", ["\x1b[2J", "\ud800", "\u202e", "<b>|`@x", "a\nb"])
def test_hostile_texts(folder, monkeypatch, text):
    for run_id, found in (("20261124T090000Z-1", finding()), ("20261125T090000Z-1", finding(
            "KMOD003", text, "fail", observed=text))):
        monkeypatch.setattr(_run, "ID", run_id)
        reports = {"a" + text: report("a" + text, found)}
        fleet = roll_up(reports)
        with store.opened(str(folder)) as opened:
            store.write_node(opened, "a" + text, render_json(dict(reports["a" + text], run=_run.ID)))
            store.write_fleet(opened, fleet, {"fleet.json": render_json(fleet)})
    result = run(folder=str(folder), formats=["terminal", "markdown", "json"])
    assert rows(result) == [("a" + text, "new")]
    page = (folder / "changes.md").read_text()
    assert all(char.isprintable() or char == "\n" for char in result["text"] + page) and "<b>" not in page
    assert json.loads((folder / "changes.json").read_text()) == result["changes"]


def test_folders_of_other_pipelines(folder, tmp_path, monkeypatch):
    other = tmp_path / "other"
    write(monkeypatch, other, RUNS[0], {"a": "pass", "c": "fail"})
    result = run(folder=str(folder), before=str(other))
    assert rows(result) == [("a", "new")]
    assert (result["changes"]["gone_hosts"], result["changes"]["new_hosts"]) == (["c"], ["b"])


def test_files(folder):
    result = run(folder=str(folder), formats=["json", "markdown", "html"])
    assert result["shown"] == [] and result["files"] == [str(folder / ("changes." + end))
                                                         for end in ("html", "json", "md")]
    assert "<h2>Fixed (1)</h2>" in (folder / "changes.html").read_text()
    assert json.loads((folder / "changes.json").read_text()) == result["changes"]
    assert "| fixed | high | KMOD003 | P | b |" in (folder / "changes.md").read_text().replace(
        " \\(was fail, is pass\\)", "")


@cases
def test_findings_that_are_new_fail_the_task(folder, arguments, message):
    """The changes are shown and written all the same."""
    result = run(folder=str(folder), formats=["terminal", "json"], **arguments)
    assert (result.get("failed", False), result.get("msg")) == (message is not None, message)
    assert "Changes" in result["shown"][0] or "compared with" in result["shown"][0]
    assert result["files"] == [str(folder / "changes.json")] and (folder / "changes.json").exists()


def test_a_run_limited_to_other_hosts_is_no_base(folder, monkeypatch):
    write(monkeypatch, folder, "20261124T090000Z-1", {"c": "pass"})
    write(monkeypatch, folder, "20261125T090000Z-1", {"a": "fail", "b": "fail"})
    result = run(folder=str(folder), before="20261124", fail_on="new")
    assert result["failed"] and result["msg"] == (
        "Nothing was compared: no host was assessed by both run 20261124T090000Z-1 and run 20261125T090000Z-1")
    assert "not compared, 2 hosts only in run 20261125T090000Z-1: a, b" in result["shown"][0]
    assert not run(folder=str(folder), before="20261124").get("failed")


def test_the_previous_run_is_one_that_judged_the_hosts(folder, monkeypatch):
    write(monkeypatch, folder, "20261124T090000Z-1", {"c": "pass"})
    write(monkeypatch, folder, "20261125T090000Z-1", {"a": "fail", "b": "fail"})
    changes = run(folder=str(folder))["changes"]
    assert changes["before"]["run"] == RUNS[2] and changes["totals"]["new"] == 1


@cases
def test_one_sentence(folder, arguments, words):
    with pytest.raises(AnsibleActionFail) as caught:
        run(folder=str(folder), **arguments)
    assert words in str(caught.value)


@cases
def test_a_damaged_run(folder, name, text, words):
    path = folder / "runs" / RUNS[2] / name
    path.unlink()
    path.write_text(text)
    with pytest.raises(AnsibleActionFail) as caught:
        run(folder=str(folder))
    assert words in str(caught.value)


def test_a_run_of_a_version_without_evidence_in_findings(folder):
    path = folder / "runs" / RUNS[1] / "nodes" / "a.json"
    written = json.loads(path.read_text())
    for row in written["findings"]:
        del row["evidence"]
    path.unlink()
    path.write_text(json.dumps(written))
    assert rows(run(folder=str(folder))) == [("a", "still_failing"), ("b", "fixed")]


def test_runs_that_hold_no_reports(tmp_path, monkeypatch):
    with pytest.raises(AnsibleActionFail, match="has no earlier run"):
        run(folder=str(tmp_path))
    for run_id in RUNS:
        write(monkeypatch, tmp_path / "report", run_id, {"a": "fail"}, with_nodes=run_id != RUNS[1])
    with pytest.raises(AnsibleActionFail, match="has no reports of nodes in "):
        run(folder=str(tmp_path / "report"))


def test_the_playbook_contacts_nothing_and_prints_the_changes(folder):
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", str(TOP / "playbooks/compare.yml"), "-e", json.dumps(
            {"node_report_folder": str(folder), "compare_before": "20261121", "compare_formats": "terminal,markdown"})],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
        check=False, env=dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(TOP / ".build"), ANSIBLE_NOCOLOR="1"))
    assert done.returncode == 0, done.stdout
    assert "Changes from run %s to run %s" % (RUNS[0], RUNS[2]) in done.stdout and "1 new, 1 fixed" in done.stdout
    assert (folder / "changes.md").exists()
