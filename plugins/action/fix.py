# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.fix: mend what the findings of this run allow, and look again."""

import dataclasses

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..module_utils._errors import BadInput
from ..plugin_utils import _answer, _kept, _play, _policy, _run, _select, _selection
from ..plugin_utils._calling import Unanswered
from ..plugin_utils._fix import calls, iptables_backend, outcomes, results, turns
from ..plugin_utils._fix.results import Done
from ..plugin_utils._fix.subjects import NAMES, SUBJECTS
from ..plugin_utils._looking import LookingAction, options_of_look, sections_of
from ..plugin_utils._plain import plain
from ..plugin_utils._render.text import escaped

_BACKEND, _HOOKS, _KUBE_PROXY = "iptables_backend", "flush_hooks", "kube_proxy"


class ActionModule(LookingAction):
    """Decides on the controller, calls the modules over one connection, and looks again at what changed."""

    _supports_async = False
    OPTIONS = {
        "subjects": {"type": "list", "elements": "str", "choices": list(NAMES)},
        "up_to": {"type": "str", "choices": ["none", "safe", "guarded", "disruptive"]},
        "state": {"type": "str", "choices": ["present", "absent"]},
        "failure": {"type": "str", "choices": ["fail", "warn"]},
    }

    def work(self, arguments, task_vars):
        if arguments.get("subjects") == []:
            raise BadInput("subjects is empty; name at least one, or leave it out for all")
        self._variables, self._up_to = task_vars, arguments.get("up_to")
        self._facts, self._exported = dict(_kept.unpacked(task_vars.get("ansible_facts") or {})), {}
        if self._up_to == "none":
            return self._skipped("up_to: none")
        undoes = arguments.get("state") == "absent"
        failure = arguments.get("failure") or ("warn" if task_vars.get("__node_gate_follows") else "fail")
        if self._up_to and not undoes and self._is_in_order(arguments.get("subjects") or NAMES):
            return self._skipped("nothing to fix")
        self.read_policy(task_vars)
        self._place = self.place(task_vars)
        chosen = self._chosen(arguments.get("subjects") or NAMES)
        settings = {subject.name: self._settings(subject) for subject in chosen}
        if undoes:
            return self._undone(chosen, settings)
        self._look_first(chosen)
        summary = _run.summary_of(self._facts)
        if not summary or not summary["reached"]:
            return (self._result([], [], failure)
                    if self._exported else self._skipped("the node was not assessed"))
        if self._up_to and not self._fixable(None):
            return self._skipped("nothing to fix") if not self._exported else self._result([], [], failure)
        alone, batch = _play.runs_once(self._task), _play.hosts_of(task_vars)[1]
        if alone and len(batch) > 1:
            raise BadInput("run_once would fix one of %d hosts; leave it out where a host has something to fix"
                           % len(batch))
        if summary["immutable"]:
            return self._left(chosen)
        done = self._rounds(chosen, settings)
        return self._result(done, self._turns(chosen, settings, done), failure)

    def _skipped(self, reason):
        return dict(results.skipped(reason), for_all=_play.runs_once(self._task))

    def _is_in_order(self, names):
        """Whether this run has judged all that `names` mend, which checked the variables too, and found nothing to
        fix: most hosts of a fleet, on most days."""
        summary = _run.summary_of(self._facts)
        judged = {section for subject in self._chosen(names) for section in subject.judged}
        return bool(summary and summary["reached"] and not self._fixable(None)
                    and all(_select.assessed(self._facts, section) for section in judged))

    def _chosen(self, names):
        """The subjects of these names; of a run with --tags of some roles, those of these roles."""
        tags = set(plain(self._variables.get("ansible_run_tags") or ["all"]))
        named = [subject for subject in SUBJECTS if subject.role in tags]
        # Without up_to a role runs in a user's play, whose tags select tasks and not subjects.
        within = named if self._up_to and named and not tags & {"all", "fix", "tagged"} else SUBJECTS
        return [subject for subject in within if subject.name in names]

    def _settings(self, subject):
        """The variables of a subject's role. Without up_to, harden_iptables_backend_target is also the backend to judge
        by."""
        settings = _policy.role_settings(subject.role, self._variables, self._templated)
        if subject.name == _BACKEND:
            if settings["target"] == "auto":
                settings["target"] = self._policy.values["iptables_backend"]
            if not self._up_to:
                self._policy = dataclasses.replace(self._policy, values=dict(self._policy.values,
                                                                             iptables_backend=settings["target"]))
        return dict(settings, hook_directories=self._policy.values["hook_directories"])

    def _fixable(self, role):
        place = _run.summary_of(self._facts)["place"]
        return _select.fixable(_run.findings_of(self._facts) or [], self._up_to or "disruptive", role, place)

    def _look_first(self, chosen):
        """Judges the sections that this run has not judged, of the sections in node_assess_sections."""
        within, summary = self._place["sections"], _run.summary_of(self._facts)
        if summary and not summary["reached"]:
            return
        sections = {section for subject in chosen for section in subject.judged
                    if not _select.assessed(self._facts, section)}
        # What node_assess_checks and node_assess_skip leave out as a whole has nothing to be judged.
        sections = sorted(section for section in sections if (not within or section in within) and (
            not summary or self._checks([section])))
        if sections:
            self._look_at(sections)

    def _checks(self, sections):
        return _selection.chosen_checks(sections, self._place["checks"], self._place["skip"], self._policy.checks)

    def _look_at(self, sections):
        place, checks = self._look_of(sections)
        self._judge(self.look(place, checks, self._policy, self._variables), checks)

    def _look_of(self, sections):
        """(the options of assess, the checks) of a look at the evidence of these sections."""
        sections = _select.judged_again(sections, self._facts)
        checks = _selection.with_users(self._checks(sections), self._policy.checks, _run.findings_of(self._facts))
        return dict(self._place, sections=sections), checks

    def _judge(self, looked, checks):
        self._export(self.judged(looked, checks, self._policy, self._variables, self._facts,
                                 with_evidence=self._place["evidence"]))

    def _export(self, facts):
        self._facts.update(facts)
        self._exported.update(facts)

    def _returned(self):
        """The facts of the task, none where nothing was looked at or recorded."""
        return (self.facts_of_task(self._exported, self._variables, self._place["evidence"])
                if self._exported else {})

    def _rounds(self, chosen, settings):
        """Calls the modules and records the outcomes of the findings; repeats once where a change allows another
        section to be judged."""
        done = self._round(chosen, settings)
        if self._task.check_mode or not _run.summary_of(self._facts)["reached"]:
            return done
        again = [subject for subject in chosen if results.is_stale_by_others(subject, done)]
        return done + self._round(again, settings) if again else done

    def _round(self, chosen, settings):
        works = [(subject, subject.work(self._facts, settings[subject.name], self._up_to)) for subject in chosen
                 if not self._up_to or _select.assessed(self._facts, subject.judged[0])]
        works = [(subject, work) for subject, work in works if work.options]
        stale = [] if self._task.check_mode else self._assessed(
            section for subject, _work in works for section in subject.stale)
        called, looked = self._called("present", [(subject, work.options) for subject, work in works], stale)
        done = [self._judged_result(subject, settings[subject.name], work.findings, result)
                for (subject, work), result in zip(works, called)]
        if looked:
            self._judge(looked, self._look_of(stale)[1])
        self._record(done, bool(looked))
        return done

    def _assessed(self, sections):
        return sorted(section for section in set(sections) if _select.assessed(self._facts, section))

    def _judged_result(self, subject, settings, findings, result):
        if subject.name == _BACKEND and turns.of_backend(self._facts, settings, result):
            return Done(subject, result, [], [])  # Its turn decides the outcome of the findings.
        return Done(subject, result, findings, subject.refusals(result, findings))

    def _called(self, state, work, stale=()):
        """(the documented part of the answers of the modules of `work`, [(subject, options)], the look at the sections
        `stale` afterwards or None). All is one call: the connection and the start of Python cost more than most
        changes."""
        tree = {"root": self._place["root"]} if self._place["root"] else {}
        given = [(subject.name, dict(options, state=state, place=self._place["place"], **tree))
                 for subject, options in work]
        names, looked = [name for name, _options in given], None
        if len(given) > 1 or (given and stale):
            look = self._look_options(stale) if stale else None
            answer = self._answer(calls.MODULE, calls.arguments_of(given, look))
            answers = calls.answers_of(answer, names)
            looked = self._sections_of(answer, look) if look else None  # A node can answer more than it was asked for.
        else:
            answers = [self._answer(name, options) for name, options in given]
        return [_answer.documented_part(answer, name) for name, answer in zip(names, answers)], looked

    def _look_options(self, sections):
        place, checks = self._look_of(sections)
        options = options_of_look(place, checks, self._policy)
        return dict(options, timeout=place["timeout"])

    @staticmethod
    def _sections_of(answer, options):
        """What `look` returns, from a call that looked with these options too; None where it did not, or not at
        anything that can be read."""
        looked = sections_of({"ansible_facts": calls.looked_of(answer)}, options["gather_subset"])
        return looked if looked[0] and not answer.get("unreachable") else None

    def _answer(self, name, arguments):
        """What a module of this collection answers, not validated yet; a failed result where it does not answer."""
        try:
            return self.call(self._variables, module_name="kubenode.netfilter.%s" % name, module_args=arguments)
        except AnsibleConnectionFailure as error:
            self._unanswered = str(error) if isinstance(error, Unanswered) else None
            return {"unreachable": True, "msg": str(error)}
        except (AnsibleError, RecursionError, ValueError) as error:
            # The last two are what reading an answer raises that is no JSON, such as 100,000 brackets.
            return {"failed": True, "msg": str(error)}

    def _record(self, done, looked):
        """Looks again at what changed, where the changes did not, and writes the outcomes into the findings."""
        stale = self._assessed(section for each in done for section in each.subject.stale if results.touched(each))
        if stale and not looked and (self._unanswered or not self._task.check_mode):
            self._look_at(stale)
        findings = _run.findings_of(self._facts)
        for each in done:
            findings = outcomes.recorded(each.findings, findings, each.refusals, self._task.check_mode,
                                         each.result["changed"])
        if done:
            self._export(results.with_findings(self._facts, findings))

    def _left(self, chosen):
        """An immutable host stays as it is; its findings say so."""
        host = _run.section_of(self._facts, "node_host") or {}
        reason = results.IMMUTABLE % host.get("immutable_by")
        keys = {(row["check"], row["subject"]) for subject in chosen for row in self._fixable(subject.role)}
        findings = [outcomes.refused(row, reason) if (row["check"], row["subject"]) in keys else row
                    for row in _run.findings_of(self._facts)]
        self._export(results.with_findings(self._facts, findings))
        self.tell(reason, self._variables)
        return dict(results.of_task([], [], self._returned()), msg=escaped(reason))

    def _turns(self, chosen, settings, done):
        due, names = [], [subject.name for subject in chosen]
        if not _run.summary_of(self._facts)["reached"]:
            return due
        if _BACKEND in names and self._up_to in (None, "disruptive") and (not self._up_to
                                                                          or self._fixable(iptables_backend.ROLE)):
            result = next((each.result for each in done if each.subject.name == _BACKEND), None)
            due += turns.of_backend(self._facts, settings[_BACKEND], result)
        if _HOOKS in names and (settings[_HOOKS]["restart_kubelet"]
                                if self._up_to is None else self._up_to == "disruptive"):
            due += turns.of_restart(self._facts, turns.RESTART_KUBELET)
        if _KUBE_PROXY in names and settings[_KUBE_PROXY]["restart"] and self._up_to in (None, "disruptive"):
            due += turns.of_restart(self._facts, turns.RESTART_KUBE_PROXY)
        return due

    def _undone(self, chosen, settings):
        """Puts back what the modules changed, in the opposite order."""
        done, due = [], []
        work = [(subject, subject.undo(settings[subject.name])) for subject in reversed(chosen) if subject.undo]
        for (subject, _options), result in zip(work, self._called("absent", work)[0]):
            if result.get("live_rules") and settings[subject.name]["migrate"]:
                due.append(turns.MIGRATE)
            migrates = subject.name == _BACKEND and due
            done.append(Done(subject, result, [], [] if migrates else subject.refusals(result, [])))
        return self._result(done, due, "fail")

    def _result(self, done, due, failure):
        """The result of the task, which fails where a change failed and no gate follows."""
        result = results.of_task(done, due, self._returned())
        changes = [change for each in done for change in each.subject.changes(each.result) if each.result["changed"]]
        if changes:
            self.tell("%s: %s" % ("would change" if self._task.check_mode else "changed",
                                  ", ".join(dict.fromkeys(changes))), self._variables)
        reasons = results.reasons_to_fail(done, _run.summary_of(self._facts),
                                          plain(self._variables.get("inventory_hostname")))
        result["failures"] = [escaped(reason) for reason in reasons]
        if reasons:
            result["msg"] = "; ".join(result["failures"])
            if failure == "warn":
                self.tell(result["msg"], self._variables)
            else:
                result["failed"] = True
        return result
