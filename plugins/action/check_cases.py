# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.check_cases: judge the cases of the user's checks."""

from ansible.utils.display import Display

from ..module_utils._errors import BadInput
from ..plugin_utils._calls.action import Action
from ..plugin_utils._cases.run import run_of
from ..plugin_utils._checks import user_checks
from ..plugin_utils._options import checked
from ..plugin_utils._plain import plain
from ..plugin_utils._play import play, repository
from ..plugin_utils._render.text import escaped

_LISTED = 10


class ActionModule(Action):
    """Runs on the controller alone and contacts no host."""

    _requires_connection = False
    OPTIONS = {"files": {"type": "list", "elements": "raw", "required": True}}

    def work(self, arguments, task_vars):
        files = [path for value in arguments["files"] for path in _paths_of(value)]
        if not files:
            raise BadInput("There are no checks of your own: set node_policy_check_files")
        folders = repository.folders_of(plain(task_vars.get("ansible_inventory_sources")))
        rows, strays = run_of(user_checks.files_of(files, folders))
        problems = [escaped(text) for row in rows for text in row["problems"]] + [escaped(text) for text in strays]
        text = _text_of(rows, problems)
        for_people = play.stdout_is_for_people()
        if for_people:
            Display().display(text)
        result = {"changed": False, "checks": [_returned(row) for row in rows], "problems": problems, "text": text}
        if problems:
            more = "; %d more" % (len(problems) - _LISTED) if len(problems) > _LISTED else ""
            result.update(failed=True, msg="; ".join(problems[:_LISTED]) + more)
        return result


def _paths_of(value):
    """A path, or a value of the variable, which takes a list or a text with commas."""
    return checked("files", value, {"type": "list", "elements": "str"}) or []


def _returned(row):
    return {"check": row["check"], "title": escaped(row["title"]), "severity": row["severity"],
            "file": escaped(row["file"]), "cases": len(row["cases"]),
            "problems": [escaped(text) for text in row["problems"]]}


def _text_of(rows, problems):
    """The checks with their files, and each case as a user reads it."""
    lines = []
    for row in rows:
        lines.append(escaped("%s  %s  %s  %s" % (row["check"], row["severity"], row["file"], row["title"])))
        for case in row["cases"]:
            head = "  %-8s %s" % ("WRONG" if case["problems"] else "/".join(case["statuses"]), case["name"])
            lines += [escaped(": ".join([head, *case["texts"][:1]]))]
    cases = sum(len(row["cases"]) for row in rows)
    lines += ["  %s" % text for text in problems]
    lines.append("%s, %s: %s" % (_counted(len(rows), "check"), _counted(cases, "case"),
                                 _counted(len(problems), "problem") if problems else "all as expected"))
    return "\n".join(lines)


def _counted(number, noun):
    return "%d %s%s" % (number, noun, "" if number == 1 else "s")
