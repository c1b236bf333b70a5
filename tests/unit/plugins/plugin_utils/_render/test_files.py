# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run for pipelines, spreadsheets and metrics: what their readers parse, whatever a node wrote into a
finding."""

import collections
import csv
import io
import re
from xml.etree import ElementTree

import pytest
from report_runs import everything, expected, finding, report, report_of, run, text_of

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import files, markdown

SAMPLE = re.compile(r'kubenode_netfilter_[a-z_]+(\{[a-z]+="(?:[^"\\]|\\[\\"n])*"(,[a-z]+="(?:[^"\\]|\\[\\"n])*")*\})? '
                    r'\d+(\.\d+)?')


def test_csv_has_each_finding_once_and_no_formula():
    reports, fleet = everything()
    text = text_of("csv", reports, fleet)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values())
    assert all(char.isprintable() or char in "\r\n" for char in text) and len(text.splitlines()) == len(rows) + 1
    found = collections.Counter((row["host"], row["check"], row["status"]) for row in rows)
    assert found.pop(("gone", "", "not_reached")) == 1
    escaped = {"web.\\x1b[2J<b>": "web.\x1b[2J<b>"}
    assert {(escaped.get(host, host), check, status): count
            for (host, check, status), count in found.items()} == expected(reports)


@pytest.mark.parametrize("text, cell", [
    ("=1", "'=1"), ("a;=1", "a;'=1"), ("a,@b;-c", "a,'@b;'-c"), ("\uff1d1", "'\uff1d1"), ("'a", "''a"),
    ("a;'b", "a;''b"), ("a=b-c", "a=b-c"), ("a; b", "a; b")])
def test_no_cell_of_csv_is_a_formula_in_any_language_of_a_spreadsheet(text, cell):
    reports, fleet = run(report("a", finding("KMOD003", text, "fail")))
    (row,) = csv.DictReader(io.StringIO(text_of("csv", reports, fleet), newline=""))
    assert row["subject"] == cell


def test_junit_has_each_finding_once_and_counts_that_agree():
    reports, fleet = everything()
    root = ElementTree.fromstring(text_of("junit", reports, fleet))
    tags = {"fail": "failure", "unknown": "error", "skip": "skipped", "waived": "skipped"}
    wanted = collections.Counter()
    for (_host, _check, status), count in expected(reports).items():
        wanted[tags.get(status)] += count
    wanted["error"] += 1  # The host that was lost.
    cases = list(root.iter("testcase"))
    found = collections.Counter(next((part.tag for part in case), None) for case in cases)
    assert found == wanted
    assert [int(root.get(name)) for name in ("tests", "failures", "errors")] == [
        len(cases), found["failure"], found["error"]]
    assert sum(int(suite.get("skipped")) for suite in root) == found["skipped"]
    assert [suite.get("name") for suite in root] == ["gone", "node-1.example", "web.\\x1b[2J<b>"]
    assert not any("." in case.get("classname") for case in cases)
    assert all(part.get("message") and part.text.startswith(part.get("message")) for case in cases for part in case)
    waived = next(case for case in cases if "KMOD003 w" in case.get("name"))
    assert waived.find("skipped").get("message") == "waived: until 2999, by ops: known"


def test_prometheus_is_what_the_textfile_collector_parses():
    reports, fleet = everything()
    lines = text_of("prometheus", reports, fleet).splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert [line for line in samples if not SAMPLE.fullmatch(line)] == []
    assert len({line.rpartition(" ")[0] for line in samples}) == len(samples), "a series is written once"
    names = {line.split("{")[0].split(" ")[0] for line in samples}
    assert {line.split()[2] for line in lines
            if line.startswith("# TYPE")} == {line.split()[2] for line in lines if line.startswith("# HELP")} == names
    assert ('kubenode_netfilter_node_reached{node="gone"} 0' in samples
            and 'kubenode_netfilter_node_reached{node="node-1.example"} 1' in samples)
    assert 'kubenode_netfilter_check_status{node="node-1.example",check="KMOD003",severity="high"} 4' in samples
    assert not any("subject" in line for line in samples)


def test_markdown_shares_a_row_between_hosts_and_stays_below_its_limit(monkeypatch):
    same = [finding("KMOD003", "ip_vs", "fail", observed="absent")]
    reports, fleet = run(report("a", *same), report("b", *same), lost=["gone"])
    text = text_of("markdown", reports, fleet)
    assert ("| fail high | KMOD003 | P; found: absent | a, b |" in text and "| not reached |  | " in text
            and text.startswith("# kubenode.netfilter\n"))
    down = [report_of(name, not_reached="no route to host") for name in ("down-1", "down-2")]
    text = text_of("markdown", *run(*down, report("b", *same)))
    assert "| not reached |  | no route to host | down\\-1, down\\-2 |" in text and text.count("no route to host") == 1
    reports, fleet = everything()
    text = text_of("markdown", reports, fleet)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in rows), "no text breaks out of its cell"
    assert "<script>" not in text
    monkeypatch.setattr(markdown, "LIMIT", 600)
    cut = text_of("markdown", reports, fleet)
    assert (len(cut.encode()) < 700
            and re.search(r"\n\d+ more rows do not fit; fleet\.json lists every check with its hosts\.\n$", cut))


@pytest.mark.parametrize("name", sorted(files.FILES))
def test_a_healthy_fleet_and_one_without_reports(name):
    healthy_run = run(report("a", finding()))
    assert text_of(name, *healthy_run) == text_of(name, *healthy_run)
    assert text_of(name, *run(lost=["gone"])).endswith("\n")
