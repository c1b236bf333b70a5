# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people see: no text of a node speaks to the terminal, lines keep their width."""

import json
from unittest import mock

import pytest
from case_rows import cases
from hypothesis import given
from hypothesis import strategies as st
from screen_reports import CHECK, failing, report, unknown

from ansible_collections.kubenode.netfilter.plugins.action.report import render_tables
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import text as text_module
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import render_json
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.markdown import render_markdown
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_fleet, render_node
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import escaped, width_of, wrapped


def test_subjects_with_the_same_observation_share_a_line_and_the_fix_stands_once():
    text = render_node(report([failing("a"), failing("b"), failing("c", "gone")]), 100, False, every=True)
    assert "a, b: absent" in text and "c: gone" in text
    assert text.count("why: a reason") == 1 and text.count("fix: a fix") == 1


@cases
def test_the_header_says_the_place_and_whether_it_is_a_node(place, kubelet, words):
    known = report([_finding.finding(CHECK, "pass")])
    known["summary"].update(place=place, kubelet=kubelet)
    assert render_node(known, 300, False).splitlines() == [
        "web-1 is fit for traffic", "  Debian 12, kernel 6.1, %s, iptables mode" % words,
        "  1 pass, 0 fail, 0 unknown, 0 waived, 0 skip", "web-1 is fit for traffic"]


def test_unknown_checks_of_one_cause_are_one_line():
    rows = unknown("KMOD001", "KMOD002", "KMOD003") + unknown("CHAIN001", reason="another") + [failing("a")]
    lines = render_node(report(rows), 120, False).splitlines()
    assert "  ?      high   3 checks unknown (KMOD001, KMOD002, KMOD003): x is not readable" in lines
    assert [line for line in lines if line.startswith("  ?      high   CHAIN001")] and "why: another" in "".join(lines)
    text = render_node(report(rows, needs_root=["KMOD001", "KMOD003", "CHAIN001"]), 120, False)
    assert ("  ?      high   not run as root: 3 checks unknown, use --become\n" in text
            and "CHAIN001" not in text and "?      high   KMOD002" in text)


def test_the_fleet_lists_a_cause_once_with_its_hosts():
    reports = {name: report(unknown("KMOD001", "KMOD002") + unknown("CHAIN001", reason="another"), name,
                            needs_root=needs_root)
               for name, needs_root in (("a", ["KMOD001", "KMOD002"]), ("b", ["KMOD001", "KMOD002"]), ("c", []))}
    fleet = rollup.roll_up(sorted(reports), reports)
    assert [(cause["cause"], cause["checks"], cause["hosts"]) for cause in fleet["unknown"]] == [
        ("2 checks unknown (KMOD001, KMOD002): x is not readable", ["KMOD001", "KMOD002"], ["c"]),
        ("not run as root: 2 checks unknown, use --become", ["KMOD001", "KMOD002"], ["a", "b"])]
    title = catalogue.catalogue()["CHAIN001"].title
    lines = render_fleet(fleet, 120, False).splitlines()
    assert lines[1:4] == ["  ?      high   2 checks unknown (KMOD001, KMOD002): x is not readable: on c",
                          "  ?      high   not run as root: 2 checks unknown, use --become: on a, b",
                          "  ?      high   CHAIN001   %s: unknown on a, b, c" % title]
    assert [entry["unknown"] for entry in fleet["checks"]] == [["a", "b", "c"]] * 3


def test_reasons_and_fixes_that_differ_name_whom_they_are_for():
    rows = [dict(failing(name), remediation="load " + name) for name in "abcde"]
    rows += [dict(failing("f"), reason="another"), dict(failing("g"), reason="another")]
    text = render_node(report(rows), 100, False, every=True)
    assert "why, for a and 4 more: a reason" in text and "why, for f and 1 more: another" in text
    assert ("fix, for a: load a" in text and "fix, for c: load c" in text and "load d" not in text
            and "and 3 more" in text)


