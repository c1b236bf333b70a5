# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.rollout: whether a rollout ends with this batch, and which hosts it leaves out."""

import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._errors import BadInput
from ..plugin_utils import _fleet, _options, _play, _policy, _rollout, _settings, _store
from ..plugin_utils._plain import plain
from ..plugin_utils._render.json_text import render_json
from ..plugin_utils._render.text import escaped, some

OPTIONS = {
    "folder": {"type": "str"},
    "formats": {"type": "list", "elements": "str", "choices": ["json", "terminal"]},
    "max_fail_percentage": {"type": "raw"},
}


class ActionModule(ActionBase):
    """Runs once for a batch, behind its gate, on the controller alone. It never fails a host: those that fail have failed already."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        try:
            _settings.refuse_facts_as_settings(task_vars)
            arguments = _options.arguments("rollout", plain(self._task.args), OPTIONS)
            percentage = _rollout.checked_percentage(arguments.get("max_fail_percentage") or 0, "max_fail_percentage")
            names, _batch, alive = _play.hosts_of(task_vars)
            batch, later = _rollout.batch_of(names, plain(self._task.get_play().serial), plain(task_vars["inventory_hostname"]))
            lost = [name for name in batch if name not in alive]
            ended = bool(later) and _rollout.ends(lost, batch, percentage)
            if ended and "json" in (arguments.get("formats") or ["json"]):
                folder = arguments.get("folder") or _policy.role_defaults("node_report")["node_report_folder"]
                _rewritten(os.path.abspath(os.path.expanduser(folder)), names, later, task_vars["hostvars"])
        except BadInput as error:
            raise AnsibleActionFail(str(error)) from None
        result.update(changed=False, ended=ended, blocked=lost, not_reached=later if ended else [])
        if ended:
            result.update(msg=_sentence(lost, batch, percentage, later), _ansible_verbose_always=True)
        return result


def _rewritten(folder, names, later, hostvars):
    """The report was written before the gate of its batch; the roll-up now says whose turn does not come any more."""
    fleet = _fleet.roll_up(names, _fleet.reports_of(names, hostvars), left_out=set(later))
    with _store.opened(folder) as opened:
        _store.write_fleet(opened, fleet, render_json(fleet))


def _sentence(lost, batch, percentage, later):
    return escaped("The rollout ends with this batch: %d of its %d hosts blocked, failed or unreachable (%s), and max_fail_percentage is %d. "
                   "Not reached by the rollout: %s." % (len(lost), len(batch), some(lost), percentage, some(later)))
