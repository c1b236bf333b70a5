# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as Markdown, for the summary of a job. PRIVATE to the collection.

GitHub drops a summary above 1 MiB as a whole, so rows that do not fit are counted.
"""

import re

from .. import _finding
from .._fleet.compare import compared_texts
from .._fleet.outliers import baseline_texts, outlier_texts
from .._fleet.scope import scope_text
from .._runs.differences import counts_text
from .summary import hosts_counted, policy_texts
from .text import escaped, some

# Bytes, well below GitHub's 1 MiB for a step.
LIMIT = 900 * 1024
_NAMED = 10
# Characters that have a meaning in Markdown, HTML, a mention or an address; a backslash before a character removes that
# meaning (CommonMark, backslash escapes). GitHub makes a link of an address by its `://`.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+.!|~@&-]|:(?=//))")


def render_markdown(reports: dict, fleet: dict) -> str:
    """Counts, then failing, unknown and waived findings with their hosts, then hosts that were not reached."""
    run = tuple(map(cell, (fleet["run"], fleet["started"], fleet["tool"]["version"])))
    head = ["# kubenode.netfilter", "", cell(hosts_counted(fleet["totals"], fleet["hosts"])) + ".", "",
            "Run %s, started %s, version %s." % run, ""]
    changes = fleet.get("changes")
    head += ["Since run %s: %s." % (changes["before"]["run"], counts_text(changes)), ""] if changes else []
    scopes = ["- %s fails %s" % (entry["check"], cell(scope_text(entry["scope"], entry["fail"])))
              for entry in fleet["checks"] if entry["scope"]]
    scopes += ["- " + cell(text) for text in baseline_texts(fleet)
               + outlier_texts(fleet["outliers"], fleet["baseline"], _some)
               + compared_texts(fleet["compared"], _some) + policy_texts(fleet, _some)]
    head += scopes + [""] if scopes else []
    rows = _findings(reports) + _left_out(fleet["hosts"])
    lines = ["| %s | %s | %s | %s |" % (status, check, text, cell(_some(hosts)))
             for status, check, text, hosts in rows]
    if not lines:
        return "\n".join(head)
    head += ["| status | check | finding | hosts |", "| --- | --- | --- | --- |"]
    kept = fitting(lines, LIMIT - len("\n".join(head).encode()))
    more = [] if len(kept) == len(lines) else ["", "%d more rows do not fit; fleet.json lists every check with its "
                                                   "hosts." % (len(lines) - len(kept))]
    return "\n".join(head + kept + more) + "\n"


def _findings(reports):
    """[(status and severity, check, text, hosts)] of findings that neither pass nor are skipped, the worst first; equal
    findings share a row."""
    found = {}
    for host, report in sorted(reports.items()):
        # For a host that was not reached every check is unknown for one reason, which its row gives.
        for row in _finding.by_urgency(report["findings"]) if report["summary"]["reached"] else ():
            if row["status"] in (_finding.FAIL, _finding.UNKNOWN, _finding.WAIVED):
                key = (row["status"], row["severity"], row["check"], _finding.sentence_of(row))
                found.setdefault(key, []).append(host)
    order = sorted(found, key=lambda key: (-_finding.STATUSES.index(key[0]), -_finding.SEVERITIES.index(key[1]), key[2],
                                           key[3]))
    return [("%s %s" % key[:2], key[2], cell(key[3]), list(dict.fromkeys(found[key]))) for key in order]


def _left_out(rows):
    """The hosts that were not assessed; hosts with the same reason share a row."""
    found = {}
    for row in rows:
        if row["status"] != "assessed":
            found.setdefault((row["status"], row["reason"] or row["status"]), []).append(row["host"])
    return [(status.replace("_", " "), "", cell(text), hosts) for (status, text), hosts in found.items()]


def _some(names):
    return some(names, _NAMED)


def cell(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", escaped(text))


def fitting(lines: list[str], room: int) -> list[str]:
    kept = []
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return kept
