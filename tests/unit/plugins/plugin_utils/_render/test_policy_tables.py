# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables about the policy: disabled checks, and waivers that match nothing or end."""

from report_runs import finding, report

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.tables import render_tables
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_fleet, render_node

WAIVER = {"check": "KMOD010", "host": "*", "owner": "net", "expires": "2027-03-31", "days_left": 15}


def tuned(host, findings, disabled=(), waivers=()):
    known = report(host, *findings)
    known["summary"].update(disabled=[{"check": check, "reason": reason} for check, reason in disabled],
                            waivers=[dict(WAIVER, subject=subject, matched=matched) for subject, matched in waivers])
    return known


def test_disabled_checks_and_waivers_that_match_nothing_are_told():
    passing = [finding()]
    known = tuned("a", passing, [("KMOD010", "it\x1b stays")], [("xt_*", False), ("ip_vs", True), ("nf_\x07", None)])
    assert render_node(known, 100, False).splitlines()[-4:-1] == [
        "  disabled: KMOD010 (it\\x1b stays)", "  waiver for KMOD010 'xt_*' matched nothing",
        "  1 pass, 0 fail, 0 unknown, 0 waived, 0 skip"]
    assert "\033" in render_node(known, 100, True)


def test_the_fleet_tells_a_waiver_that_no_host_matched_once():
    passing = [finding()]
    reports = {"a": tuned("a", passing, [("KMOD010", "r")], [("xt_*", False), ("ip_vs", True), ("nf_nat", None)]),
               "b": tuned("b", passing, [("KMOD010", "r")], [("xt_*", False), ("ip_vs", False), ("nf_nat", None)]),
               "c": tuned("c", passing, [], [("xt_*", None)])}
    fleet = rollup.roll_up(sorted(reports), reports)
    assert fleet["disabled"] == [{"check": "KMOD010", "reason": "r", "hosts": ["a", "b"]}]
    assert fleet["unmatched_waivers"] == [{"check": "KMOD010", "host": "*", "subject": "xt_*", "hosts": ["a", "b"]}]
    text = render_fleet(fleet, 100, False)
    assert "  disabled on a, b: KMOD010 (r)\n  waiver for KMOD010 'xt_*' matched nothing on a, b\n" in text
    assert rollup.roll_up(["a", "b", "c", "d"], reports, {"d"})["unmatched_waivers"] == []


def test_waivers_that_end_are_told_once_for_all_nodes():
    passing = [finding()]
    reports = {name: tuned(name, passing, [], [("*", True)]) for name in "abc"}
    for name, days, day in (("a", 3, "2027-03-19"), ("b", 3, "2027-03-19"), ("c", -1, "2027-03-15")):
        reports[name]["summary"]["waivers"][0].update(days_left=days, expires=day)
    fleet = rollup.roll_up(sorted(reports), reports)
    assert [(row["expires"], row["days_left"], row["hosts"]) for row in fleet["ending_waivers"]] == [
        ("2027-03-15", -1, ["c"]), ("2027-03-19", 3, ["a", "b"])]
    text = "".join(render_tables(list(reports.values()), fleet, "all", 120, False))
    assert text.count("waiver for KMOD010 expired on 2027-03-15 (owner: net), for c") == 1
    assert text.count("waiver for KMOD010 ends in 3 days, on 2027-03-19 (owner: net), for a, b") == 1
    assert text.count("waiver") == 2
    assert "waiver for KMOD010 ends in 3 days" in render_tables([reports["a"]], None, "all", 120, False)[0]
