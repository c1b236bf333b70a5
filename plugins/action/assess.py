# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.assess: look at a node and judge it, in one task."""

import contextlib
import gc
import time

from ansible.utils.display import Display

from ..module_utils._errors import BadInput
from ..plugin_utils import _assess, _bundle, _options, _play, _policy, _schema, _select, _selection, _values
from ..plugin_utils._looking import LookingAction
from ..plugin_utils._plain import plain
from ..plugin_utils._render.text import escaped

# Pause between two looks at a kube-proxy that has just started.
SETTLE_PAUSE = 5

# A strategy imports this file in the parent process and forks the workers afterwards: these files are read once for a
# run and not once for each host. A mistake in them is reported where they are used.
with contextlib.suppress(BadInput, OSError):
    _policy.read_all()
    _schema.sections()
    _schema.documented("assess")
# A worker that collects garbage touches every object of its parent, and so copies the pages that both shared. These
# objects stay to the end of the run anyway (documentation of gc.freeze).
gc.freeze()


# With --tags of these alone, a playbook with a gate assesses, and neither reports nor gates; with --skip-tags of the
# other two it does neither.
_ONLY_ASSESS = frozenset(("assess", "node_assess", "node_assess_look"))
_REPORT, _GATE = frozenset(("report", "node_report")), frozenset(("gate", "node_gate"))


def _is_shown_later(task_vars):
    """True where a report or a gate of the playbook shows a host that was not assessed."""
    if not task_vars.get("__node_gate_follows"):
        return False
    chosen = set(plain(task_vars.get("ansible_run_tags") or ["all"]))
    skipped = set(plain(task_vars.get("ansible_skip_tags") or []))
    return not chosen <= _ONLY_ASSESS and not (skipped & _REPORT and skipped & _GATE)


def _is_starting(evidence):
    """Whether kube-proxy or kubelet has not had the time to write its rules: missing ones may still come."""
    families = ((evidence.get("node_kubelet") or {}).get("initialisation") or {}).get("families") or ()
    proxy = evidence.get("node_kube_proxy") or {}
    # The chains name this reason also for a kube-proxy whose syncs all fail, which nothing is gained by waiting for.
    fails = any(row["never_synced"] and (row["restore_failures"] or row["nftables_failures"])
                for row in proxy.get("sync") or ())
    return bool((evidence.get("node_iptables_chains") or {}).get("starting") and not fails
                or proxy.get("starting")
                or any(row["state"] == "starting" for row in families))


class ActionModule(LookingAction):
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
        "evidence": {"type": "bool"},
        "unreachable": {"type": "str", "choices": ["warn", "fail"]},
    }

    def arguments(self, task_vars):
        # Variables first: for an option that the role sets from a variable, the message names the variable.
        self.read_policy(task_vars)
        given = plain(self._task.args)
        for name in given:
            if name not in self.OPTIONS:
                raise _options.unknown_name("The option", name, self.OPTIONS)
        of_role = _policy.role_settings("node_assess", task_vars, self._templated, self._policy.checks)
        # An empty root is the node itself and an empty kernel the running one, but an empty bundle is a mistake.
        arguments = {name: value for name, value in of_role.items() if value is not None and (value or name not in (
            "root", "kernel"))}
        arguments.update((name, _options.checked(name, value, self.OPTIONS[name])) for name, value in given.items()
                         if value is not None)
        for name, value in arguments.items():
            _values.refuse_wrong_value("node_assess_" + name, value, label=name, known=self._policy.checks)
        _selection.refuse_no_check("checks and skip",
                                   _selection.chosen_checks(None, arguments.get("checks"), arguments.get("skip"),
                                                            self._policy.checks))
        if _is_shown_later(task_vars):
            report = _policy.role_settings("node_report", task_vars, self._templated, self._policy.checks)
            _play.refuse_stranger("node_report_baseline", report["baseline"], task_vars)
        if "bundle" in arguments:
            _bundle.check(arguments, self._connection.transport)
        return arguments

    def work(self, arguments, task_vars):
        arguments = dict(arguments, sections=_select.judged_again(arguments.get("sections"),
                                                                  task_vars.get("ansible_facts") or {}))
        checks = _selection.chosen_checks(arguments["sections"], arguments.get("checks"), arguments.get("skip"),
                                          self._policy.checks)
        with _bundle.opened(arguments.get("bundle"), self._policy.values) as tree:
            looked = self._settled(dict(arguments, **tree), checks, task_vars)
        facts = self.judged(looked, checks, self._policy, task_vars, task_vars.get("ansible_facts"),
                            with_evidence=arguments.get("evidence", False))
        not_reached = looked[2]
        if not_reached:
            sentence = "%s was not assessed: %s" % (task_vars.get("inventory_hostname"), not_reached)
            # Where a gate follows, the gate decides.
            if arguments.get("unreachable") == "fail" and not task_vars.get("__node_gate_follows"):
                raise BadInput(sentence)
            if not _is_shown_later(task_vars):
                Display().warning(escaped(sentence))
        return {"changed": False,
                "ansible_facts": self.facts_of_task(facts, task_vars, arguments.get("evidence", False))}

    def _settled(self, arguments, checks, task_vars):
        """What `look` returns, again while kube-proxy or kubelet is starting and `settle` seconds are not over."""
        until = time.monotonic() + arguments.get("settle", 0)
        while True:
            found = self.look(arguments, checks, self._policy, task_vars)
            left = until - time.monotonic()
            if left <= 0 or not _is_starting(found[0]):
                return found
            time.sleep(min(left, SETTLE_PAUSE))
