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
from .._causes.verdict import BLOCKED, FIT, NO_NODE, blocking_of, blocks
from .._fleet.overview import state_of
from .summary import counted, sentence_of
from .text import escaped

# Bytes; GitLab takes no file above 30 MB.
LIMIT = 28 * 1000 * 1000
# A host that is not known to be fit is an error; a pipeline that reads JUnit counts it beside the failures and never
# as a pass.
_OF_STATE = {BLOCKED: "failure", NO_NODE: "skipped", "pending": "skipped", "not_rolled_out": "skipped", FIT: None}
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}
# Statuses that are left out of a file that would be too large, step by step.
_STEPS = ((), (_finding.PASS,), (_finding.PASS, _finding.SKIP))
# Bytes of a suite without its cases, but with the case that counts the findings that are left out.
_FRAME = 1500
# Characters of a verdict where there is little room.
_CUT = 300
_ORDER = ("failure", "error", "skipped", None)


def render_junit(reports: dict, fleet: dict) -> str:
    """A suite for each host with a case for its verdict and one for each finding; a host that was not assessed has the
    first alone. Findings that do not fit below LIMIT are counted in one case of their suite."""
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
    into `room` bytes; the worst findings come first there. Of a host that was not reached each finding is unknown for
    the reason of the verdict."""
    host, report = row["host"], reports.get(row["host"])
    findings = report["findings"] if report and row["status"] == "assessed" else []
    suite = ElementTree.Element("testsuite", name=escaped(host), hostname=escaped(host), timestamp=started)
    case_of = _cases(host, report)
    suite.append(_case_of_verdict(row, report if findings else None, room))
    kept = [finding for finding in findings if finding["status"] not in left_out]
    if room is not None:
        kept = _fitting(case_of, _finding.by_urgency(kept), room - len(_bytes(suite)))
    for finding in sorted(kept, key=lambda each: (each["check"], each["subject"])):
        suite.append(case_of(finding))
    if len(kept) < len(findings):
        known = set(map(id, kept))
        suite.append(_case_of_the_rest(host, report, [each for each in findings if id(each) not in known]))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, tag in _COUNTED.items():
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    return suite


def _bytes(element):
    return ElementTree.tostring(element, encoding="us-ascii")


def _case_of_verdict(row, report, room):
    """The first case of a suite: the verdict, and each cause that blocks with its fix. With little `room` the verdict
    alone, cut."""
    texts = [sentence_of(row)]
    if room is not None:
        texts = [texts[0][:_CUT]]
    elif report:
        blocking = blocking_of(report["summary"]["verdict"])
        texts += [line for cause in report["causes"] if blocks(cause, blocking)
                  for line in [cause["sentence"], *_of_cause(cause)]]
    case = ElementTree.Element("testcase", classname=escaped(row["host"].replace(".", "_")), name="verdict")
    element = _OF_STATE.get(state_of(row), "error")
    if element:
        return _with(case, element, texts)
    ElementTree.SubElement(case, "system-out").text = escaped(texts[0])
    return case


def _of_cause(cause):
    return [text and "%s: %s" % (word, text) for word, text in (
        ("effect", cause["effect"]), ("fix", cause["fix"]), ("then", cause["then"]))]


def _fitting(case_of, findings, room):
    """The first of the findings, as long as their cases fit into `room` bytes."""
    for number, finding in enumerate(findings):
        room -= len(_bytes(case_of(finding)))
        if room < 0:
            return findings[:number]
    return findings


def _case_of_the_rest(host, report, findings):
    """A case with the number of findings of a host that are not in the file; it fails if one of these findings
    blocks."""
    verdict = report["summary"]["verdict"]
    blocking, counts = blocking_of(verdict), collections.Counter(finding["status"] for finding in findings)
    worst = sorted(findings, key=lambda each: _ORDER.index(_element(each, blocking, verdict)))[0]
    text = "left out, because GitLab takes no file above 30 MB: %s; the formats json, csv and html have all" % counted(
        {status: counts[status] for status in reversed(_finding.STATUSES)})
    element = _element(worst, blocking, verdict) or "skipped"
    return _with(_new_case(host, "info" if element == "skipped" else worst["severity"], "left out"), element, [text])


def _cases(host, report):
    """A function that makes the case of a finding."""
    if not report:
        return None
    verdict = report["summary"]["verdict"]
    blocking = blocking_of(verdict)
    causes = {(row["check"], row["subject"]): cause for cause in report["causes"] if cause["cause"]
              for row in cause["explains"]}

    def case_of(finding):
        case = _new_case(host, finding["severity"], " ".join(filter(None, (finding["check"], finding["subject"]))))
        element = _element(finding, blocking, verdict)
        if not element:
            return case
        cause = causes.get((finding["check"], finding["subject"])) if finding["status"] == _finding.FAIL else None
        return _with(case, element, [_message(finding, element), *_details(finding, cause)])

    return case_of


def _element(finding, blocking, verdict):
    """How a finding counts by the settings of the gate: one that blocks is a failure, one that is unknown at its
    severity an error."""
    if finding["status"] == _finding.PASS:
        return None
    if finding["status"] == _finding.UNKNOWN:
        return "error" if _finding.at_least(finding["severity"], verdict["severity"]) else "skipped"
    return "failure" if (finding["check"], finding["subject"]) in blocking else "skipped"


def _new_case(host, severity, name):
    return ElementTree.Element("testcase", classname=escaped(host.replace(".", "_")),
                               name=escaped("[%s] %s" % (severity, name)))


def _with(case, element, texts):
    """The case with its outcome, whose first text is the message."""
    outcome = ElementTree.SubElement(case, element, message=escaped(texts[0]))
    outcome.text = "\n".join(map(escaped, filter(None, texts)))
    return case


def _message(finding, element):
    if finding["status"] == _finding.FAIL:
        return ("" if element == "failure" else "does not block: ") + _finding.problem_of(finding)
    if finding["status"] == _finding.WAIVED:
        return "waived: %s" % (finding["waiver"] or "")
    return "%s: %s" % (finding["status"], finding["reason"])


def _details(finding, cause):
    """The texts that the name of the case does not have; it has only the id of the check. A finding that a cause
    explains has the fix of the cause."""
    if finding["status"] == _finding.WAIVED and finding["problem"]:
        return [_finding.problem_of(finding)]
    if finding["status"] != _finding.FAIL:
        return ["must hold: %s" % finding["title"]]
    why = finding["reason"] and "why: %s" % finding["reason"]
    fix = cause["fix"] if cause else finding["remediation"]
    return ["cause: %s" % cause["sentence"] if cause else "", why, fix and "fix: %s" % fix]
