# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The baseline of the gate: a finding that is new or worse blocks, and a report that cannot be used is one sentence."""

import datetime
import shutil

import pytest
from case_rows import cases
from report_runs import finding, report, report_of, roll_up

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes import judge, verdict
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import screen
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import render_json
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import baseline, store

RUN = "20261121T090000Z-9"
TODAY = _run.STARTED.date()
SETTINGS = {"baseline": "./kept", "baseline_expires": "2999-01-31", "baseline_owner": "net"}


def rows(given):
    return [dict(finding("KMOD003", subject, status), severity=severity[0] if severity else "high")
            for subject, status, *severity in given]


@cases
def test_what_is_neither_new_nor_worse(before, now, known):
    found = baseline.Baseline("b", rows(before)).known(rows(now), [])
    assert sorted(subject for _check, subject in found) == known


def cause(name, *subjects):
    return {"cause": name, "explains": [{"check": "KMOD003", "subject": subject} for subject in subjects]}


def test_a_cause_that_the_baseline_does_not_have_is_worse():
    now = rows([["a", "fail"], ["b", "fail"]])
    old = baseline.Baseline("b", now, frozenset(["flushed", None]))
    causes = [cause("flushed", "a"), cause("dropped", "b")]
    assert old.known(now, causes) == {("KMOD003", "a")}
    assert len(old.known(now, [cause("flushed", "a"), cause(None, "b")])) == 2
    # A report of a version without causes rules none of them out.
    assert len(old._replace(causes=None).known(now, causes)) == 2


def test_what_is_mended_is_counted():
    old = baseline.Baseline("b", rows([["a", "fail"], ["b", "fail"]]))
    assert old.mended(rows([["b", "fail"]])) == 1 and old.mended(rows([["", "unknown"]])) == 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The report folder `report` with one run, a copy of this run in `kept`, and a run of other hosts in `others`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_run, "ID", RUN)
    written(tmp_path / "report", "a", "b")
    shutil.copytree(tmp_path / "report" / "runs" / RUN, tmp_path / "kept")
    written(tmp_path / "elsewhere", "x", "y", lost=())
    shutil.copytree(tmp_path / "elsewhere" / "runs" / RUN, tmp_path / "others")
    monkeypatch.setattr(_run, "ID", "20261122T090000Z-9")
    return tmp_path


def written(path, *hosts, lost=("lost",)):
    found = rows([["x", "fail"]])
    reports = {host: dict(report(host, *found), run=RUN, causes=judge.causes_of(found, {}, host)) for host in hosts}
    reports.update((host, dict(report_of(host, not_reached="no route"), run=RUN)) for host in lost)
    fleet = roll_up(reports)
    with store.opened(str(path)) as opened:
        for host, each in reports.items():
            store.write_node(opened, host, render_json(each))
        store.write_fleet(opened, fleet, {"fleet.json": render_json(fleet)})


def read(host="a", inventory=("a", "b", "new", "lost"), **settings):
    variables = {"inventory_hostname": host, "groups": {"all": list(inventory)}}
    return baseline.of_gate(dict(SETTINGS, **settings), variables, "report")


@pytest.mark.parametrize("name", ["./kept", RUN, RUN[:8], "report/runs/" + RUN, "./kept/nodes/a.json",
                                  "kept/nodes/a.json"])
def test_a_run_a_folder_and_a_file(folder, name):
    found = read(baseline=name)
    assert found.known(rows([["x", "fail"], ["y", "fail"]]), []) == {("KMOD003", "x")}
    assert (found.note, found.ending, found.causes) == ("", "", frozenset(["modules-not-loaded"]))


def test_a_path_is_relative_to_the_inventory(folder, tmp_path, monkeypatch):
    (folder / "inventory.ini").write_text("a\n")
    (folder / "there").mkdir()
    monkeypatch.chdir(folder / "there")
    variables = {"inventory_hostname": "a", "ansible_inventory_sources": [str(folder / "inventory.ini")]}
    assert baseline.of_gate(SETTINGS, variables, "report").findings


