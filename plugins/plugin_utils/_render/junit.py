# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as JUnit XML, for pipelines. PRIVATE to the collection.

GitLab drops cases with the same suite, class and name and shows the text of an element as the reason; Jenkins splits
the class at its last dot and takes the attribute `message` (documentation of both). So each reason stands in both
places, and a class has no dot.
"""

from xml.etree import ElementTree

from .. import _finding
from .text import escaped

# A check that could not be judged is an error; a pipeline that reads JUnit counts it beside the failures and never as a
# pass.
_ELEMENTS = {_finding.FAIL: "failure", _finding.UNKNOWN: "error", _finding.SKIP: "skipped", _finding.WAIVED: "skipped"}
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render_junit(reports: dict, fleet: dict) -> str:
    """A suite for each host with a case for each finding; a host without a report is a suite with one error."""
    root = ElementTree.Element("testsuites", name="kubenode.netfilter")
    for row in fleet["hosts"]:
        host = row["host"]
        suite = ElementTree.SubElement(root, "testsuite", name=escaped(host), hostname=escaped(host),
                                       timestamp=fleet["started"])
        findings = reports[host]["findings"] if host in reports else [_unreported(row)]
        for finding in sorted(findings, key=lambda each: (each["check"], each["subject"])):
            _add_case(suite, host, finding)
        _count(suite, [suite])
    _count(root, root)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True).decode("ascii") + "\n"


def _unreported(row):
    """A host that the run did not assess, as a finding: unknown, or skipped where its turn is to come or does not come
    any more."""
    status = _finding.UNKNOWN if row["status"] == "not_reached" else _finding.SKIP
    return {"check": row["status"], "subject": "", "severity": "high", "status": status,
            "reason": row["reason"] or row["status"], "problem": None, "title": row["status"], "observed": "",
            "expected": "", "remediation": "", "waiver": None}


def _add_case(suite, host, finding):
    name = "[%s] %s" % (finding["severity"], " ".join(filter(None, (finding["check"], finding["subject"]))))
    case = ElementTree.SubElement(suite, "testcase", classname=escaped(host.replace(".", "_")), name=escaped(name))
    element = _ELEMENTS.get(finding["status"])
    if element:
        message = _message(finding)
        outcome = ElementTree.SubElement(case, element, message=escaped(message))
        outcome.text = "\n".join(escaped(text) for text in (message, *_details(finding)) if text)


def _message(finding):
    if finding["status"] == _finding.FAIL:
        return _finding.problem_of(finding)
    if finding["status"] == _finding.WAIVED:
        return "waived: %s" % (finding["waiver"] or "")
    return "%s: %s" % (finding["status"], finding["reason"])


def _details(finding):
    if finding["status"] != _finding.FAIL:
        return ()
    return [text and "%s: %s" % (word, text)
            for word, text in (("why", finding["reason"]), ("fix", finding["remediation"]))]


def _count(element, suites):
    cases = [case for suite in suites for case in suite.iter("testcase")]
    element.set("tests", str(len(cases)))
    for name, tag in _COUNTED.items():
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
