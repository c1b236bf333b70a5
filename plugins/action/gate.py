# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.gate: fail a host whose findings do not pass."""

from ..plugin_utils import _finding, _select
from ..plugin_utils._action import Action
from ..plugin_utils._render.text import escaped

_WEIGHT = {"type": "str", "choices": ["fail", "warn", "ignore"]}
DEFAULTS = {"mode": "fail", "severity": "medium", "unknown": "warn", "unreached": "fail"}


class ActionModule(Action):
    """Runs for each host, on the controller alone, so that a host that does not pass fails and no other."""

    _requires_connection = False
    OPTIONS = {
        "mode": {"type": "str", "choices": ["fail", "warn", "never"]},
        "severity": {"type": "str", "choices": list(_finding.SEVERITIES)},
        "unknown": _WEIGHT,
        "unreached": _WEIGHT,
    }

    def work(self, arguments, task_vars):
        options = dict(DEFAULTS, **{name: value for name, value in arguments.items() if value is not None})
        settings = [options[name] for name in ("severity", "unknown", "unreached")]
        blocking, warned = (_select.blocking(task_vars.get("ansible_facts") or {}, *settings, level=level) for level in ("fail", "warn"))
        messages = [] if options["mode"] == "never" else [escaped(text) for text in blocking + warned]
        result = {"changed": False, "blocked": bool(blocking), "msg": messages}
        if blocking and options["mode"] == "fail":
            result["failed"] = True
        if messages:
            # As debug does: what the gate has to say is shown without -v, too.
            result["_ansible_verbose_always"] = True
        return result
