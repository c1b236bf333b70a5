# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.kubelet_restart: Ansible's own systemd_service, of whose answer only the documented part comes back."""

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._errors import BadInput
from ..plugin_utils import _answer, _options, _settings
from ..plugin_utils._pipelining import pipelined
from ..plugin_utils._plain import plain

OPTIONS = {"unit": {"type": "str", "required": True}}


class ActionModule(ActionBase):
    """A restart that the user asked for; in check mode systemd_service only says that it would."""

    TRANSFERS_FILES = True
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        try:
            _settings.refuse_facts_as_settings(task_vars)
            arguments = _options.checked("kubelet_restart", plain(self._task.args), {"type": "dict", "options": OPTIONS})
        except BadInput as error:
            raise AnsibleActionFail(str(error)) from None
        answer = pipelined(self._connection, lambda: self._execute_module(
            module_name="ansible.builtin.systemd_service", module_args={"name": arguments["unit"], "state": "restarted"}, task_vars=task_vars))
        result.update(_answer.documented_part(answer, "kubelet_restart"))
        return result
