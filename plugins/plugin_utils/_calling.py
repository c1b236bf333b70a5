# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared code of the actions that run a module on a node. PRIVATE to the collection."""

import contextlib

from ansible.errors import AnsibleConnectionFailure

from . import _bytecode, _play
from ._action import Action
from ._pipelining import pipelined


class CallingAction(Action):
    """Sends a module over standard input, as bytecode if many hosts get it."""

    _sends_bytecode = False

    def call(self, task_vars, **module):
        """The result of `_execute_module` for `module_name` and `module_args`; without them, for the module of the
        task."""
        self._sends_bytecode = len(_play.hosts_of(task_vars)[1]) >= _bytecode.MANY_HOSTS
        if self._sends_bytecode:
            _bytecode.prepare()
        return pipelined(self._connection, lambda: self._execute_module(task_vars=task_vars, **module))

    def cleanup(self, force=False):
        """Without pipelining a module leaves a folder, which Ansible removes after the work. Where the node is lost by
        then, the result of the work stands: ansible-core 2.19 and later would take the task for unreachable in its
        place, and the rescue of a turn would not run."""
        with contextlib.suppress(AnsibleConnectionFailure):
            super().cleanup(force)

    def _low_level_execute_command(self, cmd, sudoable=True, in_data=None, **options):
        """As in Ansible, which passes a pipelined module in `in_data`."""
        def execute(data):
            return super(CallingAction, self)._low_level_execute_command(cmd, sudoable, data, **options)

        if not in_data or not self._sends_bytecode or not _bytecode.may_run(cmd):
            return execute(in_data)
        return _bytecode.sent(in_data, execute)
