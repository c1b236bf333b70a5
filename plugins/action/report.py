# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.report: write and show what the run found, once for all hosts of a batch."""

import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.color import ANSIBLE_COLOR
from ansible.utils.display import Display

from ..module_utils._errors import BadInput
from ..plugin_utils import _fleet, _options, _run, _settings, _store
from ..plugin_utils._plain import plain
from ..plugin_utils._render.json_text import render_json
from ..plugin_utils._render.terminal import render_fleet, render_node

OPTIONS = {
    "folder": {"type": "str", "required": True},
    "formats": {"type": "list", "elements": "str", "choices": ["json", "terminal"]},
    "evidence": {"type": "bool"},
}
# Where output goes into a file or a pipe.
WIDTH = 120


class ActionModule(ActionBase):
    """Runs once for a batch, on the controller alone; it writes in check mode too, a report is what an audit is for."""

    TRANSFERS_FILES = False
    BYPASS_HOST_LOOP = True
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        try:
            _settings.refuse_facts_as_settings(task_vars)
            arguments = self._arguments()
            names, reports, fleet = self._reports(task_vars, arguments.get("evidence", False))
            formats = arguments.get("formats")
            formats = ["json", "terminal"] if formats is None else formats
            folder = os.path.abspath(os.path.expanduser(arguments["folder"]))
            files, problems = _written(folder, reports, fleet) if "json" in formats else ([], [])
        except BadInput as error:
            raise AnsibleActionFail(str(error)) from None
        if "terminal" in formats:
            _shown(names, reports, fleet, files)
        result.update(changed=False, files=files, totals=fleet["totals"])
        if problems:
            result["warnings"] = problems
        return result

    def _arguments(self):
        given = plain(self._task.args)
        for name in given:
            if name not in OPTIONS:
                raise _options.unknown_name("The option", name, OPTIONS)
        return _options.checked("report", given, {"type": "dict", "options": OPTIONS})

    def _reports(self, variables, evidence):
        """(hosts of this batch, {host: report} of all assessed so far, roll-up)."""
        batch = plain(variables.get("ansible_play_batch") or [])
        names = plain(variables.get("ansible_play_hosts_all") or batch)
        alive = set(plain(variables.get("ansible_play_hosts") or names))
        hostvars = variables["hostvars"]
        reports = {}
        for name in names:
            facts = hostvars.raw_get(name).get("ansible_facts")
            if _run.summary_of(facts):
                reports[name] = _fleet.node_report(name, facts, evidence)
        pending = {name for name in names if name not in reports and name in alive and name not in batch}
        return batch, reports, _fleet.roll_up(names, reports, pending)


def _written(folder, reports, fleet):
    """(files, problems): writes the files of all hosts assessed so far, and the roll-up last. A file of one host that cannot be written is a
    problem, and costs no other host its own."""
    files, problems = [], []
    with _store.opened(folder) as opened:
        for name in sorted(reports):
            try:
                files.append(_store.write_node(opened, name, render_json(reports[name])))
            except BadInput as error:
                problems.append(str(error))
        return [_store.write_fleet(opened, render_json(fleet))] + files, problems


def _shown(names, reports, fleet, files):
    display = Display()
    color = bool(ANSIBLE_COLOR) and not os.environ.get("NO_COLOR")
    width = int(os.environ.get("COLUMNS", 0)) if os.environ.get("COLUMNS", "").isdigit() else display.columns if os.isatty(1) else WIDTH
    for name in names:
        if name in reports:
            display.display(render_node(reports[name], width, color) + "\n")
    if len(fleet["hosts"]) > 1:
        display.display(render_fleet(fleet, width, color))
    if files:
        display.display("  reports: %s" % os.path.dirname(files[0]))
