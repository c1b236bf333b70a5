# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.kubelet_restart: Ansible's own systemd_service, of whose answer only the documented part
comes back."""

from ..plugin_utils import _answer
from ..plugin_utils._calling import CallingAction


class ActionModule(CallingAction):
    """A restart that the user asked for; in check mode systemd_service only reports that it would."""

    OPTIONS = {"unit": {"type": "str", "required": True}}

    def work(self, arguments, task_vars):
        answer = self.call(task_vars, module_name="ansible.builtin.systemd_service",
                           module_args={"name": arguments["unit"], "state": "restarted"})
        return _answer.documented_part(answer, self.name())
