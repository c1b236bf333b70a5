# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which causes hold on a node, and which findings each of them explains. The code handles causes, but no single one.
PRIVATE to the collection."""

import shlex

from .. import _finding
from .._checks.expressions import search
from .catalogue import CERTAINTIES, EFFECTS, causes

# A finding without a cause is its own: what users feel by its severity.
# Words that begin a sentence and are no names.
_OPENING = ("The", "A", "An", "No", "Rules", "Required", "After", "Address", "Some", "None", "Packets", "Commands")
_FELT = {"high": "some_services", "medium": "pods", "low": "later", "info": "none"}


def causes_of(findings, known, host, catalogue=None):
    """The causes of the failing findings of one host, the one that users feel most first: `cause` (an id, or None for a
    finding that is its own cause), `sentence`, `short` (the sentence without its details), `effect`, `felt`,
    `certainty`, `since`, `evidence`, `fix`, `then`, `class`, `severity` (the worst of its findings) and `explains`,
    rows of `check` and `subject`. `known` are the sections of evidence with `joins`, `host` is the name for commands.
    Each failing finding is in exactly one of them."""
    failing = {}
    for row in findings:
        if row["status"] == _finding.FAIL:
            failing.setdefault(row["check"], []).append(row)
    scope = dict(known, failing=failing)
    left = [row for rows in failing.values() for row in rows]
    found = []
    for cause in causes() if catalogue is None else catalogue:
        if not any(check in failing for check in cause.explains):
            continue
        for held in _held(cause, scope):
            mine = [row for row in left if row["check"] in cause.explains and _names(row, held.get("of"))]
            if mine:
                left = [row for row in left if not any(row is each for each in mine)]
                found.append(_instance(cause, dict(held, host=shlex.quote(host)), mine))
    return sorted(found + [_own(row) for row in left], key=lambda row: (
        EFFECTS.index(row["felt"]), CERTAINTIES.index(row["certainty"]),
        -_finding.SEVERITIES.index(row["severity"]), row["sentence"]))


def _held(cause, scope):
    """The rows of a cause that holds; an expression that meets missing evidence does not hold."""
    rows = search(cause.holds, scope)[0]
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _names(finding, texts):
    """Whether a finding names one of the texts; without texts every finding of the check belongs to the cause."""
    if not texts:
        return True
    told = " ".join((finding["subject"], finding["problem"] or "", finding["observed"]))
    return any(text and str(text) in told for text in texts)


def _instance(cause, held, mine):
    texts = {name: getattr(cause, name).format_map(_Fields(held))
             for name in ("sentence", "effect", "since", "evidence", "then")}
    worst = max((row["severity"] for row in mine), key=_finding.SEVERITIES.index)
    short = cause.sentence.partition(": {")[0].format_map(_Fields(held))
    return dict(texts, short=short, cause=cause.id, felt=cause.felt, certainty=cause.certainty, severity=worst,
                fix=cause.fix["command"].format_map(_Fields(held)), explains=_names_of(mine), **{
                    "class": cause.fix["class"]})


def _own(row):
    return {"cause": None, "sentence": _finding.problem_of(row), "short": row["problem"] or row["title"], "effect": "", "since": "", "evidence": "", "then": "",
            "felt": _FELT[row["severity"]], "certainty": "sure", "severity": row["severity"],
            "fix": row["remediation"], "class": None, "explains": _names_of([row])}


def _names_of(rows):
    return [{"check": row["check"], "subject": row["subject"]} for row in rows]


def names_of(cause):
    """{(check, subject)} of the findings that a cause explains."""
    return {(row["check"], row["subject"]) for row in cause["explains"]}


def within(text):
    """A sentence as a part of another one."""
    first, blank, rest = text.partition(" ")
    return first.lower() + blank + rest if first in _OPENING else text


class _Fields(dict):
    """The fields of a row for the texts of a cause; lists are joined."""

    def __missing__(self, key):
        return ""

    def __getitem__(self, key):
        value = dict.get(self, key, "")
        return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else within(str(value))
