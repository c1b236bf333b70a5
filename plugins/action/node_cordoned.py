# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.node_cordoned: ask the API server for a node, with kubectl on the host that the task is
delegated to."""

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..plugin_utils._calls.calling import CallingAction, Unanswered
from ..plugin_utils._fix import migration
from ..plugin_utils._plain import plain
from ..plugin_utils._policy import limits
from ..plugin_utils._render.text import escaped

REQUEST_SECONDS = 20
MOST_SECONDS = 60


class ActionModule(CallingAction):
    """Asks in check mode too, since asking changes nothing. The task never fails: any other answer is returned as a
    doubt."""

    OPTIONS = {
        "node": {"type": "str", "required": True},
        "kubectl": {"type": "list", "elements": "str", "required": True},
    }

    def work(self, arguments, task_vars):
        limits.refuse_wrong_value("repair_kubectl", arguments["kubectl"], label="kubectl")
        doubt = escaped(migration.cordon_doubt(self._answer(arguments, task_vars), arguments["node"]))
        return {"changed": False, "cordoned": not doubt, "doubt": doubt}

    def _answer(self, arguments, task_vars):
        """The answer of the module command, or a dictionary with the reason in `msg` where kubectl could not be
        asked."""
        command = arguments["kubectl"] + ["get", "node", arguments["node"], "-o", "json",
                                          "--request-timeout=%ds" % REQUEST_SECONDS]
        try:
            return plain(self.call(task_vars, MOST_SECONDS, module_name="ansible.legacy.command",
                                   module_args={"argv": command}))
        except Unanswered:
            return {"msg": "kubectl did not answer within %d seconds" % MOST_SECONDS}
        except AnsibleConnectionFailure as error:
            return {"unreachable": True, "msg": str(error)}
        except AnsibleError as error:
            return {"msg": str(error)}
