# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The screen of a host: the verdict, causes with commands that can be copied, and a limit of its lines."""

import re

from screen_reports import CHECK, FIX, cause, caused, failing, report, unknown

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes import judge
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render import screen
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_node


def test_the_screen_begins_and_ends_with_the_verdict_and_tells_each_cause():
    known = caused(cause(["CHAIN001", "KPROXY006", "KMOD001"], since="about 03:12", evidence="nat has 0 rules"),
                   cause(["KMOD001"], sentence="A module is missing", effect="", fix="", then=""))
    lines = render_node(known, 100, False).splitlines()
    assert lines == [
        "web-1 is not fit for traffic: the rules were flushed (and 1 more cause)",
        "  Debian 12, kernel 6.1, live node, iptables mode", "  FAIL   high   The rules were flushed",
        "    Connections to Services fail (since about 03:12).", "    evidence: nat has 0 rules",
        "    fix: ansible-playbook kubenode.netfilter.repair -l web-1",
        "    then: ansible-playbook kubenode.netfilter.audit -l web-1: CHAIN001 passes",
        "    3 findings explained by this: CHAIN001 and 2 more (details: -e node_report_details=all)",
        "  FAIL   high   A module is missing",
        "    1 finding explained by this: KMOD001 (details: -e node_report_details=all)",
        "  0 pass, 1 fail, 0 unknown, 0 waived, 0 skip", lines[0]]
    assert render_node(report([failing()], reached=False), 100, False).startswith("web-1 was not reached: unreachable")


def test_each_cause_of_the_catalogue_names_the_host_where_others_can_stand_beside_it():
    for known in judge.causes():
        for template in (known.fix["command"], known.then):
            text, number = re.subn("{host}|{node}", "w-1.x", template)
            assert screen.without_host(text, "w-1.x").count("\0") == number, (
                "%s: add the word before {host} to _BEFORE" % known.id)


def most(known):
    """A cause of the catalogue with long values of a node."""
    long = dict.fromkeys(("sentence", "evidence"), "w " * 400)
    host = "worker-17.cluster.example"
    return dict(cause(["KMOD001", "KMOD002", "KMOD003"]), effect=known.effect, since="2026-11-27 03:12:44", **long,
                fix=re.sub("{host}|{node}", host, known.fix["command"]), then=known.then.replace("{host}", host))


def test_two_causes_fit_on_a_screen_of_24_lines_whatever_a_node_writes():
    long = {known.id: len(render_node(caused(most(known)), 100, False).splitlines()) for known in judge.causes()}
    worst = sorted(judge.causes(), key=lambda known: -long[known.id])[:2]
    rows = [failing(), *unknown("CHAIN001", "KMOD002", "KPROXY001", "HOOK001", reason="r " * 200),
            failing(status="waived", waiver="until x")]
    known = caused(*map(most, worst), *[cause(sentence="Cause %d" % number) for number in range(3)],
                   host="worker-17.cluster.example", rows=rows)
    known["summary"].update(disabled=[{"check": "KMOD001", "reason": "r"}] * 30)
    lines = render_node(known, 100, False).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert sum("FAIL" in line for line in lines) == 2 and sum("fix: " in line for line in lines) == 2
    assert "  more: 3 causes, unknown checks, waived checks, notes (details: -e node_report_details=all)" in lines
    assert lines.index(lines[0], 1) and "--limit" not in "".join(lines)
    assert len(render_node(known, 100, False, every=True).splitlines()) > 24


def test_what_is_left_out_is_counted_last():
    known = caused(*[cause(sentence="Cause %d" % number) for number in range(9)])
    lines = render_node(known, 100, False).splitlines()
    assert lines[-3] == "  more: 6 causes (details: -e node_report_details=all)" and len(lines) <= 24
    rows = [failing(), *unknown("CHAIN001", reason="r " * 600)]
    lines = render_node(caused(cause(), cause(sentence="Other"), rows=rows), 100, False).splitlines()
    assert lines[-3] == "  more: unknown checks (details: -e node_report_details=all)"


def test_findings_of_one_check_without_a_cause_are_one_block_and_the_count_is_no_subject():
    rows = [dict(failing("and 23 more", problem="23 more of 28 fail like the subjects that are listed"),
                 expected=CHECK.title), *[failing(name, problem="%s is lost" % name, observed="") for name in "edcba"]]
    text = render_node(report(rows), 100, False)
    assert text.count("FAIL") == 1 and "a is lost; wanted: there (and 27 more)" in text
    assert "23 more of" not in "".join(line for line in text.splitlines() if line.startswith("  "))


