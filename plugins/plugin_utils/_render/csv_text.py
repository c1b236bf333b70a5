# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as CSV, for spreadsheets. PRIVATE to the collection."""

import csv
import io
import re

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
