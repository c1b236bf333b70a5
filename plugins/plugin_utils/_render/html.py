# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as one HTML page that loads nothing. PRIVATE to the collection.

The tables are plain HTML, because Jenkins serves reports without their scripts and styles; the script replaces them
with the map. Its data is JSON in an element that no browser executes.
"""

from .. import _changes, _finding
from .._compare import compared_texts
from .._outliers import baseline_texts, outlier_texts
from .._scope import scope_text
from .changes import grouped, notes
from .html_page import page, safe, table
from .page_data import fold, page_data
from .summary import policy_texts
from .text import some

_NAMED = 10
# Rows of the plain table; the map has every finding.
_ROWS = 400
_TOTALS = ("hosts", "healthy", "failing", "unclear", "not_reached", "not_rolled_out", "pending")


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
    if totals["failing"]:
        return "%d of %d nodes fail%s" % (totals["failing"], totals["hosts"], "s" if totals["failing"] == 1 else "")
    if totals["healthy"] == totals["hosts"] and totals["hosts"]:
        return "All nodes are healthy"
    return "No node fails, but %d of %d are not known to be healthy" % (
        totals["hosts"] - totals["healthy"], totals["hosts"])


def _totals(totals):
    return "<ul>%s</ul>" % "".join(
        "<li><b>%d</b> %s</li>" % (totals[key], key.replace("_", " ")) for key in _TOTALS
        if totals[key] or key in ("hosts", "healthy", "failing"))


def _remarks(fleet):
    """Common properties of failing nodes, nodes that differ from the others, and exceptions of the policy."""
    lines = ["%s fails %s" % (entry["check"], scope_text(entry["scope"]))
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
    lines = [line for line in grouped(changes) if line[0] != _changes.STILL]
    rows = [(_changes.WORDS[change], severity, check, text, _some(hosts))
            for change, severity, check, text, hosts in lines[:_ROWS]]
    left = len(lines) - _ROWS
    texts = [_changes.counts_text(changes), *notes(changes)] + (["%d more rows" % left] if left > 0 else [])
    return ('<section aria-labelledby="changes-title">\n<h2 id="changes-title">Since run %s</h2>\n<ul>\n%s</ul>\n%s'
            "</section>" % (
                safe(changes["before"]["run"]), "".join("<li>%s</li>\n" % safe(text) for text in texts),
                table("Table of changes", ("Change", "Severity", "Check", "Finding", "Nodes"), rows) if rows else ""))
