# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.lockstep: fail where hosts do not keep in step, and say whether the host needs its
turn."""

from ..module_utils._errors import BadInput
from ..plugin_utils import _play
from ..plugin_utils._fix.turns import RESTARTS, is_proved, of_restart
from ..plugin_utils._action import Action


class ActionModule(Action):
    """Only an action knows the strategy of its play."""

    _requires_connection = False
    OPTIONS = {"turn": {"type": "str", "choices": list(RESTARTS)}}

    def work(self, arguments, task_vars):
        strategy = _play.strategy_of(self._task)
        _names, batch, _alive = _play.hosts_of(task_vars)
        if _play.is_free(strategy) and len(batch) > 1:
            raise BadInput("The nodes are changed one after the other, which strategy %s does not support; "
                           "set strategy: linear or serial: 1 in the play" % strategy)
        turn, facts = arguments.get("turn"), task_vars.get("ansible_facts") or {}
        return {"changed": False, "strategy": strategy, "due": turn is None or bool(of_restart(facts, turn)),
                "proved": turn is not None and is_proved(facts, turn)}
