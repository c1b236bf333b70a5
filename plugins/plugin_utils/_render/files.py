# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run besides JSON, by format. PRIVATE to the collection.

Findings as CSV, for spreadsheets.

Reports as JSON.
"""

import csv
import functools
import io
import json
import re

from .html import render_html
from .junit import render_junit
from .markdown import render_markdown
from .prometheus import render_prometheus
from .sarif import render_sarif
from .summary import is_long
from .text import escaped

HEADER = ("host", "check", "severity", "status", "outcome", "subject", "title", "problem", "observed", "expected",
          "reason", "remediation", "waiver", "run")
# A spreadsheet reads a cell that begins with one of these signs as a formula. Some also do so for the wide form of the
# sign, and for a text after a character that separates cells in their language (OWASP, CSV injection). The quote that
# prevents it must differ from a quote of the text.
_QUOTED = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'")
_INSIDE = re.compile("[,;](?=[%s])" % re.escape("".join(_QUOTED)))


def render_csv(reports: dict, fleet: dict) -> str:
    """A header, one row for each finding, and one for each host that was not assessed."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerow(HEADER)
    for row in fleet["hosts"]:
        report = reports.get(row["host"])
        findings = report["findings"] if report else [{"status": row["status"], "reason": row["reason"]}]
        for finding in sorted(findings, key=lambda each: (each.get("check", ""), each.get("subject", ""))):
            known = dict(finding, host=row["host"], run=fleet["run"])
            writer.writerow([_cell(known.get(name)) for name in HEADER])
    return stream.getvalue()


def _cell(value):
    text = _INSIDE.sub(r"\g<0>'", escaped(value or ""))
    return "'" + text if text.startswith(_QUOTED) else text


# Format -> name of the file and the function that renders it, from {host: report} and the roll-up.
FILES = {
    "csv": ("findings.csv", render_csv),
    "html": ("report.html", render_html),
    "junit": ("junit.xml", render_junit),
    "markdown": ("summary.md", render_markdown),
    "prometheus": ("kubenode_netfilter.prom", render_prometheus),
    "sarif": ("results.sarif", render_sarif),
}
# Formats that list the changes since the previous run, so the previous run has to be read.
TELL_CHANGES = {"html", "markdown"}
FORMATS = ("json", "terminal", *sorted(FILES))


# For --limit, where many hosts are blocked.
LIMIT = "limit.txt"


def rendered(formats: list[str], reports: dict, fleet: dict) -> dict[str, str]:
    """`{name of the file: text}` of the `formats` that are files besides JSON, and the file for --limit where it is
    needed."""
    listed = fleet["summary"]["limit"]
    limit = {LIMIT: "".join(name + "\n" for name in listed)} if is_long(listed) else {}
    return dict({FILES[name][0]: FILES[name][1](reports, fleet) for name in formats if name in FILES}, **limit)


# Python's C encoder, five times as fast as the encoder that indents.
_line = functools.partial(json.dumps, sort_keys=True, ensure_ascii=True)


def render_json(report: dict) -> str:
    """The report as text, a line for each key and for each row of a list, stable from run to run; ASCII only, so that
    the file cannot send control sequences to a terminal."""
    rows = ("%s: %s" % (_line(key), _value(report[key])) for key in sorted(report))
    return "{\n  %s\n}\n" % ",\n  ".join(rows)


def _value(value):
    if not isinstance(value, list) or not value:
        return _line(value)
    return "[\n    %s\n  ]" % ",\n    ".join(map(_line, value))
