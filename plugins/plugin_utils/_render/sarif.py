# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as SARIF 2.1.0, for code scanning of GitHub and GitLab. PRIVATE to the collection.

GitHub keeps 5,000 results of a run, so there is one result for each check and not for each node. Both readers ignore
`kind` and show passed or suppressed results as open, so only failing and unknown checks are results. GitHub refuses a
file with a result without a location; GitLab drops a result with a text above 1,024 characters (documentation of both).
"""

import hashlib
import json
import urllib.parse

from .. import _finding, _run
from .._checks import catalogue, references
from .text import escaped, some

_HOME = "https://github.com/kubenode/kubenode.netfilter"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# Level, and the score that GitHub and GitLab sort by.
_LEVELS = {"high": ("error", "8.0"), "medium": ("warning", "5.5"), "low": ("note", "2.0"), "info": ("note", None)}
_NOT_REACHED = "not_reached"
_WORDS = {_finding.FAIL: "Fails", _finding.UNKNOWN: "Not judged"}
_LIMIT = 1000
_NODES, _TEXTS = 5, 3


def render_sarif(reports: dict, fleet: dict) -> str:
    """A result for each check that fails, for each that is unknown, and one for the hosts that were not reached; its
    properties name every node and subject."""
    results = _results(reports, fleet)
    rules, users = sorted({each["check"] for each in results}), catalogue.of_reports(reports.values())
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{
        "tool": {"driver": {"name": _run.NAME, "version": fleet["tool"]["version"],
                            "semanticVersion": fleet["tool"]["version"], "informationUri": _HOME,
                            "rules": [_rule(check, [each for each in results if each["check"] == check], users)
                                      for check in rules]}},
        "invocations": [_invocation(fleet)],
        "results": [_result(each, rules, fleet) for each in results],
        "properties": {"run": fleet["run"], "waived": _waived(reports)},
    }]}
    return json.dumps(log, indent=2, sort_keys=True) + "\n"


def _results(reports, fleet):
    """[{check, status, severity, title, nodes: {host: subjects}, texts, fixes}], the worst first."""
    found = {}
    for row in fleet["hosts"]:
        report = reports.get(row["host"])
        if row["status"] == _NOT_REACHED:
            lost = {"check": _NOT_REACHED, "status": _finding.UNKNOWN, "severity": "high", "subject": "",
                    "title": "Every node is assessed", "reason": row["reason"] or "", "remediation": ""}
            _add(found, row["host"], lost, lost["reason"])
        for finding in report["findings"] if report and report["summary"]["reached"] else ():
            if finding["status"] == _finding.FAIL:
                _add(found, row["host"], finding, _finding.problem_of(finding))
            elif finding["status"] == _finding.UNKNOWN:
                _add(found, row["host"], finding, finding["reason"])
    return _finding.by_urgency(found.values())


def _add(found, host, finding, text):
    result = found.setdefault((finding["check"], finding["status"]), {
        "check": finding["check"], "status": finding["status"], "severity": finding["severity"],
        "title": finding["title"], "nodes": {}, "texts": {}, "fixes": {}})
    result["severity"] = max(result["severity"], finding["severity"], key=_finding.SEVERITIES.index)
    result["nodes"].setdefault(host, []).append(finding["subject"])
    result["texts"][text] = None
    if finding["remediation"]:
        result["fixes"][finding["remediation"]] = None


def _result(each, rules, fleet):
    check, status, nodes = each["check"], each["status"], each["nodes"]
    # With insufficient evidence a result is `open`, and its level must be `none` (SARIF 2.1.0, kind and level).
    judged = {"level": _LEVELS[each["severity"]][0]} if status == _finding.FAIL else {"kind": "open", "level": "none"}
    digest = hashlib.sha256("\0".join((check, status)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return dict(judged, ruleId=_written(check), ruleIndex=rules.index(check), message={"text": _message(each, fleet)},
                locations=[{"physicalLocation": {
                    "artifactLocation": {"uri": _uri_of(fleet["inventory"]), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1}}}],
                # The fingerprints do not contain the number of nodes, so the next run has the same alert. GitHub reads
                # the first one.
                partialFingerprints={"primaryLocationLineHash": digest + ":1", "checkStatus/v1": digest},
                properties={"nodeCount": len(nodes), "severity": each["severity"], "status": status,
                            "nodes": {escaped(host): [escaped(subject) for subject in subjects]
                                      for host, subjects in nodes.items()}})


def _uri_of(path):
    """A path on the controller may have bytes that are not UTF-8, which Python reads as lone surrogates."""
    return urllib.parse.quote(path, errors="surrogatepass")


def _message(each, fleet):
    hosts, texts = list(each["nodes"]), list(each["texts"])
    more = "; %d more" % (len(texts) - _TEXTS) if len(texts) > _TEXTS else ""
    head = "%s on %d of %d nodes (%s)" % (_WORDS[each["status"]], len(hosts), len(fleet["hosts"]), some(hosts, _NODES))
    fix = ". Fix: %s" % next(iter(each["fixes"])) if each["status"] == _finding.FAIL and each["fixes"] else ""
    return _short("%s: %s%s%s" % (head, "; ".join(texts[:_TEXTS]), more, fix))


def _rule(check, results, users):
    severity = max((each["severity"] for each in results), key=_finding.SEVERITIES.index)
    level, score = _LEVELS[severity]
    known, title = catalogue.described(check, users), _short(results[0]["title"])
    why = _short(known.why) if known else title
    text = [_written(known.why), known.manual and "Fix: " + _written(references.FIELD.sub(r"<\1>", known.manual)),
            "Sources: " + _written(", ".join(known.sources)), known.file and "Check: " + _written(known.file)
            ] if known else [title]
    return {"id": _written(check), "shortDescription": {"text": title}, "fullDescription": {"text": why},
            "help": {"text": "\n\n".join(filter(None, text))},
            "helpUri": "%s/blob/main/docs/%s" % (_HOME, _page_of(check, known)),
            "defaultConfiguration": {"level": level},
            "properties": dict({"tags": ["kubernetes", "netfilter", "security"], "precision": "high"},
                               **({"security-severity": score} if score else {}))}


def _page_of(check, known):
    if known and known.file:
        return "user-checks.md"
    return "checks.md" + ("#" + check.lower() if known else "")


def _invocation(fleet):
    """The start of the run, and the hosts that it has not assessed so far."""
    notes = [{"level": "note", "message": {"text": _short("%s: %s" % (row["host"], row["reason"] or row["status"]))}}
             for row in fleet["hosts"] if row["status"] not in ("assessed", _NOT_REACHED)]
    return {"executionSuccessful": not fleet["totals"]["not_reached"],
            "startTimeUtc": fleet["started"].replace("+00:00", "Z"), "toolExecutionNotifications": notes}


def _waived(reports):
    return [{key: _written(row[key]) for key in ("check", "subject", "waiver")} | {"node": _written(host)}
            for host, report in sorted(reports.items()) for row in report["findings"]
            if row["status"] == _finding.WAIVED]


def _written(text):
    return escaped(text or "")


def _short(text):
    """One line of a message. A reader makes a link of [text](target), and a node must not be able to place one."""
    line = _written(text).replace("](", "] (")
    return line if len(line) <= _LIMIT else line[:_LIMIT - 3] + "..."
