# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports for people in front of a terminal: a table per node, and one of the fleet. PRIVATE to the collection."""

from .. import _finding
from .text import escaped, padded, width_of, wrapped

_MARKS = {_finding.FAIL: "FAIL", _finding.UNKNOWN: "?", _finding.WAIVED: "waived"}
_COLORS = {"high": "31;1", "medium": "33;1", "low": "33", "info": "36", "good": "32", "dim": "2", "unknown": "35"}
_NARROWEST = 60


def render_node(report, width, color):
    """One node: a line that says who and what, a row for each finding that is neither pass nor skip, the counts."""
    paint = _painter(color)
    summary = report["summary"]
    lines = [_title(report, paint)]
    if not summary["reached"]:
        return "\n".join(lines + ["  " + paint("unknown", "nothing is known of it: %s" % escaped(summary["reason"] or ""))])
    shown = [row for row in report["findings"] if row["status"] in _MARKS]
    subjects = [escaped(row["subject"]) for row in shown]
    subject_width = min(max([width_of(subject) for subject in subjects] + [4]), 28)
    for row, subject in zip(shown, subjects):
        lines += _row(row, subject, subject_width, max(width, _NARROWEST), paint)
    return "\n".join(lines + ["  " + _counts(summary, paint)])


def _title(report, paint):
    summary = report["summary"]
    parts = [escaped(str(part)) for part in (summary.get("os"), summary.get("kernel"), summary.get("needs")) if part]
    return "%s%s" % (paint("bold", escaped(report["host"])), "  " + ", ".join(parts) if parts else "")


def _row(row, subject, subject_width, width, paint):
    status = _MARKS[row["status"]]
    tone = row["severity"] if row["status"] == _finding.FAIL else "dim" if row["status"] == _finding.WAIVED else "unknown"
    head = "  %s %s %s " % (padded(status, 6), padded(row["severity"], 6), padded(row["check"], 9))
    indent = len(head) + subject_width + 1
    body = max(width - indent, 24)
    said = [escaped(row["observed"] or row["reason"])]
    if row["status"] == _finding.FAIL and row["reason"]:
        said.append("why: " + escaped(row["reason"]))
    if row["status"] == _finding.FAIL and row["remediation"]:
        said.append("fix: " + escaped(row["remediation"]))
    if row["status"] == _finding.UNKNOWN:
        said = [escaped(row["title"] + ": " + "; ".join(filter(None, (row["observed"], row["reason"]))))]
    if row["waiver"]:
        said.append("waiver " + escaped(row["waiver"]))
    names = wrapped(subject, subject_width)
    texts = [line for text in said for line in wrapped(text, body)]
    lines = []
    for index in range(max(len(names), len(texts))):
        name = padded(names[index] if index < len(names) else "", subject_width)
        text = texts[index] if index < len(texts) else ""
        start = paint(tone, head) if index == 0 else " " * len(head)
        lines.append(("%s%s %s" % (start, name, text)).rstrip())
    return lines


def _counts(summary, paint):
    text = ", ".join("%d %s" % (summary[status], status) for status in ("pass", "fail", "unknown", "waived", "skip"))
    return paint("good" if not summary["fail"] and not summary["unknown"] else summary["worst"] or "unknown", text)


def render_fleet(fleet, width, color):
    """The play: what fails where, hosts that were not reached, and the totals."""
    paint = _painter(color)
    lines = []
    for entry in fleet["checks"]:
        where = ["%s on %s" % (status, _some(entry[status])) for status in ("fail", "unknown", "waived") if entry[status]]
        text = "%s %s %s: %s" % (padded(entry["severity"], 6), padded(entry["check"], 9), entry["title"], "; ".join(where))
        lines += _hanging(escaped(text), max(width, _NARROWEST), entry["severity"] if entry["fail"] else "dim", paint)
    for row in fleet["hosts"]:
        if row["status"] == "not_reached":
            lines.append("  %s %s: %s" % (paint("unknown", "not reached"), escaped(row["host"]), escaped(row["reason"] or "")))
    totals = fleet["totals"]
    text = ", ".join("%d %s" % (totals[key], key.replace("_", " ")) for key in (
        "hosts", "healthy", "failing", "not_reached", "pending") if totals[key] or key in ("hosts", "healthy", "failing"))
    return "\n".join(["%s" % paint("bold", "All nodes")] + lines + ["  " + text])


def _hanging(text, width, tone, paint):
    lines = wrapped(text, width - 6)
    return ["  " + paint(tone, lines[0])] + ["      " + line for line in lines[1:]]


def _some(hosts):
    return ", ".join(hosts[:5]) + (" and %d more" % (len(hosts) - 5) if len(hosts) > 5 else "")


def _painter(color):
    codes = dict(_COLORS, bold="1")
    return (lambda tone, text: "\033[%sm%s\033[0m" % (codes[tone], text)) if color else (lambda _tone, text: text)
