# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as one HTML page that loads nothing. PRIVATE to the collection.

The tables are plain HTML, because Jenkins serves reports without their scripts and styles; the script replaces them
with the map. Its data is JSON in an element that no browser executes.
"""

import base64
import json
import operator
import zlib

from .. import _finding
from .._checks.described import described, of_reports
from .._fleet.compare import compared_texts
from .._fleet.outliers import baseline_texts, outlier_texts
from .._fleet.scope import scope_text
from .._runs import differences
from .changes import grouped, notes
from .html_page import page, safe, table
from .summary import policy_texts, WORDS
from .text import escaped, some

_NAMED = 10
# Rows of the plain table; the map has every finding.
_ROWS = 400
_TOTALS = ("hosts", "blocked", "not_reached", "not_known", "no_node", "fit", "not_rolled_out", "pending")
_STATUSES = (_finding.FAIL, _finding.UNKNOWN, _finding.WAIVED, _finding.PASS, _finding.SKIP)
_TEXTS = ("subject", "problem", "observed", "expected", "reason", "remediation", "waiver", "outcome")
_COLUMNS = ("check", "status", "severity", "title", *_TEXTS, "evidence")
# Level 6, the default of zlib, takes three times as long and saves a tenth.
_LEVEL = 2
_cells = operator.itemgetter(*_COLUMNS)


def render_html(reports: dict, fleet: dict) -> str:
    """The page: verdict and counts, groups and outliers, failing and unknown findings, and the data of the map."""
    findings, numbers = fold(reports)
    verdict = safe(_verdict(fleet["totals"]))
    return page(
        "report", title="kubenode.netfilter: " + verdict,
        run=safe("Run %s, started %s, version %s" % (fleet["run"], fleet["started"], fleet["tool"]["version"])),
        verdict=verdict, totals=_totals(fleet["totals"]), remarks=_remarks(fleet), changes=_since(fleet.get("changes")),
        findings=_table(fleet, findings, numbers), data=page_data(reports, fleet, findings, numbers))


def _verdict(totals):
    if not totals["hosts"]:
        return "The run has no hosts"
    if totals["blocked"]:
        return "%d of %d nodes must not carry traffic" % (totals["blocked"], totals["hosts"])
    if totals["fit"] == totals["hosts"]:
        return "All nodes are fit for traffic"
    return "No node is blocked, but %d of %d are not known to be fit for traffic" % (
        totals["hosts"] - totals["fit"], totals["hosts"])


def _totals(totals):
    return "<ul>%s</ul>" % "".join(
        "<li><b>%d</b> %s</li>" % (totals[key], WORDS.get(key, key)) for key in _TOTALS
        if totals[key] or key in ("hosts", "fit", "blocked"))


def _remarks(fleet):
    """Common properties of failing nodes, nodes that differ from the others, and exceptions of the policy."""
    lines = ["%s fails %s" % (entry["check"], scope_text(entry["scope"], entry["fail"]))
             for entry in fleet["checks"] if entry["scope"]]
    lines += (baseline_texts(fleet) + outlier_texts(fleet["outliers"], fleet["baseline"], _some)
              + compared_texts(fleet["compared"], _some))
    return _list("Groups and outliers", lines) + _list("Waivers and disabled checks", policy_texts(fleet, _some))


def _list(title, lines):
    items = "".join("<li>%s</li>\n" % safe(line) for line in lines)
    return "<h3>%s</h3>\n<ul>\n%s</ul>\n" % (title, items) if lines else ""


def _some(names):
    return some(names, _NAMED)


def _table(fleet, findings, numbers):
    """Findings that neither pass nor are skipped, the worst first; equal findings of several hosts share a row. For a
    host that was not assessed all checks are unknown for one reason, which its row gives."""
    rows = [row for row in fleet["hosts"] if row["status"] != "assessed"]
    lines = [(row["status"].replace("_", " "), "", row["reason"] or "", "", [row["host"]]) for row in rows]
    hosts = {}
    for row in fleet["hosts"]:
        for number in set(numbers.get(row["host"], ()) if row["status"] == "assessed" else ()):
            hosts.setdefault(number, []).append(row["host"])
    open_ones = [dict(findings[number], hosts=hosts[number]) for number in sorted(hosts)
                 if findings[number]["status"] not in (_finding.PASS, _finding.SKIP)]
    lines += [("%s %s" % (row["status"], row["severity"]), row["check"], _finding.sentence_of(row), row["remediation"],
               row["hosts"]) for row in _finding.by_urgency(open_ones)]
    if not lines:
        return "<p>Nothing fails, nothing is unknown and nothing is waived.</p>"
    left = len(lines) - _ROWS
    more = "<p>%d more rows: the map, which needs scripts, has them all.</p>" % left if left > 0 else ""
    return table("Table of findings", ("Status", "Check", "Finding", "Fix", "Nodes"),
                 [(*line[:4], _some(line[4])) for line in lines[:_ROWS]]) + more


def _since(changes):
    """The changes since the previous run; empty without a previous run. Findings that still fail are in the table of
    findings."""
    if not changes:
        return ""
    lines = [line for line in grouped(changes) if line[0] != differences.STILL]
    rows = [(differences.WORDS[change], severity, check, text, _some(hosts))
            for change, severity, check, text, hosts in lines[:_ROWS]]
    left = len(lines) - _ROWS
    texts = [differences.counts_text(changes), *notes(changes)] + (["%d more rows" % left] if left > 0 else [])
    return ('<section aria-labelledby="changes-title">\n<h2 id="changes-title">Since run %s</h2>\n<ul>\n%s</ul>\n%s'
            "</section>" % (
                safe(changes["before"]["run"]), "".join("<li>%s</li>\n" % safe(text) for text in texts),
                table("Table of changes", ("Change", "Severity", "Check", "Finding", "Nodes"), rows) if rows else ""))


# The data that the script of the HTML page reads.
# A fleet of 2,000 nodes has 300,000 findings, most of them equal: each distinct finding and each distinct text is
# written once, and a host has the numbers of its findings. The remaining data repeats its words, so it is compressed:
# otherwise findings with numbers that differ from node to node would make a page of 100 MB.

def fold(reports: dict) -> tuple:
    """(distinct findings, {host: their numbers})."""
    known = {}
    numbers = {host: [known.setdefault(_cells(row), len(known)) for row in report["findings"]]
               for host, report in reports.items()}
    return [dict(zip(_COLUMNS, cells)) for cells in known], numbers


def page_data(reports: dict, fleet: dict, findings: list, numbers: dict) -> str:
    """JSON, compressed, as base64, so that no text ends the element that holds it; `findings` and `numbers` are the
    result of fold()."""
    titles = {row["check"]: row["title"] for row in findings}
    checks = {name: number for number, name in enumerate(sorted(titles))}
    texts, lines = {}, {}
    rows = [[checks[row["check"]], _STATUSES.index(row["status"]), _finding.SEVERITIES.index(row["severity"])]
            + [texts.setdefault(row[name] or "", len(texts)) for name in _TEXTS]
            + [[lines.setdefault(line, len(lines)) for line in (row["evidence"] or "").splitlines()]]
            for row in findings]
    hosts = [{"name": escaped(row["host"]), "status": row["status"], "reason": escaped(row["reason"] or ""),
              "groups": [escaped(group) for group in reports.get(row["host"], {}).get("groups", ())],
              "findings": numbers.get(row["host"], [])} for row in fleet["hosts"]]
    users = of_reports(reports.values())
    data = {"severities": _finding.SEVERITIES, "hosts": hosts, "findings": rows,
            "checks": [_check(name, titles[name], users) for name in checks],
            "texts": [escaped(text) for text in texts], "lines": [escaped(line) for line in lines]}
    text = json.dumps(data, separators=(",", ":")).encode("ascii")
    return base64.b64encode(zlib.compress(text, _LEVEL)).decode("ascii")


def _check(name, title, users):
    check = described(name, users)
    row = {"id": escaped(name), "title": escaped(title)}
    if check:
        sources = [*check.sources, "check: " + check.file] if check.file else check.sources
        row.update(why=escaped(check.why), needs=[escaped(need) for need in check.needs],
                   sources=[escaped(source) for source in sources], fix=check.fix_class if check.role else None)
    return row
