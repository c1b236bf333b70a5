# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences that terminal, Markdown and the HTML page share."""

import html

import pytest
from report_runs import finding, report, run, text_of

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.markdown import cell
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_fleet


def test_all_of_them_list_disabled_checks_and_waivers_that_end_or_match_nothing():
    waiver = {"check": "KMOD001", "host": "*", "subject": "xt_*", "owner": "ops|x", "expires": "2026-01-31",
              "days_left": -3, "matched": False}
    known = report("a", finding())
    known["summary"].update(waivers=[waiver], disabled=[{"check": "KMOD002", "reason": "not <b>now"}])
    reports, fleet = run(known)
    terminal, markdown, page = (render_fleet(fleet, 200, False), text_of("markdown", reports, fleet),
                                text_of("html", reports, fleet))
    for text in ("disabled on a: KMOD002 (not <b>now)", "waiver for KMOD001 'xt_*' matched nothing on a",
                 "waiver for KMOD001 'xt_*' expired on 2026-01-31 (owner: ops|x), for a"):
        assert "  %s\n" % text in terminal and "- %s\n" % cell(text) in markdown
        assert "<li>%s</li>" % html.escape(text) in page


@pytest.mark.parametrize("status, changes, words", [
    ("fail", {}, "P; found: x"), ("waived", {"problem": "P"}, "P; found: x; waived until 2999, by ops: known"),
    ("waived", {}, "T: until 2999, by ops: known"), ("unknown", {"reason": "not readable"}, "T: not readable"),
    ("unknown", {}, "T: subject")])
def test_a_row_says_what_is_wrong_and_that_it_is_waived(status, changes, words):
    row = dict(finding("KMOD001", "subject", status, observed="x"), **changes)
    reports, fleet = run(report("a", row))
    assert _finding.sentence_of(row) == words
    assert '<td data-name="Finding">%s</td>' % html.escape(words) in text_of("html", reports, fleet)


def test_no_text_becomes_a_link_in_a_job_summary():
    assert cell("see https://evil.example or http://1.2.3.4: x") == (
        "see https\\://evil\\.example or http\\://1\\.2\\.3\\.4: x")
