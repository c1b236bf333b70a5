# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JUnit: valid by a schema of what Jenkins and GitLab accept, and read by junitparser."""

import pathlib

import golden_run
import junitparser
import pytest
import report_runs
from case_rows import cases
from lxml import etree
from report_runs import finding, report

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes import verdict
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import escaped

SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "junit.xsd"
OUTCOMES = {"Failure": "fail", "Error": "unknown", "Skipped": "skip"}


@pytest.fixture(scope="module")
def schema():
    return etree.XMLSchema(etree.parse(str(SCHEMA)))


def problems(schema, text):
    schema.validate(etree.fromstring(text.encode("ascii")))
    return [error.message for error in schema.error_log]


def golden():
    reports = golden_run.reports()
    return reports, golden_run.fleet(reports)


def text_of(reports, fleet):
    return report_runs.text_of("junit", reports, fleet)


def test_it_is_valid(schema):
    runs = [golden(), report_runs.everything(), report_runs.run(lost=["gone"]), report_runs.run(report("a")),
            report_runs.run()]
    runs += [report_runs.run(report("a." + text, finding("KMOD003", text, "fail", reason=text, remediation=text),
                                    finding("HOOK001", text, "waived"))) for text in report_runs.HOSTILE]
    assert [problems(schema, text_of(*run)) for run in runs] == [[]] * len(runs)


@cases
def test_the_schema_refuses_what_a_reader_refuses(schema, found, given, words):
    text = text_of(*golden())
    assert problems(schema, text) == [] and found in text
    assert words in " ".join(problems(schema, text.replace(found, given, 1)))


def cases_of(text):
    root = junitparser.JUnitXml.fromstring(text.encode("ascii"))
    return root, {(suite.name, case.name): case for suite in root for case in suite}


def kind_of(case):
    return type(case.result[0]).__name__ if case.result else None


def test_a_consumer_reads_each_finding_with_its_status_and_reason():
    reports, fleet = golden()
    root, found = cases_of(text_of(reports, fleet))
    assert (root.tests, root.failures, root.errors) == (len(found), 16, 6) == (31, 16, 6)
    for suite in root:
        kinds = [type(outcome).__name__ for case in suite for outcome in case.result]
        assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
            len(list(suite)), kinds.count("Failure"), kinds.count("Error"), kinds.count("Skipped"))
        assert next(iter(suite)).name == "verdict"
    verdicts = {host: kind_of(found.pop((escaped(host), "verdict"))) for host in (*reports, "lost-5")}
    assert verdicts == {"node-1.example": None, "node-2.example": "Failure", "node-3<b>\x1b[2J|=1": "Failure",
                        "node-4": "Error", "lost-5": "Error"}
    # Of a host that was not reached the verdict is the only case.
    for host, each in [(name, reports[name]) for name in reports if name != "node-4"]:
        for row in each["findings"]:
            name = " ".join(filter(None, (row["check"], row["subject"])))
            outcome = found.pop((escaped(host), escaped("[%s] %s" % (row["severity"], name)))).result
            status = OUTCOMES[type(outcome[0]).__name__] if outcome else "pass"
            low = row["severity"] == "low" and row["status"] == "unknown"
            assert status == ("skip" if low else {"waived": "skip"}.get(row["status"], row["status"]))
            # A message in the attribute for Jenkins, as text for GitLab.
            assert all(part.text.startswith(part.message) and escaped(row["waiver"] or row["reason"]) in part.text
                       for part in outcome)
    assert found == {}


def test_the_verdict_is_the_first_text_and_has_each_cause_with_its_fix():
    _root, found = cases_of(text_of(*golden()))
    (failure,) = found["node-2.example", "verdict"].result
    assert failure.message.startswith("node-2.example is not fit for traffic: the conntrack table is too full")
    assert "\nfix: ansible-playbook kubenode.netfilter.preflight -b -l node-2.example\n" in failure.text
    (failure,) = found["node-2.example", "[high] KMOD003 nf_conntrack"].result
    assert "\ncause: A required module is not loaded: " in failure.text and failure.text.count("fix: ") == 1
    assert "<system-out>node-1.example is fit for traffic</system-out>" in text_of(*golden())


@pytest.mark.parametrize("gate, status, kind", [
    ({}, "fail", "Skipped"), ({"severity": "low"}, "fail", "Failure"), ({}, "unknown", "Skipped"),
    ({"severity": "low"}, "unknown", "Error"), ({"severity": "low", "waived": "fail"}, "waived", "Failure"),
    ({"severity": "low", "classes": []}, "fail", "Skipped")])
def test_a_finding_is_a_failure_where_it_blocks(gate, status, kind):
    row = finding("KMOD003", "ip_vs", status, severity="low", problem="ip_vs is absent")
    known = report("a", row)
    settings = dict(assess.default_gate(), **gate)
    known["summary"]["verdict"] = verdict.verdict_of(known["summary"], [row], known["causes"], settings)
    root, found = cases_of(text_of(*report_runs.run(known)))
    case = found["a", "[low] KMOD003 ip_vs"]
    assert kind_of(case) == kind and bool(root.failures) == (kind == "Failure")
    if (status, kind) == ("fail", "Skipped"):
        assert case.result[0].message == "does not block: ip_vs is absent"
