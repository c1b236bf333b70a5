# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared code of the actions that collect evidence from a node and judge it. PRIVATE to the collection."""

import contextlib
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.utils.display import Display

from ...module_utils._errors import BadInput
from .. import _run
from .._answer import validate
from .._answer.documented import plain_reason, reason_of
from .._bundle import bundles
from .._checks import assess, catalogue
from .._checks.evaluate import one_line
from .._fix import select
from .._plain import plain
from .._play import play
from .._play.play import templating
from .._policy import policies
from .._render.text import escaped
from .._runs import baseline, store
from .calling import CallingAction, Unanswered

NODE_MODULE = "kubenode.netfilter.node_facts"
TIMEOUT_SECONDS = 180
MESSAGE_LIMIT = 300
# Pause between two looks at a kube-proxy that has just started.
SETTLE_PAUSE = 5

# A strategy imports this file in the parent process and forks the workers afterwards: these files are read once for a
# run and not once for each host. A mistake in them is reported where they are used.
with contextlib.suppress(BadInput, OSError):
    policies.read_all()
    validate.documented_sections()
    validate.documented("assess")

# With --tags of these alone, a playbook looks, and neither reports nor gates; with --skip-tags of the other two it does
# neither.
_ONLY_ASSESS = frozenset(("assess", "node_assess", "node_assess_look"))
_REPORT, _GATE = frozenset(("report", "node_report")), frozenset(("gate", "node_gate"))


def is_shown_later(task_vars):
    """Whether the tags of the run leave a report or a gate behind this task, which shows a host that was not
    assessed."""
    chosen = set(plain(task_vars.get("ansible_run_tags") or ["all"]))
    skipped = set(plain(task_vars.get("ansible_skip_tags") or []))
    return not chosen <= _ONLY_ASSESS and not (skipped & _REPORT and skipped & _GATE)


