# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes between two runs: each finding that failed or fails is listed once, and none is fixed without being judged
again."""

import pytest
from case_rows import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import finding, report, report_of, roll_up

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import changes as render
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.html import render_changes_html
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs import differences

STATUSES = ("pass", "fail", "skip", "unknown", "waived")


def rows(*given):
    """Findings of KMOD003 from (subject, status)."""
    return [finding("KMOD003", subject, status, reason="R") for subject, status in given]


def run(lost=(), **hosts):
    reports = {name: report(name, *found) for name, found in hosts.items()}
    return {"fleet": roll_up(reports, lost), "reports": reports}


def told(before, after):
    return [(row["change"], row["subject"], row["was"], row["is"]) for row in differences.of_findings(before, after)]


@cases
def test_what_became_of_a_finding(before, after, expected):
    assert told(rows(*before), rows(*after)) == expected


ROWS = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.sampled_from(STATUSES)), max_size=4,
                unique_by=lambda row: row[0])


@settings(max_examples=200, deadline=None)
@given(ROWS, ROWS)
def test_each_finding_that_failed_or_fails_is_told_of_once(before, after):
    changes = told(rows(*before), rows(*after))
    failed, fails = ({subject for subject, status in each if status == "fail"} for each in (before, after))
    assert sorted(row[1] for row in changes if "fail" in row[2:]) == sorted(failed | fails)
    assert {row[1] for row in changes if row[3] == "fail"} == fails
    # Only a check that was judged again can be fixed.
    judged = {status for _subject, status in after} & {"pass", "fail", "waived"}
    assert judged or not [row for row in changes if row[0] == "fixed"]


def test_hosts_that_come_and_go():
    before = run(lost=["lost", "back"], a=rows(("", "pass")), gone=rows(("x", "fail")), down=rows(("x", "fail")))
    after = run(lost=["lost", "down"], a=rows(("x", "fail")), back=rows(("x", "fail")), added=rows(("x", "fail")))
    changes = differences.of_runs(before, after)
    assert (changes["new_hosts"], changes["gone_hosts"], changes["reached_again"]) == (["added"], ["gone"], ["back"])
    assert [(row["host"], row["was"]) for row in changes["not_reached"]] == [
        ("down", "assessed"), ("lost", "not_reached")]
    assert [(row["host"], row["change"], row["was"]) for row in changes["rows"]] == [("a", "new", "pass")]
    assert changes["totals"] == dict.fromkeys(differences.KINDS, 0) | {"new": 1} and changes["compared_hosts"] == 1
    text = render.render_terminal(changes, 200)
    earlier, later = (changes[name]["run"] for name in ("before", "after"))
    assert "not compared, 1 host only in run %s: added" % later in text
    assert "not compared, 1 host only in run %s: gone" % earlier in text
    assert "not compared, 1 host not reached by run %s: back" % earlier in text


@pytest.mark.parametrize("page", [render.render_terminal, render.render_markdown, render_changes_html])
@pytest.mark.parametrize("before", [{"a": [], "down": [("", "pass")]}, {"a": []}])
def test_a_host_that_was_not_reached_is_one_row(page, before):
    """Also where the earlier run did not have it, and whatever number of checks its report has."""
    reports = {"a": report("a"), "down": report_of("down", not_reached="no route to host")}
    after = {"fleet": roll_up(reports), "reports": reports}
    changes = differences.of_runs(run(**{host: rows(*found) for host, found in before.items()}), after)
    assert changes["rows"] == [] and [row["host"] for row in changes["not_reached"]] == ["down"]
    text = page(changes, 200) if page is render.render_terminal else page(changes)
    assert text.count("down") == 1 and "not reached down: no route to host" in text


def test_only_checks_that_both_runs_judged_are_compared():
    """A run limited to some checks is no base for the others, nor is a check that the policy disabled."""
    def of(disabled, *found):
        given = run(a=list(found))
        given["reports"]["a"]["summary"]["disabled"] = [{"check": check, "reason": "ours"} for check in disabled]
        return given

    before = of(["HOOK001"], finding("KMOD003"), finding("HOOK001", status="skip"))
    after = of([], finding("KMOD003", "x", "fail"), finding("HOOK001", "x", "fail"), finding("IPVS001", "x", "fail"))
    changes = differences.of_runs(before, after)
    assert [(row["check"], row["change"]) for row in changes["rows"]] == [
        ("KMOD003", "new"), ("HOOK001", "newly_judged"), ("IPVS001", "newly_judged")]
    assert changes["left_out_checks"] == ["HOOK001", "IPVS001"]
    assert "not compared, 2 checks judged by only one run: HOOK001, IPVS001" in render.render_terminal(changes, 200)


def test_a_change_of_several_nodes_is_one_row():
    found = [*rows(("x", "fail")), finding("HOOK001", "s", "unknown", reason="<i>\x1b")]
    passed = [*rows(("", "pass")), finding("HOOK001")]
    changes = differences.of_runs(run(a=passed, b=passed), run(a=found, b=found))
    text, page = render.render_terminal(changes, 60), render.render_markdown(changes)
    assert "new              high   KMOD003    P (a, b)" in text and "| new | high | KMOD003 | P | a, b |" in page
    # The title precedes the reason: a reason alone does not show which requirement is unknown.
    assert "| newly unknown | high | HOOK001 | T: " in page and "<i>" not in page
    many = differences.of_runs(*(run(**{"n%02d" % number: each for number in range(12)})
                                 for each in (rows(("", "pass")), rows(("x", "fail")))))
    assert "n08, n09 and 2 more)" in render.render_terminal(many, 200)
    assert "|" not in render.render_markdown(differences.of_runs(run(a=[]), run(a=[])))


def test_texts_of_two_nodes_name_the_node_that_fails():
    """Also for names as long as an inventory allows, and for hostile names."""
    first, second = "a" * 253, "b|\x1b<b>"
    before = run(**{first: rows(("x", "fail"), ("", "pass")), second: rows(("y", "fail"))})
    changes = differences.of_nodes(before, first, second)
    text, page = render.render_terminal(changes, 80), render.render_markdown(changes)
    assert all(char.isprintable() or char == "\n" for char in text + page) and max(map(len, text.split("\n"))) <= 80
    assert "  fails only on b|\\x1b<b>:\n    high   KMOD003    P\n" in text
    assert "| fails only on b\\|\\\\x1b\\<b\\> | high | KMOD003 | P |\n" in page
    assert "| fails only on %s | high | KMOD003 | P \\(pass on b" % first in page
