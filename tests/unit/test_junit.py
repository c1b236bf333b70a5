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

SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "junit.xsd"


@pytest.fixture(scope="module")
def schema():
    return etree.XMLSchema(etree.parse(str(SCHEMA)))


def problems(schema, text):
    schema.validate(etree.fromstring(text.encode("ascii")))
    return [error.message for error in schema.error_log]


def text_of(reports, fleet):
    return report_runs.text_of("junit", reports, fleet)


def golden():
    """Its text is compared byte for byte in test_every_format.py."""
    reports = golden_run.reports()
    return reports, golden_run.fleet(reports)


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


@pytest.mark.parametrize("gate, status, kind", [
    ({}, "fail", "Skipped"), ({"severity": "low"}, "fail", "Failure"), ({}, "unknown", "Skipped"),
    ({"severity": "low"}, "unknown", "Error"), ({"severity": "low", "waived": "fail"}, "waived", "Failure"),
    ({"severity": "low", "classes": []}, "fail", "Skipped")])
def test_a_finding_is_a_failure_where_it_blocks(gate, status, kind):
    row = finding("KMOD003", "ip_vs", status, severity="low", problem="ip_vs is absent")
    known = report("a", row)
    settings = dict(assess.default_gate(), **gate)
    known["summary"]["verdict"] = verdict.verdict_of(known["summary"], [row], known["causes"], settings)
    root = junitparser.JUnitXml.fromstring(text_of(*report_runs.run(known)).encode("ascii"))
    case, = [case for suite in root for case in suite if (suite.name, case.name) == ("a", "[low] KMOD003 ip_vs")]
    assert type(case.result[0]).__name__ == kind and bool(root.failures) == (kind == "Failure")
    if (status, kind) == ("fail", "Skipped"):
        assert case.result[0].message == "does not block: ip_vs is absent"
