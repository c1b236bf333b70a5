# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.assess: look at a node and judge it, in one task."""

from ansible.utils.display import Display

from ..module_utils._errors import BadInput
from ..plugin_utils import _options
from ..plugin_utils._bundle import bundles
from ..plugin_utils._calls.looking import LookingAction, is_shown_later
from ..plugin_utils._checks import assess, catalogue
from ..plugin_utils._plain import plain
from ..plugin_utils._policy import limits, policies
from ..plugin_utils._render.text import escaped


class ActionModule(LookingAction):
    """Validates, connects once, judges. Only a mistake of the user fails the task, and before anything connects."""

    OPTIONS = {
        "gather_subset": {"type": "list", "elements": "str", "choices": list(assess.SUBSETS)},
        "root": {"type": "str"},
        "place": {"type": "str", "choices": ["auto", "live", "image", "container", "bundle"]},
        "bundle": {"type": "str"},
        "kernel": {"type": "str"},
        "sections": {"type": "list", "elements": "str"},
        "checks": {"type": "list", "elements": "str"},
        "skip": {"type": "list", "elements": "str"},
        "timeout": {"type": "int"},
        "settle": {"type": "int"},
        "evidence": {"type": "bool"},
        "unreachable": {"type": "str", "choices": ["warn", "fail", "ignore"]},
    }

    def arguments(self, task_vars):
        # Variables first: for an option that the role sets from a variable, the message names the variable.
        self.read_policy(task_vars)
        given = plain(self._task.args)
        for name in given:
            if name not in self.OPTIONS:
                raise _options.unknown_name("The option", name, self.OPTIONS)
        of_role = policies.role_settings("node_assess", task_vars, self._templated, self._policy.checks)
        # An empty root is the node itself and an empty kernel the running one, but an empty bundle is a mistake.
        arguments = {name: value for name, value in of_role.items() if value is not None and (value or name not in (
            "root", "kernel"))}
        arguments.update((name, _options.checked(name, value, self.OPTIONS[name])) for name, value in given.items()
                         if value is not None)
        for name, value in arguments.items():
            limits.refuse_wrong_value("node_assess_" + name, value, label=name, known=self._policy.checks)
        catalogue.refuse_no_check("checks and skip",
                                  catalogue.chosen_checks(None, arguments.get("checks"), arguments.get("skip"),
                                                          self._policy.checks))
        # A baseline of the gate that cannot be used is refused before anything connects.
        self.gate(task_vars)
        if arguments.get("unreachable") == "ignore":
            self.refuse_wrong_baseline(task_vars)
        if "bundle" in arguments:
            bundles.check(arguments, self._connection.transport)
        return arguments

    def work(self, arguments, task_vars):
        facts, not_reached = self.assessed(arguments, task_vars)
        if not_reached:
            sentence = "%s was not assessed: %s" % (task_vars.get("inventory_hostname"), not_reached)
            if arguments.get("unreachable") == "fail":
                raise BadInput(sentence)
            if arguments.get("unreachable") != "ignore" or not is_shown_later(task_vars):
                Display().warning(escaped(sentence))
        return {"changed": False, "ansible_facts": facts}
