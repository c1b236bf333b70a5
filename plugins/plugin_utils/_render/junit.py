# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as JUnit XML, for pipelines. PRIVATE to the collection.

GitLab drops cases with the same suite, class and name and shows the text of an element as the reason; Jenkins splits
the class at its last dot and takes the attribute `message` (documentation of both). So each reason stands in both
places, and a class has no dot. Readers written in Go refuse encodings other than UTF-8 (encoding/xml), and the xunit
plugin of Jenkins refuses a root with the attribute `skipped` (its junit-10.xsd).
"""

import collections
from xml.etree import ElementTree

from .. import _finding
from .summary import counted
from .text import escaped

# Bytes; GitLab takes no file above 30 MB.
LIMIT = 28 * 1000 * 1000
# A check that could not be judged is an error; a pipeline that reads JUnit counts it beside the failures and never as a
# pass.
_ELEMENTS = {_finding.FAIL: "failure", _finding.UNKNOWN: "error", _finding.SKIP: "skipped", _finding.WAIVED: "skipped"}
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}
# Statuses that are left out of a file that would be too large, step by step.
_STEPS = ((), (_finding.PASS,), (_finding.PASS, _finding.SKIP))
# Bytes of a suite without its cases, but with the case that counts the findings that are left out.
_FRAME = 1500


def render_junit(reports: dict, fleet: dict) -> str:
    """A suite for each host with a case for each finding; a host without a report is a suite with one error. Findings
    that do not fit below LIMIT are counted in one case of their suite."""
    for statuses in _STEPS:
        suites = _below_limit(_suite(row, reports, fleet["started"], statuses) for row in fleet["hosts"])
        if suites is not None:
            return _document(suites)
    room = max(0, LIMIT // len(fleet["hosts"]) - _FRAME)
    return _document([_written(_suite(row, reports, fleet["started"], _STEPS[-1], room)) for row in fleet["hosts"]])


def _below_limit(suites):
    """[(text of a suite, its counts)], None where they are larger than a reader accepts."""
    made, size = [], 0
    for suite in suites:
        made.append(_written(suite))
        size += len(made[-1][0])
        if size > LIMIT:
            return None
    return made


def _written(suite):
    ElementTree.indent(suite, level=1)
    return (ElementTree.tostring(suite, encoding="us-ascii").decode("ascii"),
            {name: int(suite.get(name)) for name in ("tests", "failures", "errors")})


def _document(suites):
    counts = collections.Counter()
    for _text, of_suite in suites:
        counts.update(of_suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kubenode.netfilter" %s>\n%s</testsuites>\n' % (
        " ".join('%s="%d"' % (name, counts[name]) for name in ("tests", "failures", "errors")),
        "".join("  %s\n" % text for text, _counts in suites))


def _suite(row, reports, started, left_out, room=None):
    """The suite of a host without the findings whose status is `left_out`, and without the findings that do not fit
    into `room` bytes; the worst findings come first there."""
    host = row["host"]
    findings = reports[host]["findings"] if host in reports else [_unreported(row)]
    suite = ElementTree.Element("testsuite", name=escaped(host), hostname=escaped(host), timestamp=started)
    kept = [finding for finding in findings if finding["status"] not in left_out]
    if room is not None:
        kept = _fitting(host, _finding.by_urgency(kept), room)
    for finding in sorted(kept, key=lambda each: (each["check"], each["subject"])):
        suite.append(_case(host, finding))
    if len(kept) < len(findings):
        known = set(map(id, kept))
        suite.append(_case_of_the_rest(host, [finding for finding in findings if id(finding) not in known]))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, tag in _COUNTED.items():
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    return suite


def _fitting(host, findings, room):
    """The first of the findings, as long as their cases fit into `room` bytes."""
    for number, finding in enumerate(findings):
        room -= len(ElementTree.tostring(_case(host, finding), encoding="us-ascii"))
        if room < 0:
            return findings[:number]
    return findings


def _case_of_the_rest(host, findings):
    """A case with the number of findings of a host that are not in the file; it fails if one of these findings
    fails."""
    worst = _finding.by_urgency(findings)[0]
    counts = collections.Counter(finding["status"] for finding in findings)
    text = "left out, because GitLab takes no file above 30 MB: %s; the formats json, csv and html have all" % counted(
        {status: counts[status] for status in reversed(_finding.STATUSES)})
    element = _ELEMENTS.get(worst["status"], "skipped")
    return _with(_new_case(host, "info" if element == "skipped" else worst["severity"], "left out"), element, [text])


def _unreported(row):
    """A host that the run did not assess, as a finding: unknown if it was not reached, otherwise skipped: its turn is
    still to come, or will not come."""
    status = _finding.UNKNOWN if row["status"] == "not_reached" else _finding.SKIP
    return {"check": row["status"], "subject": "", "severity": "high", "status": status,
            "reason": row["reason"] or row["status"], "problem": None, "title": "Every node is assessed",
            "observed": "", "expected": "", "remediation": "", "waiver": None}


def _case(host, finding):
    case = _new_case(host, finding["severity"], " ".join(filter(None, (finding["check"], finding["subject"]))))
    element = _ELEMENTS.get(finding["status"])
    return _with(case, element, [_message(finding), *_details(finding)]) if element else case


def _new_case(host, severity, name):
    return ElementTree.Element("testcase", classname=escaped(host.replace(".", "_")),
                               name=escaped("[%s] %s" % (severity, name)))


def _with(case, element, texts):
    """The case with its outcome, whose first text is the message."""
    outcome = ElementTree.SubElement(case, element, message=escaped(texts[0]))
    outcome.text = "\n".join(map(escaped, filter(None, texts)))
    return case


def _message(finding):
    if finding["status"] == _finding.FAIL:
        return _finding.problem_of(finding)
    if finding["status"] == _finding.WAIVED:
        return "waived: %s" % (finding["waiver"] or "")
    return "%s: %s" % (finding["status"], finding["reason"])


def _details(finding):
    """The texts that the name of the case does not have; it has only the id of the check."""
    if finding["status"] == _finding.WAIVED and finding["problem"]:
        return [_finding.problem_of(finding)]
    if finding["status"] != _finding.FAIL:
        return ["must hold: %s" % finding["title"]]
    return [text and "%s: %s" % (word, text)
            for word, text in (("why", finding["reason"]), ("fix", finding["remediation"]))]
