# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.lockstep: fail where hosts do not keep in step."""

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._errors import BadInput
from ..plugin_utils import _options, _play
from ..plugin_utils._plain import plain


class ActionModule(ActionBase):
    """Only an action knows the strategy of its play."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        try:
            _options.arguments("lockstep", plain(self._task.args), {})
        except BadInput as error:
            raise AnsibleActionFail(str(error)) from None
        strategy = _play.strategy_of(self._task)
        _names, batch, _alive = _play.hosts_of(task_vars)
        if _play.is_free(strategy) and len(batch) > 1:
            raise AnsibleActionFail("One node is worked on after the other here, which strategy %s does not do; "
                                    "set strategy: linear or serial: 1 in the play" % strategy)
        result.update(changed=False, strategy=strategy)
        return result
