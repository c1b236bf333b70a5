# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.rollout: whether a rollout ends with this batch, and which hosts it leaves out."""

import os

from ..plugin_utils import _fleet, _play, _policy, _rollout, _store
from ..plugin_utils._action import Action
from ..plugin_utils._plain import plain
from ..plugin_utils._render.files import FORMATS, rendered
from ..plugin_utils._render.json_text import render_json
from ..plugin_utils._render.text import escaped, some


class ActionModule(Action):
    """Runs once for a batch, behind its gate, on the controller alone. It never fails a host: those that fail have
    failed already."""

    _requires_connection = False
    OPTIONS = {
        "folder": {"type": "str"},
        "formats": {"type": "list", "elements": "str", "choices": list(FORMATS)},
        "max_fail_percentage": {"type": "raw"},
    }

    def work(self, arguments, task_vars):
        percentage = _rollout.checked_percentage(arguments.get("max_fail_percentage") or 0, "max_fail_percentage")
        names, _batch, alive = _play.hosts_of(task_vars)
        batch, later = _rollout.batch_of(names, plain(self._task.get_play().serial),
                                         plain(task_vars["inventory_hostname"]))
        lost = [name for name in batch if name not in alive]
        ended = bool(later) and _rollout.ends(lost, batch, percentage)
        formats = arguments.get("formats") or ["json"]
        if ended and set(formats) - {"terminal"}:
            folder = arguments.get("folder") or _policy.role_defaults("node_report")["node_report_folder"]
            _rewritten(os.path.abspath(os.path.expanduser(folder)), names, later, task_vars["hostvars"], formats)
        result = {"changed": False, "ended": ended, "blocked": lost, "not_reached": later if ended else []}
        if ended:
            result.update(msg=_sentence(lost, batch, percentage, later), _ansible_verbose_always=True)
        return result


def _rewritten(folder, names, later, hostvars, formats):
    """The report was written before the gate of its batch; the files of the run now name the hosts that the rollout
    leaves out."""
    reports = _fleet.reports_of(names, hostvars)
    fleet = _fleet.roll_up(names, reports, left_out=set(later))
    with _store.opened(folder) as opened:
        _store.write_fleet(opened, fleet, dict({_store.FLEET: render_json(fleet)}, **rendered(formats, reports, fleet)))


def _sentence(lost, batch, percentage, later):
    return escaped("The rollout ends with this batch: %d of its %d hosts blocked, failed or unreachable (%s), and "
                   "max_fail_percentage is %d. Not reached by the rollout: %s."
                   % (len(lost), len(batch), some(lost), percentage, some(later)))
