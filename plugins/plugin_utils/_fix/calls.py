# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call for several modules, and their answers. PRIVATE to the collection."""

import json

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
