# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of 2,000 nodes: every file is within the limits of its readers, and states what was cut."""

import gzip
import html.parser
import json
import re

import big_fleet
import pytest
import report_runs
from lxml import etree
from test_junit import SCHEMA

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import escaped

OPEN = (_finding.FAIL, _finding.UNKNOWN, _finding.WAIVED)
MIB = 1 << 20


@pytest.fixture(scope="module")
def usual():
    return big_fleet.usual()


@pytest.fixture(scope="module")
def worst():
    return big_fleet.worst()


def suites(run):
    """The suites of junit.xml by name, below 30 MB and valid."""
    text = report_runs.text_of("junit", *run)
    assert len(text) < 30 * 10 ** 6
    root, schema = etree.fromstring(text.encode("ascii")), etree.XMLSchema(etree.parse(str(SCHEMA)))
    assert schema.validate(root), schema.error_log
    found = {suite.get("name"): suite for suite in root}
    assert len(found) == len(root) == big_fleet.NODES + 1
    assert int(root.get("tests")) == sum(len(suite) for suite in root) < 500000, "GitLab takes no more cases"
    return found


def rest_of(suite):
    """The outcome of the test case that counts the findings left out of a suite."""
    (case,) = [case for case in suite if case.get("name").endswith("] left out")]
    return case[0]


def test_junit_counts_what_passes_where_all_does_not_fit(usual):
    suite, findings = suites(usual)[big_fleet.name(7)], usual[0][big_fleet.name(7)]["findings"]
    counts = _finding.summarise(findings)
    assert rest_of(suite).tag == "skipped" and rest_of(suite).get("message") == (
        "left out, because GitLab takes no file above 30 MB: %d pass; the formats json, csv and html have all"
        % counts["pass"])
    assert len(suite) - 2 == len(findings) - counts["pass"], "nothing but what passes is left out"
    verdict = usual[0][big_fleet.name(7)]["summary"]["verdict"]
    unknown = sum(row["status"] == _finding.UNKNOWN and row["severity"] in ("medium", "high") for row in findings)
    assert (int(suite.get("failures")), int(suite.get("errors"))) == (1 + len(verdict["blocking"]), unknown)


def test_junit_stays_red_where_even_what_fails_does_not_fit(worst):
    found = suites(worst)
    assert found["gone"][0][0].tag == "error"
    for host, report in worst[0].items():
        suite = found[host]
        assert int(suite.get("tests")) == int(suite.get("failures")) == len(suite) > 10
        assert suite[0].get("name") == "verdict"
        assert "30 MB: %d fail;" % (len(report["findings"]) - len(suite) + 2) in rest_of(suite).text


@pytest.mark.parametrize("name", ["usual", "worst"])
def test_sarif_is_what_github_and_gitlab_take(name, request):
    reports, fleet = request.getfixturevalue(name)
    text = report_runs.text_of("sarif", reports, fleet)
    assert len(gzip.compress(text.encode("utf-8"), 1)) < 10 * MIB
    (run,) = json.loads(text)["runs"]
    # A result for each check and status, and one for the node that was lost, however many nodes there are.
    told = {(row["check"], row["status"]) for report in reports.values() for row in report["findings"]
            if row["status"] in (_finding.FAIL, _finding.UNKNOWN)}
    assert len(run["results"]) == len(told) + 1 < 5000
    for result in run["results"]:
        assert len(result["message"]["text"]) <= 1024
        hosts = result["properties"]["nodes"]
        assert len(hosts) == result["properties"]["nodeCount"]
        if len(hosts) > 1:
            assert "on %d of %d nodes (" % (len(hosts), big_fleet.NODES + 1) in result["message"]["text"]
            assert " and %d more)" % (len(hosts) - 5) in result["message"]["text"]
    assert all(len(rule["properties"]["tags"]) <= 10 for rule in run["tool"]["driver"]["rules"])


@pytest.mark.parametrize("name", ["usual", "worst"])
def test_a_job_summary_is_below_one_mebibyte(name, request):
    reports, fleet = request.getfixturevalue(name)
    text = report_runs.text_of("markdown", reports, fleet)
    assert len(text.encode("utf-8")) < MIB
    assert len(text.splitlines()) <= 40
    shown = sum(line.startswith("| ") for line in text.splitlines()) - 2
    cut = re.search(r"\n(\d+) more rows are in report\\.html and fleet\\.json\.\n", text)
    causes = [cause for cause in fleet["causes"] if cause["blocks"]]
    # The node that was lost has a row, too.
    assert shown + (int(cut[1]) if cut else 0) == len(causes) + fleet["causes_left_out"] + 1
    assert bool(cut) is (name == "worst")


class Rows(html.parser.HTMLParser):
    """How many rows the tables of a page have."""

    count = 0

    def handle_starttag(self, tag, attrs):
        self.count += tag == "tr"


@pytest.mark.parametrize("name", ["usual", "worst"])
def test_the_page_is_below_fifteen_megabytes(name, request):
    reports, fleet = request.getfixturevalue(name)
    text = report_runs.text_of("html", reports, fleet)
    assert len(text.encode("utf-8")) < 15 * 10 ** 6
    page, cut = Rows(), re.search(r"<p>(\d+) more rows: the map, which needs scripts, has them all\.</p>", text)
    page.feed(text[:text.index('id="data"')])
    different = {tuple(escaped(row[key] or "") for key in _finding.KEYS) for report in reports.values()
                 for row in report["findings"] if row["status"] in OPEN}
    # One row is the head. The page has up to 400 rows of findings, as docs/reports.md states.
    assert page.count - 1 <= 400 and page.count - 1 + (int(cut[1]) if cut else 0) == len(different)
    assert bool(cut) is (name == "worst")
