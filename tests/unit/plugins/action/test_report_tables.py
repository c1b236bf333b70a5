# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts have a screen, and what the roll-up shows in place of it."""

import pytest
from screen_reports import CHECK, cause, caused, failing, report, unknown

from ansible_collections.kubenode.netfilter.plugins.action.report import render_tables
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_fleet, render_node


def tables(details, rows_of, unreached=()):
    """What a batch prints; `rows_of` are the findings by host."""
    reports = {name: report(rows, name, reached=name not in unreached) for name, rows in rows_of.items()}
    return render_tables(list(reports.values()), rollup.roll_up(sorted(reports), reports), details, 120, False)


def test_findings_of_more_than_five_hosts_are_folded_and_only_those_that_differ_have_a_table():
    same = {name: [failing("a"), failing("b")] + unknown("CHAIN001") for name in "uvwxyz"}
    shown = tables("auto", dict(same, z=same["z"] + [dict(failing("c"), check="KMOD002", title="another")],
                                good=[_finding.finding(CHECK, "pass")]))
    assert [text.split()[0] for text in shown] == ["z", "All"]
    assert "KMOD002" in shown[0] and "KMOD001" not in shown[0] and "1 pass" not in shown[0] and "3 fail" in shown[0]
    lines = shown[1].splitlines()
    assert lines[1:5] == ["  FAIL   high   %s: a; found: absent; wanted: there (and 1 more)" % CHECK.title,
                          "    on u, v, w, x, y, z", "    fix: a fix",
                          "    then: ansible-playbook kubenode.netfilter.audit -b -l u,v,w,x,y,z: KMOD001 passes"]
    assert shown[1].count("KMOD001") == 1 and shown[1].count("CHAIN001") == 1 and "another" not in shown[1]
    assert lines[-2:] == ["  blocked: --limit u,v,w,x,y,z", "  6 blocked (u v w x y z), 1 fit"]


def test_what_only_looks_alike_is_not_folded():
    shown = tables("auto", {name: [failing(observed="at %s %%" % name)] for name in "123456"})
    assert [text.split()[0] for text in shown] == [*"123456", "All"] and "FAIL" not in shown[-1]
    assert len(tables("auto", {name: [failing()] for name in "12345"})) == 6, "five hosts are read one by one"


def test_the_fleet_says_what_is_wrong_where_a_finding_is_not_shared():
    rows = {"a": [failing("x", problem="x is lost")], "b": [_finding.finding(CHECK, "pass")]}
    gone = " is lost; found: absent; wanted: there"
    assert tables("none", rows)[-1].splitlines()[1] == "  FAIL   high   on a: x" + gone
    same = dict(rows, c=rows["a"], d=[failing("y", problem="y is lost")])
    assert tables("none", same)[-1].splitlines()[1:3] == ["  FAIL   high   on a, c: x" + gone,
                                                          "  FAIL   high   on d: y" + gone]
    assert "\n  FAIL   high   KMOD001    on a: x is lost\n" in tables("all", rows)[-1]
    assert "  FAIL   high   KMOD001    on a, c: x is lost\n" in tables("all", dict(rows, c=rows["a"]))[-1]
    lines = tables("all", dict(rows, c=[failing("y", problem="y is lost")]))[-1].splitlines()
    assert lines[1] == "  FAIL   high   KMOD001    on a, c; must hold: " + CHECK.title
    many = dict(rows, a=rows["a"] + [failing("y", problem="y is lost"),
                                     failing("z", status="waived", waiver="until x")])
    assert tables("all", many)[-1].splitlines()[1:3] == ["  FAIL   high   KMOD001    on a: x is lost (and 1 more)",
                                                         "  waived high   KMOD001    %s: waived on a" % CHECK.title]
    assert tables("none", many)[-1].splitlines()[1:3] == ["  FAIL   high   on a: x%s (and 1 more)" % gone,
                                                          "  waived high   KMOD001    %s: waived on a" % CHECK.title]
    rows["a"] = [failing("x%d" % number) for number in range(30)]
    shown = tables("none", rows)[-1]
    assert shown.count("FAIL") == 1 and "(and 29 more)" in shown


def test_the_fleet_counts_the_outcomes_of_fixes_where_hosts_are_folded():
    def outcome(name, status="fail"):
        return [dict(failing(status=status), outcome=name)]

    for name, status, words in (("fixed", "pass", "fixed"), ("would fix", "fail", "would fix"),
                                ("refused", "fail", "fix refused"), ("failed", "fail", "fix fails")):
        shown = tables("auto", dict({each: outcome(name, status) for each in "stuvwxyz"},
                                    other=[dict(failing(), check="KMOD002", outcome="refused")]))[-1].splitlines()
        assert "  %s: KMOD001 on 8 hosts%s" % (words, ", KMOD002 on 1 host" * (name == "refused")) in shown
        assert ("  fix refused: KMOD002 on 1 host" in shown) == (name != "refused")


