# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.assess: look at a node and judge it, in one task."""

import contextlib
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.utils.display import Display

from ..module_utils._errors import BadInput
from ..plugin_utils import _assess, _bundle, _evidence, _options, _policy, _run, _schema, _selection, _store, _values
from ..plugin_utils._action import Action
from ..plugin_utils._deadline import Overdue, deadline
from ..plugin_utils._evaluate import one_line
from ..plugin_utils._pipelining import pipelined
from ..plugin_utils._plain import plain
from ..plugin_utils._render.text import escaped
from ..plugin_utils._templating import templating

NODE_MODULE = "kubenode.netfilter.node_facts"
TIMEOUT_SECONDS = 180
# So long between two looks at a kube-proxy that has just started.
SETTLE_PAUSE = 5
MESSAGE_LIMIT = 300

# A strategy imports this file in the parent process and forks the workers afterwards: what is read here is read once
# for a run and not once for each host. What is wrong with it is told where it is used.
with contextlib.suppress(BadInput, OSError):
    _policy.default_policy()
    _policy.check_role_variables({})
    _schema.sections()
    _schema.documented("assess")


class ActionModule(Action):
    """Validates, connects once, judges. Only a mistake of the user fails the task, and before anything connects."""

    OPTIONS = {
        "gather_subset": {"type": "list", "elements": "str", "choices": list(_assess.SUBSETS)},
        "root": {"type": "str"},
        "place": {"type": "str", "choices": ["auto", "live", "image", "container", "bundle"]},
        "bundle": {"type": "str"},
        "kernel": {"type": "str"},
        "sections": {"type": "list", "elements": "str"},
        "checks": {"type": "list", "elements": "str"},
        "skip": {"type": "list", "elements": "str"},
        "timeout": {"type": "int"},
        "settle": {"type": "int"},
        "unreachable": {"type": "str", "choices": ["warn", "fail"]},
        "attempts": {"type": "list", "elements": "dict", "options": {
            "subject": {"type": "str", "required": True}, "text": {"type": "str", "required": True}}},
    }

    def arguments(self, task_vars):
        # Variables first: what the role hands on from them is told by the name the user knows.
        self._policy = _policy.refuse_wrong_variables(task_vars, templating(self._templar))
        given = plain(self._task.args)
        for name in given:
            if name not in self.OPTIONS:
                raise _options.unknown_name("The option", name, self.OPTIONS)
        arguments = {name: _options.checked(name, value, self.OPTIONS[name]) for name, value in given.items() if value is not None}
        for name, value in arguments.items():
            _values.refuse_wrong_value("node_assess_" + name, value, told=name)
        _selection.refuse_no_check("checks and skip", _selection.chosen_checks(None, arguments.get("checks"), arguments.get("skip")))
        if "bundle" in arguments:
            _bundle.check(arguments, self._connection.transport)
        return arguments

    def work(self, arguments, task_vars):
        checks = _selection.chosen_checks(arguments.get("sections"), arguments.get("checks"), arguments.get("skip"))
        with _bundle.opened(arguments.get("bundle")) as tree:
            evidence, problems, not_reached = self._settled(dict(arguments, **tree), checks, task_vars)
        before = _run.findings_of(task_vars.get("ansible_facts"))
        facts = _assess.exported(evidence, self._policy, checks, before, arguments.get("attempts") or (), not_reached,
                                 self._earlier_peak(task_vars), problems)
        if not_reached:
            sentence = "nothing is known of %s: %s" % (task_vars.get("inventory_hostname"), not_reached)
            if arguments.get("unreachable") == "fail":
                raise BadInput(sentence)
            # Where neither report nor gate follows, nothing else shows it.
            Display().warning(escaped(sentence))
        return {"changed": False, "ansible_facts": facts}

    def _earlier_peak(self, task_vars):
        """What the report that an earlier run left on the controller knew of; node_report refuses a folder that is none."""
        folder = task_vars.get("node_report_folder") or _policy.role_defaults("node_report")["node_report_folder"]
        with contextlib.suppress(BadInput, TypeError, ValueError):
            return _store.earlier_peak(templating(self._templar)("node_report_folder", folder), plain(task_vars.get("inventory_hostname")))
        return 0

    def _settled(self, arguments, checks, task_vars):
        """What `_look` returns, again while kube-proxy is starting and `settle` seconds are not over."""
        until = time.monotonic() + arguments.get("settle", 0)
        while True:
            found = self._look(arguments, checks, task_vars)
            left = until - time.monotonic()
            if left <= 0 or not (found[0].get("node_iptables_chains") or {}).get("starting"):
                return found
            time.sleep(min(left, SETTLE_PAUSE))

    def _look(self, arguments, checks, task_vars):
        """(evidence, problems, reason): the sections node_facts returned, why some of them are not used, or why there are none."""
        module_arguments = {name: arguments[name] for name in ("root", "place", "kernel") if arguments.get(name)}
        module_arguments["gather_subset"] = arguments.get("gather_subset") or _assess.subsets_of(checks, self._policy, arguments.get("sections"))
        module_arguments["modules"] = self._policy.module_names
        module_arguments["hook_directories"] = self._policy.values["hook_directories"]
        seconds = arguments.get("timeout", TIMEOUT_SECONDS)
        try:
            with deadline(seconds):
                answer = pipelined(self._connection, lambda: self._execute_module(
                    module_name=NODE_MODULE, module_args=module_arguments, task_vars=task_vars))
        except Overdue:
            return {}, {}, "the node did not answer within %d seconds" % seconds
        except AnsibleConnectionFailure as error:
            return {}, {}, "unreachable: %s" % _short(error)
        except (AnsibleError, RecursionError, ValueError) as error:
            # The last two are what reading the answer of a node raises that is no JSON of ours, such as 100,000 brackets.
            return {}, {}, "the module could not be run: %s" % _short(error)
        return _sections(answer)


def _sections(answer):
    if answer.get("unreachable"):
        return {}, {}, "unreachable: %s" % _said(answer, "msg")
    sections, problems = _evidence.checked_sections(answer.get("ansible_facts"))
    if answer.get("failed") or not (sections or problems):
        said = [_said(answer, key) for key in ("msg", "module_stderr", "module_stdout") if answer.get(key)]
        return {}, {}, "the module failed: %s" % ("; ".join(said[:2]) or "it returned nothing")
    return sections, problems, None


def _said(answer, key):
    """One text of an answer; what is no text is as long as the node likes."""
    return _short(answer[key]) if isinstance(answer.get(key), str) else "%s is no text" % key


def _short(text):
    """`text` in one line; of a long one the middle is left out, because a traceback ends with what went wrong."""
    text, part = str(text), MESSAGE_LIMIT // 2
    words = one_line(text if len(text) <= 8 * part else text[:4 * part] + text[-4 * part:], 20 * part)
    return words if len(words) <= MESSAGE_LIMIT else "%s ... %s" % (words[:part - 5], words[-part:])