@pytest.mark.parametrize("status", ["fail", "waived"])
def test_a_problem_stands_in_place_of_the_title_with_what_it_does_not_name(status):
    lines = render_node(report([failing("a", "0", status, problem="a is 0, not there")]), 100, False,
                        every=True).splitlines()
    assert lines[2].endswith("KMOD001    a is 0, not there") and not any("found:" in line or "wanted:" in line
                                                                         for line in lines)
    text = render_node(report([failing("a", "10", status, problem="a is 0, elsewhere")]), 100, False, every=True)
    assert "a is 0, elsewhere; found: 10" in text and "wanted: there" in text and CHECK.title not in text


def test_a_problem_of_many_subjects_stands_once():
    rows = [failing(name, problem="%s is absent" % name)
            for name in "abc"] + [failing("d", "gone", problem="d is gone")]
    text = render_node(report(rows), 100, False, every=True)
    assert "a is absent; the same for b, c" in text and "d is gone" in text and text.count("wanted: there") == 1


@pytest.mark.parametrize("problem, expected", [
    ("net.ipv4.ip_forward is 0, must be 1", "net.ipv4.ip_forward is 0, must be 1"),
    ("net.ipv4.ip_forward is off", "net.ipv4.ip_forward is off; found: 0; wanted: 1"),
    (None, CHECK.title + ": net.ipv4.ip_forward; found: 0; wanted: 1"),
])
def test_a_sentence_says_what_was_found_and_is_wanted_once(problem, expected):
    assert _finding.problem_of(dict(failing("net.ipv4.ip_forward", "0", problem=problem), expected="1")) == expected


def test_titles_begin_in_one_column_whatever_the_id():
    mixed = [dict(failing(problem="Broken"), check=check) for check in ("KMOD001", "SITE-CTRACK001")]
    lines = [line for line in render_node(report(mixed), 100, False, every=True).splitlines() if "   Broken" in line]
    assert {line.index("Broken") for line in lines} == {len("  FAIL   high   SITE-CTRACK001 ")}


def test_the_fleet_names_hosts_that_were_lost_or_are_to_come():
    reports = {"a": report([failing()], "a"), "b": report([failing(status="unknown")], "b", reached=False)}
    fleet = rollup.roll_up(["a", "b", "c", "d"], reports, {"d"})
    assert fleet["totals"] == {"hosts": 4, "assessed": 1, "not_reached": 2, "not_rolled_out": 0, "pending": 1,
                               "blocked": 1, "not_known": 0, "no_node": 0, "fit": 0, "fit_with_low": 0,
                               "fit_with_others": 0}
    text = render_fleet(fleet, 100, False)
    assert ("not reached b: unreachable: x" in text and "not reached c: the play lost the host" in text
            and "  FAIL   high   KMOD001    on a; must hold: " in text)
    assert json.loads(render_json(fleet)) == fleet
    assert len([line for line in render_json(reports["a"]).splitlines() if '{"check": "KMOD001", "e' in line]) == 1


def test_the_fleet_says_which_nodes_serve_something_else():
    def read(services, second):
        return {"services": services, "endpoints": services, "read_at": "2026-11-21T10:00:%02dZ" % second}

    reports = {name: report([], name, digest=read(*read_as))
               for name, read_as in {"a": ("x", 1), "b": ("y", 2), "c": ("x", 3), "d": ("z", 9)}.items()}
    text = render_fleet(rollup.roll_up(sorted(reports), reports), 200, False)
    assert ("services: the same on 2 nodes, others on b, others on d (read at another time than the others: run it "
            "again)" in text)
    reports = {name: report([], name, digest=read("x", 1)) for name in "ab"}
    assert "services" not in render_fleet(rollup.roll_up(sorted(reports), reports), 200, False)


def test_the_fleet_takes_the_worst_severity_that_a_policy_gives_a_check():
    reports = {name: report([dict(failing(), severity=severity)], name)
               for name, severity in (("a", "info"), ("b", "high"), ("c", "low"))}
    assert [entry["severity"] for entry in rollup.roll_up(sorted(reports), reports)["checks"]] == ["high"]


