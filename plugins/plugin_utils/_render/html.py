# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as one HTML page that loads nothing. PRIVATE to the collection.

The tables are plain HTML, because Jenkins serves reports without their scripts and styles; the script replaces them
with the map. Its data is JSON in an element that no browser executes.

The common parts of the HTML pages: one file that loads nothing, with a Content-Security-Policy that allows its own
style and script by their hashes.

A comparison of two runs or two nodes as one HTML page.

Everything is in plain tables, the script only hides rows that do not match the filters.
"""

import base64
import functools
import hashlib
import html
import json
import operator
import string
import zlib
from collections.abc import Iterable, Sequence

from .. import _finding
from .._checks.catalogue import described, of_reports
from .._fleet import overview
from .._fleet.compare import compared_texts
from .._fleet.outliers import baseline_texts, outlier_texts
from .._fleet.scope import scope_text
from .._role_data import ROLES
from .._runs import differences
from .changes import grouped, notes, title_of, words_of
from .markdown import fitting
from .summary import WORDS, policy_texts, sentence_of, verdict_of_fleet, without_cause
from .text import escaped, some

_STYLE = "report.css"


def page(name: str, **parts: str) -> str:
    """The template `name` with its script of the same name, the style of all pages, and `parts`, which are HTML."""
    style, script = _file(_STYLE), _file(name + ".js")
    # Placeholders are filled in one pass, so that a text with one in it stays as it is.
    return string.Template(_file(name + ".html")).substitute(
        parts, style=style, script=script,
        policy="default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'" % (
            _hash(style), _hash(script)))


@functools.lru_cache(maxsize=None)
def _file(name):
    return (ROLES / "node_report" / "files" / name).read_text(encoding="utf-8")


def _hash(text):
    """The hash by which a Content-Security-Policy names an inlined text (CSP 3, 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def safe(text: str) -> str:
    """Any text, from a node or not, as HTML."""
    return html.escape(escaped(text))


def table(title: str, names: Sequence[str], rows: Iterable[tuple], kind: str = "findings") -> str:
    """A table of texts with the heads `names`."""
    return framed(title, names, ["<tr>%s</tr>" % cells(names, map(safe, row)) for row in rows], kind)


def cells(names: Sequence[str], texts: Iterable[str]) -> str:
    """The cells of a row, which are HTML already; a narrow screen shows their heads beside them."""
    return "".join('<td data-name="%s">%s</td>' % (safe(name), text) for name, text in zip(names, texts))


def framed(title: str, names: Sequence[str], rows: list[str], kind: str = "findings") -> str:
    """A table whose rows are HTML already; on a narrow screen it scrolls by itself."""
    head = "".join('<th scope="col">%s</th>' % safe(name) for name in names)
    return ('<div class="wide" tabindex="0" role="region" aria-label="%s">\n<table class="rows %s">\n<thead><tr>%s</tr>'
            "</thead>\n<tbody>\n%s\n</tbody>\n</table>\n</div>\n" % (safe(title), kind, head, "\n".join(rows)))


_NAMED = 10
# Causes, sentences of a cause, and nodes on the first screen.
_CAUSES, _DETAILS, _NODES = 40, 3, 60
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
    """The page: verdict, counts, causes, nodes that no cause names, findings, and the data of the map; then groups,
    outliers and changes."""
    # For a host that was not reached each check is unknown for the reason of the verdict.
    findings, numbers = fold({host: report for host, report in reports.items() if report["summary"]["reached"]})
    verdict = safe(verdict_of_fleet(fleet["totals"]))
    return page(
        "report", title="kubenode.netfilter: " + verdict,
        run=safe("Run %s, started %s, version %s" % (fleet["run"], fleet["started"], fleet["tool"]["version"])),
        verdict=verdict, totals=_totals(fleet["totals"]), nodes=_nodes(fleet),
        causes=_causes_of(fleet["causes"], fleet["causes_left_out"]), remarks=_remarks(fleet),
        changes=_since(fleet.get("changes")),
        findings=_table(fleet, findings, numbers), data=page_data(reports, fleet, findings, numbers))


def _totals(totals):
    return "<ul>%s</ul>" % "".join(
        "<li><b>%d</b> %s</li>" % (totals[key], WORDS.get(key, key)) for key in _TOTALS
        if totals[key] or key in ("hosts", "fit", "blocked"))


def _causes_of(rows, left_out):
    """Each cause that blocks, with its hosts and its fix; a line for each that does not, folded."""
    blocking = ["<li>\n%s</li>\n" % _cause(cause) for cause in rows if cause["blocks"]]
    others = ["<li>%s (%s, on %s)</li>\n" % (
        safe(overview.sentence_of(cause)), cause["severity"], safe(_some(cause["hosts"])))
        for cause in rows if not cause["blocks"]]
    text = "<h3>Causes</h3>\n<ol class=\"causes\">\n%s</ol>\n%s" % (
        "".join(blocking[:_CAUSES]), _more(max(0, len(blocking) - _CAUSES) + left_out, "causes")
    ) if blocking else ""
    return text + ("<details class=\"below\"><summary>%d %s not block</summary>\n<ul>\n%s</ul>\n%s</details>\n" % (
        len(others), "cause does" if len(others) == 1 else "causes do", "".join(others[:_CAUSES]),
        _more(len(others) - _CAUSES, "causes")) if others else "")


def _cause(cause):
    hosts = cause["hosts"]
    details = cause["sentences"] if len(cause["sentences"]) > 1 else []
    lines = [("", "<b>%s</b>" % safe(overview.sentence_of(cause))), ("", safe(cause["effect"]))]
    lines += [("", "%s: %s" % (safe(_some(row["hosts"])), safe(row["sentence"]))) for row in details[:_DETAILS]]
    lines += [("", _more(len(details) - _DETAILS, "differ in the details"))]
    lines += [("on ", safe(", ".join(hosts[:overview.MOST])) + _folded(hosts[overview.MOST:]))]
    lines += [("since: ", safe(cause["since"])), ("evidence: ", safe(cause["evidence"]))]
    lines += [("fix%s: " % (" (first %d nodes)" % overview.MOST if len(hosts) > overview.MOST else ""),
               cause["fix"] and "<code>%s</code>" % safe(cause["fix"])), ("then: ", safe(cause["then"])),
              ("checks: ", safe(", ".join(cause["checks"])))]
    return "".join("<div>%s%s</div>\n" % (word, text) for word, text in lines if text)


def _folded(hosts):
    return "<details><summary>and %d more</summary>%s</details>" % (len(hosts), safe(", ".join(hosts))) if hosts else ""


def _more(number, words):
    return "%d more %s" % (number, words) if number > 0 else ""


def _nodes(fleet):
    """A line for each node that no cause names and that is not known to be fit, such as one that was not reached."""
    rows = ["<li>%s</li>\n" % safe(sentence_of(row)) for row in without_cause(fleet)]
    return "<h3>Other nodes</h3>\n<ul class=\"nodes\">\n%s</ul>\n%s" % (
        "".join(rows[:_NODES]), _more(len(rows) - _NODES, "nodes: the map has them all")) if rows else ""


def _remarks(fleet):
    """Common properties of failing nodes, nodes that differ from the others, and exceptions of the policy. A check that
    fails on one node only is among the causes."""
    lines = ["%s fails %s" % (entry["check"], scope_text(entry["scope"], entry["fail"]))
             for entry in fleet["checks"] if entry["scope"] and entry["scope"]["kind"] != "node"]
    lines += (baseline_texts(fleet) + outlier_texts(fleet["outliers"], fleet["baseline"], _some)
              + compared_texts(fleet["compared"], _some))
    return _list("Groups and outliers", lines) + _list("Waivers and disabled checks", policy_texts(fleet, _some))


def _list(title, lines):
    items = "".join("<li>%s</li>\n" % safe(line) for line in lines)
    return "<section>\n<h2>%s</h2>\n<ul>\n%s</ul>\n</section>\n" % (title, items) if lines else ""


def _some(names):
    return some(names, _NAMED)


def _table(fleet, findings, numbers):
    """Findings that neither pass nor are skipped, the worst first; equal findings of several hosts share a row."""
    hosts = {}
    for row in fleet["hosts"]:
        for number in set(numbers.get(row["host"], ())):
            hosts.setdefault(number, []).append(row["host"])
    open_ones = [dict(findings[number], hosts=hosts[number]) for number in sorted(hosts)
                 if findings[number]["status"] not in (_finding.PASS, _finding.SKIP)]
    lines = [("%s %s" % (row["status"], row["severity"]), row["check"], _finding.sentence_of(row), row["remediation"],
              row["hosts"]) for row in _finding.by_urgency(open_ones)]
    if not lines:
        return "<p>No finding fails, is unknown or is waived.</p>"
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
    items = "".join("<li>%s</li>\n" % safe(text) for text in texts)
    heads = ("Change", "Severity", "Check", "Finding", "Nodes")
    return ('<section id="changes" aria-labelledby="changes-title">\n<h2 id="changes-title">Since run %s</h2>\n'
            "<ul>\n%s</ul>\n%s</section>" % (safe(changes["before"]["run"]), items, table(
                "Table of changes", heads, rows) if rows else ""))


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
    hosts = [{"name": escaped(row["host"]), "status": row["status"], "verdict": escaped(sentence_of(row)),
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


# Bytes of all rows: far below the size that a browser opens at once.
_LIMIT = 8 * 1024 * 1024
_HEADS = ("Severity", "Check", "Finding", "Nodes")


def render_changes_html(changes: dict) -> str:
    """The page: counts, other differences, and a table for each kind of change."""
    title, words, rows = safe(title_of(changes)), words_of(changes), grouped(changes)
    heads = _HEADS if changes["kind"] == "runs" else _HEADS[:-1]
    lines = fitting([_row(heads, row[1:1 + len(heads)]) for row in rows], _LIMIT)
    left = len(rows) - len(lines)
    tables = "".join(_changes_table(words[kind], changes["totals"][kind], heads, [
        line for line, row in zip(lines, rows) if row[0] == kind]) for kind in differences.KINDS)
    more = "<p>%d more rows do not fit; changes.json lists all changes.</p>" % left if left else ""
    return page("changes", title="kubenode.netfilter: " + title, heading=title, runs=safe(_runs(changes)),
                totals="<ul>%s</ul>" % "".join("<li><b>%d</b> %s</li>" % (changes["totals"][kind], safe(words[kind]))
                                               for kind in differences.KINDS),
                others=_others(changes), changes=(tables or "<p>No finding changed.</p>") + more)


def _runs(changes):
    runs = [changes["run"]] if changes["kind"] == "nodes" else [changes["before"], changes["after"]]
    return ", compared with ".join("run %s, started %s" % (run["run"], run["started"]) for run in reversed(runs))


def _others(changes):
    """Traits in which two nodes differ, or hosts that came, went or were lost between runs."""
    if changes["kind"] == "nodes":
        rows = [(row["by"].replace("_", " "), row["first"] or "not known", row["second"] or "not known")
                for row in changes["traits"]]
        return "<h3>Other differences</h3>\n" + table(
            "Table of other differences", ("Property", *changes["nodes"]), rows, "traits") if rows else ""
    items = "".join("<li>%s</li>\n" % safe(text) for text in notes(changes))
    return "<h3>Hosts</h3>\n<ul>\n%s</ul>\n" % items if items else ""


def _changes_table(words, count, heads, rows):
    if not rows:
        return ""
    name = words[:1].upper() + words[1:]
    return '<section class="change">\n<h2>%s (%d)</h2>\n%s</section>\n' % (safe(name), count, framed(name, heads, rows))


def _row(heads, texts):
    severity, check, text, *hosts = texts
    return '<tr data-severity="%s">%s</tr>' % (severity, cells(heads, [*map(safe, (severity, check, text)), *map(
        _changed_nodes, hosts)]))


def _changed_nodes(hosts):
    """All names; a long list of names is folded."""
    more = hosts[_NAMED:]
    folded = "<details><summary>and %d more</summary>%s</details>" % (len(more), safe(", ".join(more))) if more else ""
    return safe(", ".join(hosts[:_NAMED])) + folded
