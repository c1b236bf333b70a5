# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.lockstep: fail where hosts do not keep in step."""

from ..module_utils._errors import BadInput
from ..plugin_utils import _play
from ..plugin_utils._action import Action


class ActionModule(Action):
    """Only an action knows the strategy of its play."""

    _requires_connection = False

    def work(self, arguments, task_vars):
        strategy = _play.strategy_of(self._task)
        _names, batch, _alive = _play.hosts_of(task_vars)
        if _play.is_free(strategy) and len(batch) > 1:
            raise BadInput("One node is worked on after the other here, which strategy %s does not do; "
                           "set strategy: linear or serial: 1 in the play" % strategy)
        return {"changed": False, "strategy": strategy}