@pytest.mark.parametrize("details, hosts",
                         [("all", ["bad", "gone", "good", "open"]), ("auto", ["bad", "gone", "good", "open"]),
                          ("failing", ["bad", "gone"]), ("none", [])])
def test_which_hosts_have_a_table(details, hosts):
    rows = {"bad": [failing()], "gone": [failing(status="unknown")], "good": [_finding.finding(CHECK, "pass")],
            "open": [failing(status="unknown")]}
    assert [text.split()[0] for text in tables(details, rows, ["gone"])] == hosts + ["All"]


@pytest.mark.parametrize("details, hosts", [("auto", ["a"]), ("failing", ["All"]), ("none", ["All"])])
def test_a_host_alone_has_a_table_or_the_roll_up(details, hosts):
    shown = tables(details, {"a": [_finding.finding(CHECK, "pass")]})
    assert [text.split()[0]
            for text in shown] == hosts and (hosts == ["a"] or shown[0].endswith("\n  1 fit"))


def test_a_cause_of_several_hosts_is_one_block_whose_commands_name_all_of_them():
    drain = cause(fix="kubectl drain {host}, then curl on {host}, with its node node")
    reports = {name: caused(cause(), drain, host=name) for name in ("a", "node", "c.d", "e", "f", "g h")}
    text = render_tables(list(reports.values()), rollup.roll_up(sorted(reports), reports), "auto", 120, False)
    assert len(text) == 1 and text[0].count("FAIL") == 2
    assert "    on a, node, c.d, e, f, g h\n" in text[0]
    assert "    fix: ansible-playbook kubenode.netfilter.repair -l 'a,node,c.d,e,f,g h'\n" in text[0]
    assert "    then: ansible-playbook kubenode.netfilter.audit -l 'a,node,c.d,e,f,g h': KMOD001 passes\n" in text[0]
    assert ("    fix: kubectl drain a node c.d e f 'g h', then curl on a, node, c.d, e, f, g h, with its node node\n"
            in text[0])


def test_a_finding_that_the_gate_lets_pass_is_not_called_low(monkeypatch):
    other = next(check.id for check in catalogue.catalogue().values() if check.fix["class"] == "safe")
    gate = dict(assess.default_gate(), classes=("safe",))
    monkeypatch.setattr(assess, "default_gate", lambda: gate)
    rows = {"w01": [failing()], "w02": [failing(), dict(failing(), severity="info")],
            "w03": [dict(failing(), check=other)]}
    lines = tables("auto", rows)[-1].splitlines()
    assert lines[-1] == "  1 blocked (w03), 2 fit (1 with low findings, 2 with findings that the gate lets pass)"
    shown = render_node(report(rows["w02"], "w02"), 120, False).splitlines()
    assert shown[0] == shown[-1] == "w02 is fit for traffic (1 low finding, 1 finding that the gate lets pass)"


WAIVER = {"check": "KMOD010", "host": "*", "owner": "net", "expires": "2027-03-31", "days_left": 15}


def tuned(host, disabled=(), waivers=()):
    known = report([_finding.finding(CHECK, "pass")], host)
    known["summary"].update(disabled=[{"check": check, "reason": reason} for check, reason in disabled],
                            waivers=[dict(WAIVER, subject=subject, matched=matched) for subject, matched in waivers])
    return known


def test_the_fleet_tells_a_waiver_that_no_host_matched_once():
    reports = {"a": tuned("a", [("KMOD010", "r")], [("xt_*", False), ("ip_vs", True), ("nf_nat", None)]),
               "b": tuned("b", [("KMOD010", "r")], [("xt_*", False), ("ip_vs", False), ("nf_nat", None)]),
               "c": tuned("c", [], [("xt_*", None)])}
    fleet = rollup.roll_up(sorted(reports), reports)
    assert fleet["disabled"] == [{"check": "KMOD010", "reason": "r", "hosts": ["a", "b"]}]
    assert fleet["unmatched_waivers"] == [{"check": "KMOD010", "host": "*", "subject": "xt_*", "hosts": ["a", "b"]}]
    text = render_fleet(fleet, 100, False)
    assert "  disabled on a, b: KMOD010 (r)\n  waiver for KMOD010 'xt_*' matched nothing on a, b\n" in text
    assert "\n  waiver for KMOD010 'xt_*' matched nothing\n" in render_node(reports["a"], 100, False)
    assert rollup.roll_up(["a", "b", "c", "d"], reports, {"d"})["unmatched_waivers"] == []


def test_waivers_that_end_are_told_once_for_all_nodes():
    reports = {name: tuned(name, [], [("*", True)]) for name in "abc"}
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