@pytest.mark.parametrize("width", [40, 59, 60, 80, 300])
def test_no_line_is_wider_than_the_terminal(width):
    rows = [_finding.finding(check, status, "a subject", "w " * 200, "e", "r " * 200, "f " * 200)
            for check in catalogue.catalogue().values() for status in ("fail", "unknown")]
    reports = {name: report(rows, name)
               for name in ("web-%d.with.a.name.that.is.longer.than.forty.columns" % number for number in range(7))}
    reports["gone"] = report(rows, "gone", reached=False)
    reports["gone"]["summary"]["reason"] = "unreachable: " + "x " * 200
    fleet = rollup.roll_up(sorted(reports) + ["lost"], reports)
    for details in ("all", "auto"):
        lines = "\n".join(render_tables(list(reports.values()), fleet, details, width, False)).splitlines()
        # A command is not broken within a word; this one names all hosts.
        assert max(len(line) for line in lines if not line.startswith("    fix: ansible-playbook ")) <= width
        assert width < 300 or details == "auto" or max(map(len, lines)) > 280, "what there is room for stands in it"


@cases
def test_escaped(text, expected):
    assert escaped(text) == expected


@given(st.text())
def test_nothing_speaks_to_the_terminal(text):
    rows = [_finding.finding(CHECK, status, text, text, text, text, text, text, text)
            for status in ("fail", "unknown", "waived")]
    for every in (False, True):
        shown = render_node(report(rows, text), 80, False, every=every)
        assert all(char.isprintable() or char == "\n" for char in shown)
    assert render_json(report(rows, text)).isascii()


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_wrapped_lines_keep_the_width_and_lose_no_character(text, width):
    lines = wrapped(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize("word", ["\u4e16" * 20000, "\u0301" * 20000, "\u4e16 " * 20000])
def test_wrapping_looks_at_each_character_a_few_times(word, monkeypatch):
    looked = []
    monkeypatch.setattr(text_module, "unicodedata", mock.Mock(
        combining=lambda char: char == "\u0301", east_asian_width=lambda char: looked.append(char) or "W"))
    assert "".join(wrapped(word, 40)).replace(" ", "") == word.replace(" ", "")
    assert len(looked) < len(word) * 50


def test_the_fleet_says_whether_a_failure_is_a_groups():
    reports = {name: report([failing() if name in "ab" else _finding.finding(CHECK, "pass")], name) for name in "abcd"}
    for name in "ab":
        reports[name]["summary"]["kernel"] = "kernel 5.\x1b[2J10|"
    fleet = rollup.roll_up(sorted(reports), reports)
    assert fleet["checks"][0]["scope"]["value"] == "5.\x1b[2J10|"
    two = {name: reports[name] for name in "ac"}
    assert "fails on" not in render_fleet(rollup.roll_up(sorted(two), two), 120, False), "the host has it in its block"
    words = "KMOD001 fails on all nodes with kernel 5.\\x1b[2J10| and no other (2 of 4 judged)"
    assert words in render_fleet(fleet, 120, False)
    assert ("- KMOD001 fails on all nodes with kernel 5\\.\\\\x1b\\[2J10\\| and no other \\(2 of 4 judged\\)\n"
            in render_markdown(reports, fleet))


@pytest.mark.parametrize("baseline, words", [
    (None, "kernel is 6.1 on 3 nodes: 5.\\x1b[2J10| on d"),
    ("d", "kernel is 5.\\x1b[2J10| on d (baseline): 6.1 on a, b, c")])
def test_the_fleet_names_a_node_that_is_not_as_the_others(baseline, words):
    reports = {name: report([_finding.finding(CHECK, "pass")], name) for name in "abcd"}
    reports["d"]["summary"]["kernel"] = "kernel 5.\x1b[2J10|"
    fleet = rollup.roll_up(sorted(reports), reports, baseline=baseline)
    assert words in render_fleet(fleet, 120, False)
    assert "- kernel is " in render_markdown(reports, fleet) and "\x1b" not in render_markdown(reports, fleet)
    alike = {name: reports[name] for name in "abc"}
    assert "kernel is" not in render_fleet(rollup.roll_up(sorted(alike), alike), 120, False)