def test_a_command_can_be_copied_whatever_the_width():
    long = FIX.format(host="web-1") + " -e preflight_fix=guarded && " + FIX.format(host="web-1")

    def lines(fix, width, **more):
        shown = render_node(caused(cause(fix=fix, **more)), width, False).splitlines()
        starts = [line[4:9] for line in shown]
        return shown[starts.index("fix: "):starts.index("then:")]

    assert lines(FIX, 62) == ["    fix: ansible-playbook kubenode.netfilter.repair -l web-1"]
    assert lines(long, 100) == ["    fix: %s -e preflight_fix=guarded &&" % FIX.format(host="web-1"),
                                "    " + FIX.format(host="web-1")]
    assert lines(FIX, 50) == ["    fix: ansible-playbook \\", "    kubenode.netfilter.repair -l web-1"]
    assert lines(FIX, 24) == ["    fix: ansible-playbook kubenode.netfilter.repair -l web-1"], "no word is broken"
    assert lines("a reboot, after " + FIX, 50)[-1] == "    kubenode.netfilter.repair -l web-1", "a sentence"
    assert lines("w " * 300, 100, cause=None)[-1].endswith(" ..."), "the text of a finding"


def test_a_host_with_only_unknown_findings_is_not_known_for_its_reasons():
    def first_and_last(rows, **more):
        lines = render_node(report(rows, **more), 120, False).splitlines()
        assert lines[0] == lines[-1]
        return lines[0]

    rows = unknown("KMOD001", "KMOD002", reason="x is gone") + unknown("CHAIN001", reason="no time")
    assert first_and_last(rows[:2]) == "web-1 is not known: 2 checks could not look (x is gone)"
    assert first_and_last(rows) == "web-1 is not known: 3 checks could not look (x is gone, and 1 more reason)"
    assert first_and_last(rows, needs_root=["CHAIN001"]) == (
        "web-1 is not known: 3 checks could not look (not root, and 1 more reason)")
    assert first_and_last(rows, needs_root=["CHAIN001", "KMOD001", "KMOD002"]) == (
        "web-1 is not known: 3 checks could not look (not root)")
    low = [dict(row, severity="low") for row in rows]
    assert first_and_last(low) == "web-1 is fit for traffic", "nothing that the gate asks for is unknown"
    assert first_and_last([*low[:2], rows[2]]) == (
        "web-1 is not known: 3 checks could not look (no time, and 1 more reason)"), "all, as in the lines below it"


def test_a_cause_that_does_not_block_is_a_note_after_those_that_do():
    low = dict(failing("b", problem="b is old"), severity="low")
    lines = render_node(report([low]), 100, False).splitlines()
    assert lines[0] == lines[-1] == "web-1 is fit for traffic (1 low finding)"
    assert lines[2] == "  note   low    b is old; found: absent; wanted: there" and "FAIL" not in "".join(lines)
    known = caused(cause(), cause(["CHAIN001"], sentence="Worse", severity="low"))
    known["causes"] = known["causes"][::-1]
    known["summary"]["verdict"]["blocking"] = [{"check": "KMOD001", "subject": "x"}]
    lines = render_node(known, 100, False).splitlines()
    assert [line for line in lines if line[2:6] in ("FAIL", "note")] == [
        "  FAIL   high   The rules were flushed", "  note   low    Worse"]


def test_nodes_are_emptied_one_after_the_other_and_a_selector_names_one():
    reboot = "fix: kubectl drain w-1 --ignore-daemonsets && ansible w-1 -b -m reboot && kubectl uncordon w-1"
    delete = "kubectl -n kube-system delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=w-1"
    for text in (reboot, delete):
        assert screen.with_hosts(screen.without_host(text, "w-1"), ["w-1"]) == text
    assert screen.with_hosts(screen.without_host(reboot, "w-1"), ["w-1", "w-2"]) == (
        "fix: for n in w-1 w-2; do kubectl drain $n --ignore-daemonsets && ansible $n -b -m reboot && "
        "kubectl uncordon $n || break; done")
    assert screen.with_hosts(screen.without_host(delete, "w-1"), ["w-1", "w-2"]) == (
        "for n in w-1 w-2; do kubectl -n kube-system delete pod -l k8s-app=kube-proxy --field-selector "
        "spec.nodeName=$n || break; done")
