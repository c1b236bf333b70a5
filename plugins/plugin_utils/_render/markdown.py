# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run as Markdown, for the summary of a job: what a person needs who decides whether to go on. PRIVATE to the
collection.

GitHub drops a summary above 1 MiB as a whole, and a page of a job is read in a minute, so the rest is counted.
"""

import re

from .._fleet import overview
from .._fleet.compare import compared_texts
from .._fleet.outliers import baseline_texts, outlier_texts
from .._fleet.overview import state_of
from .._fleet.scope import scope_text
from .._runs.differences import counts_text
from .summary import hosts_counted, policy_texts, verdict_of_fleet, without_cause
from .text import escaped, some

# Bytes, well below GitHub's 1 MiB for a step.
LIMIT = 900 * 1024
# Lines of the summary, and rows of its table at most; report.html has the rest.
LINES, _ROWS = 40, 24
_WORDS = {"blocked": "not fit for traffic", "not_known": "not known", "no_node": "not a node"}
# Hosts that a row, or a remark, names.
_NAMED = 10
# Characters of a text from a node, which may be long.
_MOST = 1000
# Characters that have a meaning in Markdown, HTML, a mention or an address; a backslash before a character removes that
# meaning (CommonMark, backslash escapes). GitHub makes a link of an address by its `://`.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+.!|~@&-]|:(?=//))")


def render_markdown(_reports: dict, fleet: dict) -> str:
    """At most LINES lines: the verdict and counts, a row for each cause that blocks, one for the hosts that were not
    reached and one for each further host that is not known to be fit; what does not block is counted."""
    run = tuple(map(cell, (fleet["run"], fleet["started"], fleet["tool"]["version"])))
    head = ["# kubenode\\.netfilter: " + cell(verdict_of_fleet(fleet["totals"])), "",
            cell(hosts_counted(fleet["totals"], fleet["hosts"])) + ".", "",
            "Run %s, started %s, version %s." % run, ""]
    changes = fleet.get("changes")
    head += ["Since run %s: %s." % (changes["before"]["run"], counts_text(changes)), ""] if changes else []
    rows = _causes(fleet) + _left_out(fleet)
    if rows:
        lines = ["| %s | %s | %s |" % tuple(map(_cut, row)) for row in rows[:_ROWS]]
        kept = fitting(lines, LIMIT // 2)
        left = len(rows) - len(kept) + fleet["causes_left_out"]
        head += ["| what | hosts | fix |", "| --- | --- | --- |", *kept, ""]
        head += ["%d more rows are in report\\.html and fleet\\.json." % left, ""] if left else []
    remarks, room = ["- " + _cut(text) for text in _below(fleet) + _remarks(fleet)], LINES - len(head)
    if len(remarks) > room:
        remarks = remarks[:room - 1] + ["- %d more remarks are in report\\.html" % (len(remarks) - room + 1)]
    return "\n".join(head + remarks).rstrip("\n") + "\n"


def _causes(fleet):
    """[(sentence and effect, hosts, fix)] of the causes that block; a finding that is its own cause has its check in
    place of the effect."""
    return [(" ".join(filter(None, (_ended(overview.sentence_of(cause)),
                                    cause["effect"] if cause["cause"] else "(%s)" % cause["checks"][0]))),
             _some(cause["hosts"]), cause["fix"]) for cause in fleet["causes"] if cause["blocks"]]


def _ended(sentence):
    return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


def _left_out(fleet):
    """One row for the hosts that were not reached, and one for each reason why other hosts are not known to be fit."""
    lost, others = {}, {}
    for row in without_cause(fleet):
        state = state_of(row)
        because = row["verdict"]["because"] if row["verdict"] else row["reason"] or ""
        (lost if state == "not_reached" else others).setdefault((state, because), []).append(row["host"])
    reasons = [because if len(lost) == 1 else "%s (%s)" % (because, _some(hosts))
               for (_state, because), hosts in lost.items()]
    rows = [("not reached: " + "; ".join(reasons), _some(sum(lost.values(), [])), "")] if lost else []
    return rows + [("%s: %s" % (_WORDS[state], because), _some(hosts), "")
                   for (state, because), hosts in others.items()]


def _below(fleet):
    """The causes that do not block, counted."""
    of = [cause for cause in fleet["causes"] if not cause["blocks"]]
    hosts = {host for cause in of for host in cause["hosts"]}
    return ["%d %s on %d %s %s not block" % (
        len(of), "cause" if len(of) == 1 else "causes", len(hosts), "host" if len(hosts) == 1 else "hosts",
        "does" if len(of) == 1 else "do")] if of else []


def _remarks(fleet):
    """Common properties of failing hosts, hosts that differ from the others, and exceptions of the policy."""
    return (["%s fails %s" % (entry["check"], scope_text(entry["scope"], entry["fail"]))
             for entry in fleet["checks"] if entry["scope"] and entry["scope"]["kind"] != "node"]
            + baseline_texts(fleet) + outlier_texts(fleet["outliers"], fleet["baseline"], _some)
            + compared_texts(fleet["compared"], _some) + policy_texts(fleet, _some))


def _some(names):
    return some(names, _NAMED)


def _cut(text):
    """A cell, whose text is cut where a node wrote a long one."""
    return cell(text if len(text) <= _MOST else text[:_MOST] + " ...")


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
