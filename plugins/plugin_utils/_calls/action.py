# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared code of all actions of the collection. PRIVATE to the collection."""

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ...module_utils._errors import BadInput
from .. import _options
from .._plain import plain
from .._play.play import templating
from .._policy import limits, policies
from .._render.text import sentence


class Failed(AnsibleActionFail):
    """A failure with one sentence for people, which the task prints once.

    ansible-core 2.19 and later also print an exception of its own, as `[ERROR]: Task failed: Action failed: ...` with
    the lines of the playbook around it, and older ones name a traceback. A sentence needs neither.
    """

    def __init__(self, message, result=None):
        super().__init__(message, result=result)
        self.result.pop("exception", None)

    @property
    def omit_exception_key(self):
        """Whether ansible-core leaves the exception out of the result."""
        return True


class Action(ActionBase):
    """Base class of all actions. Before its work, an action refuses settings that a node must not set, and wrong
    options of the user, each with one sentence.

    A subclass defines its `OPTIONS`, in the form of argument_specs, and its `work`.
    """

    TRANSFERS_FILES = False
    _supports_check_mode = True
    OPTIONS = {}

    def run(self, tmp=None, task_vars=None):
        """The result of the task, a dict. Raises Failed with one sentence for any BadInput."""
        result = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        try:
            refuse_facts_as_settings(task_vars)
            limits.refuse_wrong_variables(task_vars, templating(self._templar))
            result.update(self.work(self.arguments(task_vars), task_vars))
        except BadInput as error:
            raise Failed(sentence(error)) from None
        return result

    def name(self) -> str:
        """The name of the action without the name of the collection, as in its documentation."""
        return self._task.action.rpartition(".")[2]

    def arguments(self, task_vars):
        """The arguments of the task as plain values in the types of `OPTIONS`, a dict. Raises BadInput."""
        return _options.arguments(self.name(), plain(self._task.args), self.OPTIONS)

    def work(self, arguments: dict, task_vars: dict) -> dict:
        """What the task returns, a dict. Raises BadInput."""
        raise NotImplementedError


# Settings come from the inventory, the play and the command line, never from a node.
# Ansible makes every fact of a host a variable of that host, above role defaults and inventory (`inject_facts_as_vars`,
# on by default). Any module of a play may return facts that a node controls, so a node can set a variable of this
# collection.

def refuse_facts_as_settings(task_vars):
    """Raises BadInput where a fact of the host has the name of a variable of this collection and would be read in its
    place."""
    if not constants.INJECT_FACTS_AS_VARS:
        return
    names = sorted(name for name in task_vars.get("ansible_facts") or () if _is_setting(str(name)))
    if names:
        raise BadInput(
            "The facts of this host contain %s, a setting of kubenode.netfilter%s. A node must not configure the "
            "controller: find out which module or fact cache brought it, clear the facts of the host (meta: "
            "clear_facts), or run with inject_facts_as_vars=False" % (
                names[0], " (and %d more)" % (len(names) - 1) if len(names) > 1 else ""))


def _is_setting(name):
    internal = name.startswith("__") and name[2:].startswith(policies.prefixes())
    return internal or name in policies.known_names()
