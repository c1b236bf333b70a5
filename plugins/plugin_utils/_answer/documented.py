# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a module's answer that becomes the result of a task: the keys that its RETURN documents, within bounds.
PRIVATE to the collection.

Ansible acts on more keys of a result than a module documents: `ansible_facts` become variables, `add_host` and
`add_group` change the inventory, `ansible_stats` the statistics of the run. A node can put them into any answer, so
only keys on a list of allowed ones pass.
"""

from .._plain import plain
from .._render.text import escaped_lines
from . import schema, validate
from .node_errors import reason_of

# The rows of flush_hooks quote commands; with a thousand hooks they stay below a megabyte.
MOST_CHARACTERS = 1024 * 1024
MOST_MESSAGE = 4000
MOST_WARNINGS = 20
# A diff holds whole files, before and after.
MOST_DIFFS = 200
MOST_DIFF_CHARACTERS = 2 * 1024 * 1024
_DIFF_TEXTS = ("before_header", "after_header", "before", "after", "prepared")
_MESSAGES = ("msg", "module_stdout", "module_stderr")


def documented_part(answer, module):
    """The result of a task that ran `module` (its short name), from the node's answer (any dictionary).

    Holds `changed`, the keys that RETURN documents and, if the answer has them, `failed`, `unreachable`, `msg`, `diff`,
    `warnings`, `exception`, `module_stdout` and `module_stderr`, as plain values without control characters. The task
    fails if the answer does not fit its documentation.
    """
    result = {"changed": answer.get("changed") is True}
    result.update((key, True) for key in ("failed", "unreachable") if answer.get(key))
    result.update((key, _message(answer[key])) for key in _MESSAGES if answer.get(key))
    if answer.get("exception"):
        result["exception"] = _message(_traceback(answer["exception"]))
    if answer.get("warnings"):
        result["warnings"] = _warnings(answer["warnings"])
    if answer.get("diff"):
        result["diff"] = _diffs(answer["diff"])
    failed = result.get("failed") or result.get("unreachable")
    reason = reason_of(result) if failed else None
    if reason:
        return {"changed": result["changed"], "failed": True, "msg": "The module could not run on the node: " + reason}
    misfits = _fill(result, answer, schema.documented(module), complete=not failed)
    if misfits and not failed:
        result.update(failed=True, msg="The node's answer does not fit the documentation of %s: %s"
                      % (module, "; ".join(misfits[:3])))
    return result


def _fill(result, answer, shapes, complete):
    """Copies the documented keys into the result. Returns a short problem for each key that does not fit, or that is
    required and missing."""
    misfits, room = [], validate.Room(MOST_CHARACTERS)
    for key, shape in shapes.items():
        if key in result:
            continue
        if key not in answer:
            misfits += ["%s is missing" % key] if complete and (shape.always or key == "ansible_facts") else []
        elif key == "ansible_facts":
            result[key], wrong = _sections(answer[key], shape.contains)
            misfits += wrong
        else:
            try:
                result[key] = validate.fitted(answer[key], shape, room)
            except validate.Misfit as misfit:
                misfits.append(str(misfit.below(key)))
    return misfits


def _sections(facts, names):
    """(the sections that fit, a short problem for each section that does not)."""
    if not isinstance(facts, dict):
        return {}, ["ansible_facts must be a dictionary"]
    sections, misfits, room = {}, [], validate.Room()
    for name in names:
        if name in facts:
            try:
                sections[name] = validate.checked_section(name, facts[name], room)
            except validate.Misfit as misfit:
                misfits.append(str(misfit))
    return sections, misfits


def _message(text):
    """Keeps the end of a long text, because the last line of a traceback holds the error."""
    text = str(plain(text))
    return ("..." if len(text) > MOST_MESSAGE else "") + escaped_lines(text[-MOST_MESSAGE:])


def _traceback(exception):
    """From ansible-core 2.19 on the traceback is part of an object."""
    event = getattr(exception, "event", None)
    return getattr(event, "formatted_traceback", None) or getattr(event, "msg", None) or exception


def _warnings(warnings):
    texts = [getattr(getattr(item, "event", None), "msg", None) or item
             for item in warnings] if isinstance(warnings, (list, tuple)) else [warnings]
    return [_message(text) for text in texts[:MOST_WARNINGS]]


def _diffs(diffs):
    """Diffs as Ansible shows them, with only their texts; the last entry counts the changes that are left out."""
    kept, left = [], MOST_DIFF_CHARACTERS
    rows = diffs if isinstance(diffs, (list, tuple)) else [diffs]
    for row in rows[:MOST_DIFFS]:
        texts = {key: str.__str__(row[key]) for key in _DIFF_TEXTS
                 if isinstance(row.get(key), str)} if isinstance(row, dict) else {}
        left -= sum(len(text) for text in texts.values())
        if left < 0:
            break
        if texts:
            kept.append({key: escaped_lines(text) for key, text in texts.items()})
    if len(kept) < len(rows):
        kept.append({"prepared": "(%d more changes are not shown)\n" % (len(rows) - len(kept))})
    return kept
