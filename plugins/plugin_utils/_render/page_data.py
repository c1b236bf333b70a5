# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data that the script of the HTML page reads. PRIVATE to the collection.

A fleet of 2,000 nodes has 300,000 findings, most of them equal: each distinct finding and each distinct text is written
once, and a host has the numbers of its findings. The remaining data repeats its words, so it is compressed: otherwise
findings with numbers that differ from node to node would make a page of 100 MB.
"""

import base64
import json
import operator
import zlib

from .. import _finding
from .._described import described, of_reports
from .text import escaped

_STATUSES = (_finding.FAIL, _finding.UNKNOWN, _finding.WAIVED, _finding.PASS, _finding.SKIP)
_TEXTS = ("subject", "problem", "observed", "expected", "reason", "remediation", "waiver", "outcome")
_COLUMNS = ("check", "status", "severity", "title", *_TEXTS, "evidence")
# Level 6, the default of zlib, takes three times as long and saves a tenth.
_LEVEL = 2
_cells = operator.itemgetter(*_COLUMNS)


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
