# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run for spreadsheets and job summaries: what their readers parse, whatever a node wrote.
test_every_format.py, test_junit.py and test_prometheus.py have the rest."""

import csv
import io
import re

import pytest
from report_runs import everything, finding, report, report_of, run, text_of

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import files, markdown


def test_csv_has_a_row_for_a_lost_host_and_no_formula():
    rows = list(csv.DictReader(io.StringIO(text_of("csv", *everything()), newline="")))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values())
    assert [row["status"] for row in rows if row["host"] == "gone"] == ["not_reached"]


@pytest.mark.parametrize("text, cell", [
    ("=1", "'=1"), ("a;=1", "a;'=1"), ("a,@b;-c", "a,'@b;'-c"), ("\uff1d1", "'\uff1d1"), ("'a", "''a"),
    ("a;'b", "a;''b"), ("a=b-c", "a=b-c"), ("a; b", "a; b")])
def test_no_cell_of_csv_is_a_formula_in_any_language_of_a_spreadsheet(text, cell):
    reports, fleet = run(report("a", finding("KMOD003", text, "fail")))
    (row,) = csv.DictReader(io.StringIO(text_of("csv", reports, fleet), newline=""))
    assert row["subject"] == cell


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
