# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a fleet: counts that add up, the worst first, and lists for --limit that match only their hosts."""

import random

import pytest
import verdicts
from kube_audit import seed

from ansible_collections.kubenode.netfilter.plugins.action.report import render_batch
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import overview, rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import LIMIT, rendered
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.markdown import render_markdown
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.summary import limit_text, summary_texts

TITLES = {"title": "t", "remediation": "", "reason": "", "observed": "", "expected": "", "waiver": "", "problem": "",
          "outcome": None, "subject": ""}


def report(host, *rows, groups=(), reached=True):
    """A report with findings written as status, or check/severity of one that fails."""
    parts = [row.split("/") if "/" in row else ["P1", "low", row] for row in rows]
    findings = [dict(TITLES, check=check, severity=severity, status=status[0] if status else "fail")
                for check, severity, *status in parts]
    summary = dict(_finding.summarise(findings), reached=reached, reason=None if reached else "no route", needs_root=[])
    return {"host": host, "groups": list(groups), "summary": verdicts.with_verdict(summary, findings, host),
            "findings": findings, "causes": verdicts.causes_of(findings, host), "digest": None}


def rolled(*reports, lost=(), pending=()):
    known = {each["host"]: each for each in reports}
    return rollup.roll_up([*known, *lost, *pending], known, pending)


def test_counts_groups_and_the_worst_first():
    fleet = rolled(report("a", "A1/high", "A1/high", "B1/low", "pass", groups=["x"]),
                   report("b", "B1/low", groups=["x"]), report("c", "pass", groups=["y"]),
                   report("d", groups=["y"], reached=False), lost=["e"])
    assert summary_texts(fleet) == [
        "findings: 2 pass, 4 fail", "fail by severity: 2 high, 2 low", "worst hosts: a (2 high, 1 low), b (1 low)",
        "group x: 1 blocked, 1 fit", "group y: 1 not reached, 1 fit"]
    assert limit_text(fleet) == "blocked: --limit a", "a low finding does not block, and a lost host has no finding"


def test_a_roll_up_names_a_baseline_of_which_nothing_is_known():
    known = {"a": report("a", "pass")}
    fleet = rollup.roll_up(["a", "lost"], known, baseline="lost")
    text = render_batch(list(known.values()), {"a"}, fleet, "auto", 120, False)[-1]
    assert "  lost (baseline) was not assessed, so " in text
    assert "\n- lost \\(baseline\\) was not assessed, so " in render_markdown(known, fleet)


def test_many_checks_are_ranked_by_the_number_of_hosts():
    checks = ["%s1/medium" % letter for letter in "ABCDEF"]
    texts = summary_texts(rolled(report("a", *checks), report("b", "F1/medium")))
    assert ("checks that fail on most hosts: F1 (medium) on 2, A1 (medium) on 1, B1 (medium) on 1, C1 (medium) on 1, "
            "D1 (medium) on 1 and 1 more" in texts)


@pytest.mark.parametrize("name", ["a:b", "!a", "&a", "~a", "a,b", "a[1]", "*", "a b", "-a", "", "a\n", "@a", "$(x)",
                                  "::1"])
def test_a_name_that_is_a_pattern_is_not_listed(name):
    fleet = rolled(report(name, "A1/high"))
    assert fleet["summary"]["limit"] == [] and fleet["totals"]["blocked"] == 1
    assert limit_text(fleet) == ""


@pytest.mark.parametrize("hosts, written", [(20, False), (21, True)])
def test_a_long_list_is_a_file(hosts, written):
    names = ["n%02d" % number for number in range(hosts)]
    fleet = rolled(*[report(name, "A1/high") for name in names])
    files = rendered([], {}, fleet)
    assert files == ({LIMIT: "\n".join(names) + "\n"} if written else {})
    assert limit_text(fleet, "/r/limit.txt") == "blocked: --limit " + ("@/r/limit.txt" if written else ",".join(names))
    assert bool(limit_text(fleet)) is not written, "no file was written"


def batch(fleet, reports, names, details="auto"):
    return render_batch(reports, set(names), fleet, details, 120, False, "/r")


def test_a_batch_that_went_well_is_a_line_and_any_other_is_shown():
    good, bad = [report(name, "pass") for name in "abc"], report("d", "A1/high")
    fleet = rolled(*good, pending=["x", "y", "z"])
    assert batch(fleet, good, "bc") == ["  batch: 2 fit; 3 of 6 hosts done"]
    assert [text.split()[0] for text in batch(fleet, good, "bc", "all")] == ["b", "c", "batch:"]
    failed = batch(rolled(*good, bad, pending=["y", "z"]), [*good, bad], "d")
    assert [text.split()[0] for text in failed] == ["a", "b", "c", "d", "All", "reports:"]
    assert batch(rolled(*good, lost=["l"], pending=["y", "z"]), good, "bcl")[-2].startswith("All nodes")
    few = rolled(*good, pending=["y"])
    assert [text.split()[0] for text in batch(few, good, "c")] == ["c", "All", "reports:"]


def test_statistics_are_bounded():
    fleet = rolled(*[report("n%03d" % number, "A1/high") for number in range(150)], lost=["l"])
    stated = overview.stated(fleet, "/r")
    assert len(stated["blocked_hosts"]) == 100 and stated["totals"]["blocked"] == 150
    assert stated["not_reached_hosts"] == ["l"] and stated["failing_findings"]["high"] == 150


def test_what_is_counted_adds_up():
    source = random.Random(seed())
    for _round in range(40):
        words = ["pass", "unknown", "waived", "skip", "A1/high", "B1/info"]
        reports = [report("n%d" % number, *source.choices(words, k=3),
                          groups=source.sample("xyz", source.randrange(3)), reached=source.random() < 0.8)
                   for number in range(source.randrange(9))]
        fleet = rolled(*reports, lost=source.sample("lm", source.randrange(3)), pending=source.sample("pq", 1))
        known, totals = fleet["summary"], fleet["totals"]
        assert sum(known["findings"].values()) == 3 * sum(each["summary"]["reached"] for each in reports)
        assert sum(known["failing"].values()) == known["findings"]["fail"]
        assert len(known["limit"]) == totals["blocked"]
        assert totals["hosts"] == sum(totals[name] for name in (*overview.JUDGED, "not_reached", "pending"))
        for row in known["groups"]:
            assert row["hosts"] == row["not_reached"] + sum(row[name] for name in overview.JUDGED)
