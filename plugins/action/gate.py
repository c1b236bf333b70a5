# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.gate: fail a host whose findings do not pass."""

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._errors import BadInput
from ..plugin_utils import _finding, _options, _select, _settings
from ..plugin_utils._plain import plain
from ..plugin_utils._render.text import escaped

_WEIGHT = {"type": "str", "choices": ["fail", "warn", "ignore"]}
OPTIONS = {
    "mode": {"type": "str", "choices": ["fail", "warn", "never"]},
    "severity": {"type": "str", "choices": list(_finding.SEVERITIES)},
    "unknown": _WEIGHT,
    "unreached": _WEIGHT,
}
DEFAULTS = {"mode": "fail", "severity": "medium", "unknown": "warn", "unreached": "fail"}


class ActionModule(ActionBase):
    """Runs for each host, on the controller alone, so that a host that does not pass fails and no other."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        try:
            _settings.refuse_facts_as_settings(task_vars)
            given = _options.arguments("gate", plain(self._task.args), OPTIONS)
            options = dict(DEFAULTS, **{name: value for name, value in given.items() if value is not None})
            settings = [options[name] for name in ("severity", "unknown", "unreached")]
            facts = (task_vars or {}).get("ansible_facts") or {}
            blocking, warned = (_select.blocking(facts, *settings, level=level) for level in ("fail", "warn"))
        except BadInput as error:
            raise AnsibleActionFail(str(error)) from None
        messages = [] if options["mode"] == "never" else [escaped(text) for text in blocking + warned]
        result.update(changed=False, blocked=bool(blocking), msg=messages)
        if blocking and options["mode"] == "fail":
            result["failed"] = True
        if messages:
            # As debug does: what the gate has to say is shown without -v, too.
            result["_ansible_verbose_always"] = True
        return result
