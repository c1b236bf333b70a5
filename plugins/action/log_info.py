# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of log_info: the node returns lines, the controller finds their causes."""

from ..plugin_utils._answer import documented
from ..plugin_utils._calls.calling import CallingAction
from ..plugin_utils._logs import diagnosis


class ActionModule(CallingAction):
    """The causes are data of the controller; no answer of a node gives a line its meaning."""

    _supports_async = False

    def arguments(self, task_vars):
        """None: the module checks its own, on the node."""
        return {}

    def work(self, arguments, task_vars):
        result = documented.documented_part(self.call(task_vars), self.name())
        result["findings"] = diagnosis.diagnose(result.get("lines") or [], result.get("kube_proxy_ports"))
        return result
