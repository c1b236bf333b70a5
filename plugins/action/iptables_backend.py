# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.iptables_backend: the module of that name, sent to the node over standard input."""

from ansible.plugins.action.normal import ActionModule as NormalAction

from ..plugin_utils._pipelining import pipelined


class ActionModule(NormalAction):
    """What Ansible does for any module, with one command on the node."""

    def run(self, tmp=None, task_vars=None):
        return pipelined(self._connection, lambda: super(ActionModule, self).run(tmp, task_vars))
