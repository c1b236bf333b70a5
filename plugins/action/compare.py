# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.compare: what changed between two runs of a report folder, or differs between two
nodes."""

import os
import shutil

from ansible.utils.display import Display

from ..module_utils._errors import BadInput
from ..plugin_utils._calls.action import Action, Failed
from ..plugin_utils._play import play
from ..plugin_utils._render.changes import render_markdown, render_terminal
from ..plugin_utils._render.files import render_json
from ..plugin_utils._render.html import render_changes_html
from ..plugin_utils._render.text import escaped, some
from ..plugin_utils._runs import differences, earlier, store

# Formats that are files.
RENDERED = {"html": render_changes_html, "json": render_json, "markdown": render_markdown}
FORMATS = ("terminal", *RENDERED)
WIDTH = 120
# The message of a failure names at most this many hosts and checks.
_NAMED = 10
# The variable COLUMNS or the terminal. Workers are cut off from it; a strategy imports this file in the parent process.
COLUMNS = shutil.get_terminal_size((WIDTH, 24)).columns


class ActionModule(Action):
    """Runs on the controller alone and contacts no host."""

    _requires_connection = False
    OPTIONS = {
        "folder": {"type": "str", "required": True},
        "before": {"type": "str"},
        "after": {"type": "str"},
        "nodes": {"type": "list", "elements": "str"},
        "formats": {"type": "list", "elements": "str", "choices": list(FORMATS)},
        "fail_on": {"type": "str", "choices": ["none", "new"]},
    }

    def work(self, arguments, task_vars):
        folder = os.path.abspath(os.path.expanduser(arguments["folder"]))
        changes = _compared(folder, arguments)
        formats = ["terminal"] if arguments.get("formats") is None else arguments["formats"]
        texts = {store.COMPARED[name]: render(changes)
                 for name, render in RENDERED.items() if name in formats}
        for_people = play.stdout_is_for_people()
        text = render_terminal(changes, COLUMNS if for_people else WIDTH)
        if "terminal" in formats and for_people:
            Display().display(text)
        files = store.write_beside(folder, texts) if texts else []
        why = _failure(changes) if arguments.get("fail_on") == "new" else None
        if why:
            # Ansible prints the result of a task that fails, so it is short; the files have all changes.
            raise Failed(escaped(why), result={"changed": False, "totals": changes["totals"], "files": files})
        return {"changed": False, "changes": changes, "text": text, "files": files}


def _failure(changes):
    """Why a comparison fails that must have no new findings; None where it has none."""
    if changes["kind"] == "runs" and not changes["compared_hosts"]:
        return "Nothing was compared: no host was assessed by both run %s and run %s" % (
            changes["before"]["run"], changes["after"]["run"])
    rows = [row for row in changes["rows"] if row["change"] == differences.NEW]
    if not rows:
        return None
    checks, hosts = ([*dict.fromkeys(row[key] for row in rows)] for key in ("check", "host"))
    return "%d %s new on %s: %s" % (len(rows), "finding is" if len(rows) == 1 else "findings are",
                                    some(sorted(hosts), _NAMED), some(checks, _NAMED))


def _compared(folder, arguments):
    nodes = arguments.get("nodes") or []
    after = earlier.path_of(folder, arguments.get("after") or earlier.LATEST, None)
    if nodes:
        if len(nodes) != 2 or nodes[0] == nodes[1]:
            raise BadInput("nodes must be the names of two nodes, such as [worker-1, worker-2]")
        if arguments.get("before"):
            raise BadInput("before and nodes cannot be given together: two nodes are compared within the run of "
                           "`after`")
        return differences.of_nodes(earlier.read_run(after, nodes), *nodes)
    before = earlier.path_of(folder, arguments.get("before") or earlier.PREVIOUS, os.path.basename(after))
    return differences.of_runs(earlier.read_run(before), earlier.read_run(after))