@pytest.mark.parametrize("host, words", [
    ("new", "the baseline ./kept does not have new, so all of its findings are new"),
    ("lost", "the baseline ./kept did not reach lost, so all of its findings are new")])
def test_a_host_that_the_baseline_did_not_judge(folder, host, words):
    found = read(host)
    assert found.note == words and not found.known(rows([["x", "fail"]]), [])


def test_after_its_last_day_it_counts_no_more_and_is_not_read(folder):
    day = TODAY - datetime.timedelta(1)
    found = read(baseline="./nowhere", baseline_expires=day.isoformat())
    assert found.note == "the baseline ./nowhere expired on %s (owner: net) and counts no more" % day
    assert not found.known(rows([["x", "fail"]]), [])
    assert read(baseline_expires=TODAY.isoformat()).ending == "the baseline ./kept ends today (owner: net)"
    assert read(baseline_expires=(TODAY + datetime.timedelta(2)).isoformat()).ending == (
        "the baseline ./kept ends in 2 days, on %s (owner: net)" % (TODAY + datetime.timedelta(2)))


def test_the_report_of_this_run_is_no_baseline(folder, monkeypatch):
    monkeypatch.setattr(_run, "ID", RUN)
    with pytest.raises(BadInput, match="node_gate_baseline: ./kept is a report of this run itself"):
        read()


@cases
def test_a_baseline_that_cannot_be_used_is_one_sentence(folder, settings, words):
    with pytest.raises(BadInput) as caught:
        read(**settings)
    assert words in str(caught.value) and str(caught.value).startswith("node_gate_baseline")


@cases
def test_a_damaged_baseline(folder, text, words):
    path = folder / "kept" / "nodes" / "a.json"
    path.unlink()
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read()
    assert words in str(caught.value)
    path.unlink()
    with pytest.raises(BadInput, match="a.json could not be read: No such file or directory"):
        read()


def said(now, settings=(), old=None, reached=True):
    given = report_of("w01")
    summary = dict(given["summary"], reached=reached, reason=None if reached else "no route")
    gate = dict(assess.default_gate(), baseline=old, **dict(settings))
    return verdict.sentence("w01", verdict.verdict_of(summary, now, judge.causes_of(now, {}, "w01"), gate))


def test_the_verdict_counts_what_the_baseline_has():
    old = baseline.Baseline("b", rows([["a", "fail"], ["b", "fail"]]))
    low = dict(finding("HOOK001", "s", "fail"), severity="low")
    assert said(rows([["a", "fail"]])).startswith("w01 is not fit for traffic: ")
    assert said(rows([["a", "fail"], ["b", "fail"]]), old=old) == "w01 is fit for traffic (2 findings of the baseline)"
    assert said([*rows([["a", "fail"]]), low], old=old) == (
        "w01 is fit for traffic (1 low finding, 1 finding of the baseline)")
    assert said(rows([["a", "fail"], ["c", "fail"]]), old=old).startswith("w01 is not fit for traffic: ")
    ended = baseline.Baseline("b", note="the baseline b expired on 2026-01-01 (owner: net) and counts no more")
    assert said(rows([["a", "fail"]]), old=ended).endswith("; " + ended.note)
    unknown = rows([["", "unknown"]])
    assert said(unknown, {"unknown": "fail"}).startswith("w01 is not fit for traffic: ")
    assert said(unknown, {"unknown": "fail"}, baseline.Baseline("b", unknown)).startswith("w01 is not known: ")
    assert said(rows([["a", "fail"]]), old=ended, reached=False) == "w01 was not reached: no route"


def test_the_screen_marks_a_cause_that_the_gate_does_not_count():
    causes = judge.causes_of(rows([["a", "fail"]]), {}, "w01")
    summary = {"verdict": {"blocking": []}, "known": [{"check": "KMOD003", "subject": "a"}]}
    given = {"host": "w01", "causes": causes, "summary": summary}
    line = "in the baseline: the gate does not count it"
    assert line in screen.cause_texts(given)[0][-1]
    assert line not in screen.cause_texts(dict(given, summary=dict(summary, known=[])))[0][-1]
