# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call for several modules, and their answers. PRIVATE to the collection.

The result of a task that fixes, from the results of the modules that it called.
"""

import json
from typing import NamedTuple

from .. import _finding
from .._render.text import escaped
from .outcomes import FAILED, Refusal
from .subjects import DISRUPTIVE

MODULE = "node_changes"


def arguments_of(calls, look=None):
    """The options of the module for calls [(name of a module, its options)] and a `look`, its options, afterwards."""
    changes = [{"module": name, "options": options} for name, options in calls]
    return {"changes": changes, "look": look} if look else {"changes": changes}


def answers_of(answer, names):
    """The answer of each of the modules `names`, unchecked, from that of the call for all of them. Where it is not one
    row for each, none of them is known to have run."""
    rows = answer.get("results")
    if isinstance(rows, (list, tuple)) and [_name_of(row) for row in rows] == list(names):
        return [_read(row.get("result")) for row in rows]
    whole = {key: answer[key] for key in ("msg", "unreachable", "module_stdout", "module_stderr", "exception")
             if key in answer}
    whole.setdefault("msg", "the node's answer does not have one result for each of %s" % ", ".join(names))
    return [dict(whole, failed=True) for _name in names]


def looked_of(answer):
    """The facts of the look after the changes, unchecked; None where the answer has none that can be read."""
    text = answer.get("looked")
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _name_of(row):
    return row.get("module") if isinstance(row, dict) else None


def _read(text):
    try:
        answer = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        return {"failed": True, "msg": "the result is not valid JSON: %s" % error}
    return answer if isinstance(answer, dict) else {"failed": True, "msg": "the result is not a dictionary"}


IMMUTABLE = ("Nothing is changed on this immutable host (%s); build the changes into its image or its configuration.")


class Done(NamedTuple):
    """What one module did: the subject, its result, the findings it worked on, and why some of them stay."""

    subject: object
    result: dict
    findings: list[dict]
    refusals: list[Refusal]


def skipped(reason: str) -> dict:
    """The result of a task that contacts no node."""
    return {"changed": False, "skipped": True, "skip_reason": reason, "subjects": [], "migration": None, "failures": []}


def touched(done):
    """Whether the node may have changed since it was judged."""
    return bool(done.result["changed"] or done.result.get("failed") or done.result.get("unreachable"))


def is_stale_by_others(subject, done):
    """Whether a change of another subject makes the sections of this one stale."""
    return any(each.subject is not subject and each.result["changed"] and set(subject.judged) & set(each.subject.stale)
               for each in done)


def with_findings(facts: dict, findings: list[dict]) -> dict:
    """The facts with other findings and the counts of these."""
    return {"node_assess_findings": findings,
            "node_assess_summary": dict(facts["node_assess_summary"], **_finding.summarise(findings))}


def of_task(done, migration, facts):
    """The result, a dict: one row for each module that was called, and the migration that is due."""
    result = {"changed": any(each.result["changed"] for each in done), "subjects": [_row(each) for each in done],
              "migration": migration, "failures": []}
    diffs = [diff for each in done for diff in each.result.get("diff") or []]
    warnings = [warning for each in done for warning in each.result.get("warnings") or []]
    result.update({name: value for name, value in (("diff", diffs), ("warnings", warnings), ("ansible_facts", facts))
                   if value})
    return result


def _row(done):
    reasons = list(dict.fromkeys(refusal.reason for refusal in done.refusals))
    return {"subject": done.subject.name, "changed": done.result["changed"], "failed": bool(done.result.get("failed")),
            "changes": [escaped(change) for change in done.subject.changes(done.result)]
            if done.result["changed"] else [], "reasons": [escaped(reason) for reason in reasons]}


def reasons_to_fail(done: list, summary: dict | None, host: str) -> list[str]:
    """Reasons why the task fails for a host: a change failed, programs could not be switched or restarted, or the host
    was lost."""
    reasons = [refusal.reason for each in done for refusal in each.refusals if refusal.outcome == FAILED
               or each.subject.name in DISRUPTIVE]
    reasons += [each.result.get("msg") or "the change failed" for each in done if each.result.get("failed")
                or each.result.get("unreachable")]
    if summary and not summary["reached"]:
        reasons.append("%s was not assessed: %s" % (host, summary["reason"]))
    return list(dict.fromkeys(reasons))
