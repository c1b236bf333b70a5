# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.rollout: whether a rollout ends with this batch, and which hosts it leaves out."""

import os

from ..plugin_utils._calls.action import Action
from ..plugin_utils._fleet import overview, rollup
from ..plugin_utils._plain import plain
from ..plugin_utils._play import play, repository, rollout
from ..plugin_utils._play.play import templating
from ..plugin_utils._policy import policies
from ..plugin_utils._render.files import FORMATS, render_json, rendered
from ..plugin_utils._render.text import escaped, some
from ..plugin_utils._runs import store

# The name of the custom statistics of a rollout, and how many hosts they name.
STATS = "kubenode_netfilter_rollout"
MOST = 100


class ActionModule(Action):
    """Runs once for a batch, behind its gate, on the controller alone. It never fails a host: a blocked host
    has failed already."""

    _requires_connection = False
    OPTIONS = {
        "folder": {"type": "str"},
        "formats": {"type": "list", "elements": "str", "choices": list(FORMATS)},
        "baseline": {"type": "str"},
        "group_by": {"type": "list", "elements": "str"},
        "max_fail_percentage": {"type": "raw"},
        "max_hosts": {"type": "raw"},
    }

    def work(self, arguments, task_vars):
        templated = templating(self._templar)
        of_report = policies.role_settings("node_report", task_vars, templated)
        of_gate = policies.role_settings("node_gate", task_vars, templated)
        arguments = dict(dict(of_report, max_hosts=of_gate["max_hosts"]),
                         **{name: value for name, value in arguments.items() if value is not None})
        limit = rollout.checked_limit("max_hosts", arguments.get("max_hosts"))
        given = arguments.get("max_fail_percentage")
        # A limit of the play alone leaves its batches without one.
        percentage = rollout.checked_percentage((100 if limit else 0) if given in (None, "") else given,
                                                "max_fail_percentage")
        names, _batch, alive = play.hosts_of(task_vars)
        batch, later = rollout.batch_of(names, plain(self._task.get_play().serial),
                                        plain(task_vars["inventory_hostname"]))
        lost = [name for name in batch if name not in alive]
        lost_so_far = [name for name in names if name not in alive]
        reason = None
        if rollout.ends(lost, batch, percentage):
            reason = _counted(lost, "its %d hosts" % len(batch), "max_fail_percentage is %d" % percentage)
        elif rollout.exceeds(lost_so_far, names, limit):
            reason = _counted(lost_so_far, "the %d hosts of the play" % len(names),
                              "max_hosts is %s" % arguments["max_hosts"])
        elif lost == batch:
            reason = _counted(lost, "its %d hosts" % len(batch), "Ansible ends a play that loses a whole batch")
        ended = bool(later) and reason is not None
        formats = arguments.get("formats") or ["json"]
        if ended and set(formats) - {"terminal"}:
            folder = arguments.get("folder") or policies.role_defaults("node_report")["node_report_folder"]
            _rewritten(os.path.abspath(os.path.expanduser(folder)), names, later, task_vars, formats, arguments)
        result = {"changed": False, "ended": ended, "blocked": lost, "not_reached": later if ended else []}
        result["ansible_stats"] = overview.stats_of(STATS, {
            "ended": ended, "blocked_hosts": lost_so_far[:MOST], "blocked": len(lost_so_far),
            "not_rolled_out": len(result["not_reached"])})
        if ended:
            result.update(msg=_sentence(reason, later), _ansible_verbose_always=True)
        return result


def _rewritten(folder, names, later, task_vars, formats, arguments):
    """The report was written before the gate of its batch; the files of the run now name the hosts that the rollout
    leaves out."""
    reports = rollup.reports_of(names, task_vars["hostvars"], group_by=arguments.get("group_by"))
    fleet = rollup.roll_up(names, reports, left_out=set(later), baseline=arguments.get("baseline") or None,
                           inventory=repository.path_in_repository(plain(task_vars.get("ansible_inventory_sources"))))
    with store.opened(folder) as opened:
        store.write_fleet(opened, fleet, dict({store.FLEET: render_json(fleet)}, **rendered(formats, reports, fleet)))


def _counted(lost, hosts, setting):
    return "%d of %s blocked, failed or unreachable (%s), and %s" % (len(lost), hosts, some(lost), setting)


def _sentence(reason, later):
    return escaped("The rollout ends with this batch: %s. Not reached by the rollout: %s." % (reason, some(later)))
