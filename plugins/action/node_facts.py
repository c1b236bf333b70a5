# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of node_facts, and by meta/runtime.yml of every other module that runs on a node.

The module goes to the node over standard input, and only what the module documents comes back.
"""

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._errors import BadInput
from ..plugin_utils import _answer, _policy, _settings
from ..plugin_utils._pipelining import pipelined
from ..plugin_utils._templating import templating


class ActionModule(ActionBase):
    """No `async`: Ansible itself fetches the answer of a job that runs on, past everything that is done here."""

    TRANSFERS_FILES = True
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        try:
            _settings.refuse_facts_as_settings(task_vars)
            # assess does so too, but a role that only undoes never calls it.
            _policy.refuse_wrong_variables(task_vars, templating(self._templar))
        except BadInput as error:
            raise AnsibleActionFail(str(error)) from None
        answer = pipelined(self._connection, lambda: self._execute_module(task_vars=task_vars))
        result.update(_answer.documented_part(answer, self._task.action.rpartition(".")[2]))
        return result