class LookingAction(CallingAction):
    """Connects once for a look, and judges its evidence."""

    # Why nothing more is sent to the node: an earlier call of the task was not answered in time.
    _unanswered = None

    # The settings of node_gate with its baseline, once they are read.
    _gate = None

    def read_policy(self, task_vars):
        """Sets `_templated`, see templating(), and `_policy`, the policy of the host. Refuses every wrong variable of
        the collection."""
        self._templated = templating(self._templar)
        self._policy = policies.refuse_wrong_variables(task_vars, self._templated)

    def look(self, arguments, checks, policy, task_vars):
        """(evidence, problems, reason): the sections node_facts returned, why some of them are not used, or why there
        are none.

        `arguments` are options of the action assess.
        """
        if self._unanswered:
            return {}, {}, self._unanswered
        module_arguments = options_of_look(arguments, checks, policy)
        seconds = arguments.get("timeout", TIMEOUT_SECONDS)
        try:
            answer = self.call(task_vars, seconds, module_name=NODE_MODULE, module_args=module_arguments)
        except Unanswered as error:
            return {}, {}, str(error)
        except AnsibleConnectionFailure as error:
            return {}, {}, plain_reason(str(error)) or "unreachable: %s" % _short(error)
        except (AnsibleError, RecursionError, ValueError) as error:
            # The last two are raised if the answer of a node is not the JSON of this collection, such as 100,000
            # brackets.
            return {}, {}, plain_reason(str(error)) or "the module could not be run: %s" % _short(error)
        return sections_of(answer, module_arguments["gather_subset"])

    def assessed(self, arguments, task_vars):
        """(the facts of the host, why it was not reached or None) after a whole look, as the action assess makes it;
        `arguments` are options of assess."""
        arguments = dict(arguments, sections=select.judged_again(arguments.get("sections"),
                                                                 task_vars.get("ansible_facts") or {}))
        checks = catalogue.chosen_checks(arguments["sections"], arguments.get("checks"), arguments.get("skip"),
                                         self._policy.checks)
        with bundles.opened(arguments.get("bundle"), self._policy.values) as tree:
            looked = self._settled(dict(arguments, **tree), checks, task_vars)
        return self.judged(looked, checks, self._policy, task_vars, task_vars.get("ansible_facts"),
                           with_evidence=arguments.get("evidence", False)), looked[2]

    def _settled(self, arguments, checks, task_vars):
        """What `look` returns, again while kube-proxy or kubelet is starting and `settle` seconds are not over."""
        until = time.monotonic() + arguments.get("settle", 0)
        while True:
            found = self.look(arguments, checks, self._policy, task_vars)
            left = until - time.monotonic()
            if left <= 0 or not _is_starting(found[0]):
                return found
            time.sleep(min(left, SETTLE_PAUSE))

    def judged(self, looked, checks, policy, task_vars, known, attempts=(), with_evidence=False):
        """The facts of the host, from what `look` returned; `known` are its facts so far, `with_evidence` keeps all
        sections."""
        evidence, problems, reason = looked
        # Sections that this look did not ask for are as the earlier look left them.
        earlier = {row["section"]: row["reason"] for row in (_run.summary_of(known) or {}).get("unusable", ())}
        problems = dict({name: earlier[name] for name in earlier if name not in evidence}, **problems)
        before = _run.findings_of(known)
        return assess.exported(evidence, policy, checks, before, attempts, reason, self._earlier_conntrack(task_vars),
                               problems, self._keeps_all(with_evidence, task_vars),
                               _run.part_of(known, "node_assess_numbers") if before else None,
                               plain(task_vars.get("inventory_hostname")),
                               self.gate(task_vars), self._node(task_vars))

    def _node(self, task_vars):
        """The name of the host in the cluster where it is not that of the inventory, as the playbook repair takes it,
        which also refuses a wrong one."""
        name = self._templated("repair_node_name", task_vars.get("repair_node_name"))
        return plain(name) if isinstance(name, str) else None

    def gate(self, task_vars):
        """The settings of node_gate of the host, with its baseline; a baseline that cannot be used raises BadInput."""
        if self._gate is None:
            settings, report = (policies.role_settings(role, task_vars, self._templated, self._policy.checks)
                                for role in ("node_gate", "node_report"))
            self._gate = dict(settings, baseline=baseline.of_gate(settings, task_vars, report["folder"]))
        return self._gate

    def refuse_wrong_baseline(self, task_vars):
        """Refuses, before anything connects, a baseline of the report that is no host of the play."""
        report = policies.role_settings("node_report", task_vars, self._templated, self._policy.checks)
        play.refuse_stranger("node_report_baseline", report["baseline"], task_vars)

    def place(self, task_vars):
        """The settings of node_assess for a host, by option."""
        return policies.role_settings("node_assess", task_vars, self._templated, self._policy.checks)

    def look_again(self, sections, task_vars, known, attempts=(), every_check=False):
        """The facts of a host after a look at what the checks of these sections need, with the settings of its
        node_assess; `known` are its facts so far. With `every_check` also the checks that the user leaves out are
        judged, since they prove something."""
        place = self.place(task_vars)
        sections = select.judged_again(sections, known)
        chosen = (None, ()) if every_check else (place["checks"], place["skip"])
        checks = catalogue.with_users(catalogue.chosen_checks(sections, *chosen, self._policy.checks),
                                      self._policy.checks, _run.findings_of(known))
        looked = self.look(dict(place, sections=sections), checks, self._policy, task_vars)
        return self.judged(looked, checks, self._policy, task_vars, known, attempts, with_evidence=place["evidence"])

    @staticmethod
    def tell(text, task_vars):
        """Prints one line for people; programs read the result."""
        if play.stdout_is_for_people():
            Display().display(escaped("  %s: %s" % (plain(task_vars.get("inventory_hostname")), text)))

    def _keeps_all(self, with_evidence, task_vars):
        """Whether all sections stay in the facts, from which the report takes its content."""
        return with_evidence or policies.role_settings("node_report", task_vars, templating(self._templar))["evidence"]

    def _earlier_conntrack(self, task_vars):
        """The result of earlier_conntrack() for the report folder of the controller. An unusable report folder gives {}
        here; node_report refuses it."""
        folder = task_vars.get("node_report_folder") or policies.role_defaults("node_report")["node_report_folder"]
        with contextlib.suppress(BadInput, TypeError, ValueError):
            return store.earlier_conntrack(templating(self._templar)("node_report_folder", folder),
                                           plain(task_vars.get("inventory_hostname")))
        return {}


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


def options_of_look(arguments, checks, policy):
    """The options of node_facts for a look at what `checks` need; `arguments` are options of the action assess."""
    options = {name: arguments[name] for name in ("root", "place", "kernel") if arguments.get(name)}
    options["gather_subset"] = (arguments.get("gather_subset")
                                or assess.subsets_of(checks, policy, arguments.get("sections")))
    return dict(options, modules=policy.module_names, hook_directories=policy.values["hook_directories"])


def sections_of(answer, subsets=()):
    """The result of `LookingAction.look`, from the answer of node_facts to a question for these `subsets`."""
    if answer.get("unreachable"):
        return {}, {}, "unreachable: %s" % _message(answer, "msg")
    sections, problems = validate.checked_sections(answer.get("ansible_facts"))
    if answer.get("failed") or not (sections or problems):
        messages = [_message(answer, key) for key in ("msg", "module_stderr", "module_stdout") if answer.get(key)]
        return {}, {}, reason_of(answer) or "the module failed: %s" % (
            "; ".join(messages[:2]) or "it returned nothing")
    problems.update((name, "the node's answer lacks %s" % name)
                    for name in map("node_".__add__, subsets) if name not in sections and name not in problems)
    return sections, problems, None


def _message(answer, key):
    """One text of an answer; a value that is not a text may be of any length."""
    return _short(answer[key]) if isinstance(answer.get(key), str) else "%s is not a text" % key


def _short(text):
    """`text` in one line; the middle of a long text is left out, because a traceback ends with the error."""
    text, part = str(text).strip(), MESSAGE_LIMIT // 2
    words = one_line(text if len(text) <= 8 * part else text[:4 * part] + text[-4 * part:], 20 * part)
    return words if len(words) <= MESSAGE_LIMIT else "%s ... %s" % (words[:part - 5], words[-part:])
