# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run for spreadsheets and job summaries: what their readers parse, whatever a node wrote.
test_every_format.py, test_junit.py and test_prometheus.py have the rest."""

import csv
import html
import io
import re

import pytest
from report_runs import everything, finding, report, report_of, run, text_of

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import files, markdown


@pytest.mark.parametrize("text, cell", [
    ("=1", "'=1"), ("a;=1", "a;'=1"), ("a,@b;-c", "a,'@b;'-c"), ("\uff1d1", "'\uff1d1"), ("'a", "''a"),
    ("a;'b", "a;''b"), ("a=b-c", "a=b-c"), ("a; b", "a; b")])
def test_no_cell_of_csv_is_a_formula_in_any_language_of_a_spreadsheet(text, cell):
    reports, fleet = run(report("a", finding("KMOD003", text, "fail")))
    (row,) = csv.DictReader(io.StringIO(text_of("csv", reports, fleet), newline=""))
    assert row["subject"] == cell


def lines_of(text):
    return [line for line in text.splitlines() if line.startswith("| ")][2:]


def test_markdown_has_a_row_for_a_cause_and_one_for_all_hosts_that_were_not_reached():
    same = [finding("KMOD003", "ip_vs", "fail", problem="ip_vs is absent"), finding("HOOK002", "x", "unknown")]
    down = [report_of(name, not_reached="no route to host") for name in ("down-1", "down-2")]
    unclear = [report(name, finding("HOOK001", "", "unknown", reason="denied")) for name in ("u1", "u2")]
    text = text_of("markdown", *run(report("a", *same), report("b", *same), *down, *unclear))
    assert text.startswith("# kubenode\\.netfilter: 2 of 6 nodes must not carry traffic\n\n2 blocked \\(a b\\), 2 not ")
    assert lines_of(text) == [
        "| A required module is not loaded: ip\\_vs is absent\\. kube\\-proxy or pods need it now\\. | a, b | "
        "ansible\\-playbook kubenode\\.netfilter\\.preflight \\-b \\-l a,b |",
        "| not reached: no route to host | down\\-1, down\\-2 |  |",
        "| not known: 1 check could not look \\(denied\\) | u1, u2 |  |"]
    text = text_of("markdown", *run(*down, lost=["gone"]))
    assert lines_of(text) == ["| not reached: no route to host \\(down\\-1, down\\-2\\); the play lost the host before it "
                              "was assessed \\(gone\\) | down\\-1, down\\-2, gone |  |"]


def test_markdown_counts_what_does_not_block():
    text = text_of("markdown", *run(*(report(name, finding("KMOD003", "ip_vs", "fail", severity="low"))
                                      for name in "ab")))
    assert "All nodes are fit for traffic\n\n2 fit \\(2 with low findings\\)." in text and lines_of(text) == []
    assert "- 1 cause on 2 hosts does not block\n" in text


def test_markdown_has_forty_lines_at_most_and_stays_below_its_limit():
    def rows(number):
        return [finding("U%03d" % each, "%d" % number, "fail", problem="%d %s" % (number, "|\U000e0001" * 9000))
                for each in range(20)]
    reports, fleet = run(*(report("node-%03d" % number, *rows(number)) for number in range(100)))
    text = text_of("markdown", reports, fleet)
    assert len(text.splitlines()) == 40 and len(text.encode()) < markdown.LIMIT
    assert re.search(r"\n\d+ more rows are in report\\.html and fleet\\.json\.\n", text)
    assert re.search(r"\n- \d+ more remarks are in report\\.html\n$", text)
    text = text_of("markdown", *everything())
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 4 for line in lines_of(text)), "no text breaks out of its cell"
    assert "<script>" not in text


@pytest.mark.parametrize("name", sorted(files.FILES))
def test_a_healthy_fleet_and_one_without_reports(name):
    healthy_run = run(report("a", finding()))
    assert text_of(name, *healthy_run) == text_of(name, *healthy_run)
    assert text_of(name, *run(lost=["gone"])).endswith("\n")


@pytest.mark.parametrize("status, changes, words", [
    ("fail", {}, "P; found: x"), ("waived", {"problem": "P"}, "P; found: x; waived until 2999, by ops: known"),
    ("waived", {}, "T: until 2999, by ops: known"), ("unknown", {"reason": "not readable"}, "T: not readable"),
    ("unknown", {}, "T: subject")])
def test_a_row_says_what_is_wrong_and_that_it_is_waived(status, changes, words):
    row = dict(finding("KMOD001", "subject", status, observed="x"), **changes)
    reports, fleet = run(report("a", row))
    assert _finding.sentence_of(row) == words
    assert '<td data-name="Finding">%s</td>' % html.escape(words) in text_of("html", reports, fleet)
