# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every finding is in every format exactly once, but in Markdown, which has causes; whatever stands in its texts. Each
file is read back by a parser of its format. One run is in every format byte for byte as people have read it."""

import collections
import csv
import io
import json
import pathlib
import re
from xml.etree import ElementTree

import golden
import golden_run
import pytest
import report_runs
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import overview
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import files
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import render_json
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import escaped, width_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import store

TEXT = st.sampled_from(report_runs.HOSTILE) | st.text(st.sampled_from(
    "a .=+-@|`<>&\"'\\\n\r\t\0\x1b\x85\u2028\u202e\ufffe\ud800{}[]()#*_~!;,\uff1d\U0001f600"), max_size=12)
CHECKS = ("KMOD003", "KMOD010", "HOOK001", "USER001")
ROW = st.tuples(st.sampled_from(CHECKS), TEXT, st.sampled_from(_finding.STATUSES), TEXT)
HOSTS = st.dictionaries(TEXT.filter(bool), st.lists(ROW, max_size=8, unique_by=lambda row: row[:2]), min_size=1,
                        max_size=4).filter(lambda hosts: len({escaped(name) for name in hosts}) == len(hosts))
STATUS_OF = {"failure": "fail", "error": "unknown", "skipped": "skip", None: "pass", "system-out": "pass"}
VALUES = {"pass": 0, "skip": 1, "waived": 2, "unknown": 3, "fail": 4}


def run_of(hosts):
    return report_runs.run(*(report_runs.report(name, *(
        report_runs.finding(check, subject, status, reason=text, observed=text, expected=text, remediation=text)
        for check, subject, status, text in rows)) for name, rows in hosts.items()))


def known(reports, *statuses):
    """Counter of (host, check, subject, status), as formats write the texts."""
    return collections.Counter((escaped(host), row["check"], escaped(row["subject"]), row["status"])
                               for host, report in reports.items() for row in report["findings"]
                               if row["status"] in (statuses or _finding.STATUSES))


def read_csv(text):
    rows = [{key: re.sub("(^|[,;])'", r"\1", cell) for key, cell in row.items()}
            for row in csv.DictReader(io.StringIO(text, newline=""))]
    return collections.Counter((row["host"], row["check"], row["subject"], row["status"]) for row in rows)


def read_junit(text):
    found = collections.Counter()
    for suite in ElementTree.fromstring(text):
        for case in suite:
            part = next(iter(case), None)
            status = STATUS_OF[part.tag if part is not None else None]
            if status == "skip":
                word = part.get("message").partition(":")[0]
                status = {"waived": "waived", "does not block": "fail", "unknown": "unknown"}.get(word, "skip")
            if case.get("name") == "verdict":
                continue
            check, _blank, subject = case.get("name").partition("] ")[2].partition(" ")
            found[suite.get("name"), check, subject, status] += 1
    return found


def read_sarif(text):
    found = collections.Counter()
    run = json.loads(text)["runs"][0]
    for result in run["results"]:
        for host, subjects in result["properties"]["nodes"].items():
            found.update((host, result["ruleId"], subject, result["properties"]["status"]) for subject in subjects)
    found.update((row["node"], row["check"], row["subject"], "waived") for row in run["properties"]["waived"])
    return found


@settings(max_examples=40, deadline=None)
@given(HOSTS)
def test_every_finding_is_in_every_format_once(hosts):
    reports, fleet = run_of(hosts)
    texts = {name: report_runs.text_of(name, reports, fleet) for name in ("csv", "junit", "sarif", "prometheus")}
    assert read_csv(texts["csv"]) == read_junit(texts["junit"]) == known(reports)
    assert read_sarif(texts["sarif"]) == known(reports, "fail", "unknown", "waived")
    for host, report in reports.items():
        assert json.loads(render_json(report)) == report, host
    prometheus = {metric.name.rpartition("netfilter_")[2]: metric.samples
                  for metric in text_string_to_metric_families(texts["prometheus"])}
    worst = {}
    for (host, check, _subject, status) in known(reports):
        worst[host, check] = max(worst.get((host, check), 0), VALUES[status])
    assert {(sample.labels["node"], sample.labels["check"]): sample.value
            for sample in prometheus.get("check_status", ())} == worst
    counts = collections.Counter((host, status) for host, _check, _subject, status in known(reports).elements())
    assert {(sample.labels["node"], sample.labels["status"]): sample.value for sample in prometheus["findings"]
            if sample.value} == counts


@settings(max_examples=20, deadline=None)
@given(HOSTS)
def test_markdown_has_a_row_for_each_cause_that_blocks(hosts):
    reports, fleet = run_of(hosts)
    text = report_runs.text_of("markdown", reports, fleet)
    rows = [re.findall(r"\|((?:[^|\\]|\\.)*)(?=\|)", line) for line in text.splitlines() if line.startswith("| ")]
    assert all(len(cells) == 3 for cells in rows) and len(text.splitlines()) <= 40
    causes = [cause for cause in fleet["causes"] if cause["blocks"]]
    read = [re.sub(r"\\(.)", r"\1", cell[1:-1]) for cells in rows[2:] for cell in cells[:1]][:len(causes)]
    assert all(found.startswith(escaped(overview.sentence_of(cause))) for found, cause in zip(read, causes))


@pytest.mark.parametrize("name", ["csv", "html", "junit", "sarif", "markdown", "prometheus"])
@pytest.mark.parametrize("text", report_runs.HOSTILE)
def test_no_hostile_text_is_in_a_file_as_it_is(name, text):
    reports, fleet = run_of({"a" + text: [("KMOD003", text, "fail", text), ("HOOK001", text, "unknown", text)]})
    written = report_runs.text_of(name, reports, fleet)
    assert all(char.isprintable() or char in "\r\n" for char in written)
    assert "<script>" not in written or name not in ("junit", "markdown")


@pytest.mark.parametrize("path", ["hosts-\udc80.yml", "\ud800/\0"])
def test_a_path_of_the_inventory_that_is_no_utf8_is_written_in_every_format(tmp_path, path):
    reports, fleet = report_runs.everything()
    fleet = dict(fleet, inventory=path)
    texts = {name: report_runs.text_of(name, reports, fleet) for name in files.FILES}
    texts["json"] = render_json(fleet)
    with store.opened(str(tmp_path / "report")) as folder:
        paths, _complete = store.write_fleet(folder, fleet, dict({"fleet.json": texts["json"]}, **texts))
    assert all(pathlib.Path(written).read_text(encoding="utf-8") for written in paths)


@pytest.fixture(scope="module")
def texts():
    return golden_run.texts()


def test_every_format_is_among_them(texts):
    assert sorted(path.name for path in golden_run.FOLDER.iterdir()) == sorted(texts)
    assert {name for name, _render in files.FILES.values()} < set(texts)


@pytest.mark.parametrize("name", sorted(path.name for path in golden_run.FOLDER.iterdir()))
def test_each_format_is_as_people_have_read_it(texts, name):
    kept = (golden_run.FOLDER / name).read_bytes().decode("utf-8")
    assert texts[name].splitlines() == kept.splitlines(), "run `make golden`, and read the difference"
    assert texts[name] == kept


@pytest.mark.parametrize("name, width", [("terminal-80.txt", 80), ("terminal-many-80.txt", 80), ("changes-80.txt", 80),
                                         ("terminal-160.txt", 160), ("changes-160.txt", 160)])
def test_tables_keep_the_width_and_are_ascii_but_for_texts_of_a_node(texts, name, width):
    # A command with a quoted name is not broken.
    assert max(width_of(line) for line in texts[name].splitlines() if not line.startswith("    fix: ")) <= width
    ours = texts[name].replace("gr\u00f6\u00dfe \u4e16\u754c", "")
    assert ours.isascii() and "\033" not in ours


@pytest.mark.parametrize("name", ["summary.md", "changes.md", "junit.xml", "report.html", "terminal-80.txt",
                                  "terminal-160.txt", "changes-160.txt"])
def test_no_machine_value_is_where_a_person_reads(texts, name):
    """Such as base64 or a digest."""
    text = re.sub(r'(?s)<script type="text/plain".*?</script>', "", texts[name])
    assert re.findall(r"[A-Za-z0-9+/]{40,}|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b", text) == []


def test_the_command_writes_what_differs_and_removes_what_is_left_over(tmp_path, texts):
    assert golden.written(tmp_path) == sorted(texts)
    assert golden.written(tmp_path) == []
    (tmp_path / "junit.xml").write_text("<old/>")
    (tmp_path / "left-over.txt").write_text("")
    assert golden.written(tmp_path) == ["junit.xml", "left-over.txt"]
    assert (tmp_path / "junit.xml").read_text() == texts["junit.xml"] and not (tmp_path / "left-over.txt").exists()
