# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML page as a parser reads it: what it may load, and that no text of a node is anything but a text."""

import base64
import collections
import json
import zlib

import pytest
import report_runs
from parsed_html import Parsed, loaded, policy_of
from report_runs import finding, report, report_of, run, text_of

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import escaped


def data_of(text):
    return json.loads(zlib.decompress(base64.b64decode(Parsed(text).raw[1])))


def read_back(text):
    data = data_of(text)
    names = ("fail", "unknown", "waived", "pass", "skip")
    return collections.Counter(
        (host["name"], data["checks"][data["findings"][at][0]]["id"], data["texts"][data["findings"][at][3]],
         names[data["findings"][at][1]]) for host in data["hosts"] for at in host["findings"])


def test_the_policy_allows_the_inlined_bytes_alone():
    page = Parsed(text_of("html", *report_runs.everything()))
    style, _data, script = page.raw
    given, wanted = policy_of(page)
    assert given == wanted and loaded(page) == []
    assert (page.tags["script"], page.tags["style"]) == (2, 1)
    assert "innerHTML" not in script and "://" not in style + script


@pytest.mark.parametrize("text", [*report_runs.HOSTILE, "</script><img src=x>", "<!--<script>", "$data ${style} $",
                                  "'><b onclick=x>"])
def test_a_hostile_text_adds_no_element(text):
    def page(used):
        return text_of("html", *run(report("a" + used, *(
            finding("KMOD003", used, status, observed=used, reason=used, remediation=used)
            for status in ("fail", "unknown"))), lost=["b" + used]))
    hostile, harmless = Parsed(page(text)), Parsed(page("x"))
    assert hostile.tags == harmless.tags and len(hostile.attributes) == len(harmless.attributes)
    assert read_back(page(text))["a" + escaped(text), "KMOD003", escaped(text), "fail"] == 1
    assert any(escaped(text) in shown for shown in hostile.texts)


def test_each_finding_is_on_the_page_once():
    reports, fleet = report_runs.everything()
    assert read_back(text_of("html", reports, fleet)) == collections.Counter(
        (escaped(host), row["check"], escaped(row["subject"]), row["status"])
        for host, each in reports.items() for row in each["findings"])


def test_equal_findings_and_texts_are_written_once():
    rows = [finding("KMOD003", "ip_vs", "fail", observed="absent" * 50) for _each in range(2)]
    reports, fleet = run(*(report("n%03d" % number, *rows) for number in range(200)))
    text = text_of("html", reports, fleet)
    assert text.count("absent" * 50) == 1 and json.dumps(data_of(text)).count("absent" * 50) == 1
    assert "n000, n001, n002, n003, n004, n005, n006, n007, n008, n009 and 190 more" in text


def test_evidence_is_on_the_page_line_by_line():
    rows = [finding("KMOD003", "ip_vs", "fail", evidence="state: <b>\nplace: live"),
            finding("KMOD003", "xt_mark", "fail", evidence="state: absent\nplace: live")]
    data = data_of(text_of("html", *run(report("a", *rows))))
    assert [[data["lines"][at] for at in row[11]] for row in data["findings"]] == [
        ["state: <b>", "place: live"], ["state: absent", "place: live"]]
    assert data["lines"].count("place: live") == 1


@pytest.mark.parametrize("hosts, verdict", [
    ((["fail"], ["pass"]), "1 of 3 nodes must not carry traffic"),
    ((["unknown"], ["pass"]), "No node is blocked, but 2 of 3 are not known to be fit for traffic"),
    ((["pass"], ["skip"]), "No node is blocked, but 1 of 3")])
def test_the_verdict_is_never_greener_than_the_fleet(hosts, verdict):
    reports = [report("h%d" % number, *(finding(status=status) for status in statuses))
               for number, statuses in enumerate(hosts)]
    text = text_of("html", *run(*reports, lost=["gone"]))
    assert "<h2 id=\"summary\">%s" % verdict in text and "<title>kubenode.netfilter: %s" % verdict in text
    assert "<h2 id=\"summary\">The run has no hosts" in text_of("html", *run())
    healthy = text_of("html", *run(report("a", finding())))
    assert "All nodes are fit for traffic" in healthy and "No finding fails, is unknown or is waived." in healthy


def test_the_first_screen_has_each_cause_with_its_hosts_and_one_fix():
    rows = [finding("CTRACK001", "the table", "fail", problem="The table is full: %d of 9" % number)
            for number in range(3)]
    reports, fleet = run(*(report("w%d" % number, rows[number], finding("KMOD003", "", "fail", severity="low"))
                           for number in range(3)), report_of("down", not_reached="no route to host"), lost=["gone"])
    text = text_of("html", reports, fleet)
    screen = text[:text.index('<section id="map"')]
    assert screen.count("<code>") == 1 and "kubenode.netfilter.preflight -b -l w0,w1,w2</code>" in screen
    assert "on w0, w1, w2</div>" in screen and "w1: The table is full: " in screen
    assert screen.count("no route to host") == 1 == screen.count("gone was not reached: the play lost the host")
    assert "<summary>1 cause does not block</summary>" in screen
    assert text.index('id="map"') < text.index('id="plain"')


def test_findings_of_one_check_without_a_cause_are_one_entry():
    rows = [finding("USER001", subject, "fail", problem="%s is wrong" % subject) for subject in ("x", "y", "z")]
    _reports, fleet = run(report("a", *rows), report("b", *rows))
    (cause,) = fleet["causes"]
    assert (cause["sentences"], cause["checks"]) == (
        [{"sentence": "x is wrong (and 2 more)", "hosts": ["a", "b"]}], ["USER001"])


def test_a_cause_of_many_hosts_names_some_in_its_command():
    row = finding("CTRACK001", "the table", "fail", problem="The table is full")
    reports, fleet = run(*(report("n%02d" % number, row) for number in range(30)))
    (cause,) = fleet["causes"]
    assert cause["fix"].endswith(" -l " + ",".join("n%02d" % number for number in range(20)))
    assert len(cause["hosts"]) == 30 and len(cause["sentences"]) == 1 and cause["checks"] == ["CTRACK001"]
    text = text_of("html", reports, fleet)
    assert "fix (first 20 nodes): <code>" in text and "<summary>and 10 more</summary>n20, n21" in text
