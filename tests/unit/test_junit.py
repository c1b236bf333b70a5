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


def test_a_consumer_reads_each_finding_with_its_status_and_reason():
    reports, fleet = golden()
    root = junitparser.JUnitXml.fromstring(text_of(reports, fleet).encode("ascii"))
    found = {(suite.name, case.name): case.result for suite in root for case in suite}
    assert (root.tests, root.failures, root.errors) == (len(found), 14, 8) == (29, 14, 8)
    for suite in root:
        kinds = [type(outcome).__name__ for case in suite for outcome in case.result]
        assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
            len(list(suite)), kinds.count("Failure"), kinds.count("Error"), kinds.count("Skipped"))
    assert found.pop(("lost-5", "[high] not_reached"))[0].message.startswith("unknown: the play lost the host")
    for host, each in reports.items():
        for row in each["findings"]:
            name = " ".join(filter(None, (row["check"], row["subject"])))
            outcome = found.pop((escaped(host), escaped("[%s] %s" % (row["severity"], name))))
            status = OUTCOMES[type(outcome[0]).__name__] if outcome else "pass"
            assert status == {"waived": "skip"}.get(row["status"], row["status"])
            # A message in the attribute for Jenkins, as text for GitLab.
            assert all(part.text.startswith(part.message) and escaped(row["waiver"] or row["reason"]) in part.text
                       for part in outcome)
    assert found == {}
