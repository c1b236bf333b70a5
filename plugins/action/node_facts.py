# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of node_facts, and by meta/runtime.yml of every other module that runs on a node.

The module goes to the node over standard input, and only what the module documents comes back.
"""

from ..plugin_utils._answer import documented
from ..plugin_utils._calls.calling import CallingAction
from ..plugin_utils._play.play import templating
from ..plugin_utils._policy import policies


class ActionModule(CallingAction):
    """No `async`: Ansible itself fetches the answer of a job that runs on, past everything that is done here."""

    _supports_async = False

    def arguments(self, task_vars):
        """None: the module checks its own, on the node. But the variables of the roles are checked here, for a role
        that only undoes never calls assess."""
        policies.refuse_wrong_variables(task_vars, templating(self._templar))
        return {}

    def work(self, arguments, task_vars):
        return documented.documented_part(self.call(task_vars), self.name())
