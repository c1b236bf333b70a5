# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.fix: look, mend what the findings of this run allow, and look again."""

import dataclasses

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..module_utils._errors import BadInput
from ..plugin_utils import _run
from ..plugin_utils._answer import documented
from ..plugin_utils._calls.calling import Unanswered
from ..plugin_utils._calls.looking import LookingAction, is_shown_later, options_of_look, sections_of
from ..plugin_utils._checks import catalogue
from ..plugin_utils._fix import calls, migration, outcomes, restarts, select
from ..plugin_utils._fix.calls import Done
from ..plugin_utils._fix.subjects import DISRUPTIVE, NAMES, RESTARTS, SUBJECTS
from ..plugin_utils._plain import plain
from ..plugin_utils._play import play
from ..plugin_utils._policy import policies
from ..plugin_utils._render.text import escaped

_BACKEND = "iptables_backend"


class ActionModule(LookingAction):
    """Decides on the controller, calls the modules over one connection, and looks again at what changed."""

    _supports_async = False
    OPTIONS = {
        "subjects": {"type": "list", "elements": "str", "choices": [
            *NAMES, *(subject.name for subject in RESTARTS)]},
        "up_to": {"type": "str", "choices": ["none", "safe", "guarded", "disruptive"]},
        "state": {"type": "str", "choices": ["present", "absent"]},
        "failure": {"type": "str", "choices": ["fail", "warn"]},
        "timeout": {"type": "int"},
    }

    def work(self, arguments, task_vars):
        self._variables, self._up_to = task_vars, arguments.get("up_to")
        self._refuse_many(arguments)
        self._facts, self._exported = dict(task_vars.get("ansible_facts") or {}), {}
        undoes, failure = arguments.get("state") == "absent", arguments.get("failure") or "fail"
        chosen = self._chosen(arguments.get("subjects") or NAMES)
        if self._up_to and not undoes and self._is_in_order(chosen):
            return calls.skipped("nothing to fix")
        self.read_policy(task_vars)
        self._place = self.place(task_vars)
        settings = {subject.name: self._settings(subject, arguments) for subject in chosen}
        if undoes:
            return self._undone(chosen, settings)
        self._look_first(chosen)
        summary = _run.summary_of(self._facts)
        if not summary or not summary["reached"]:
            return (self._result([], None, failure)
                    if self._exported else calls.skipped("the node was not assessed"))
        if self._up_to and not self._has_work(chosen, settings):
            return calls.skipped("nothing to fix") if not self._exported else self._result([], None, failure)
        if summary["immutable"]:
            return self._left(chosen)
        done = self._rounds(chosen, settings)
        return self._result(done, self._migration(chosen, settings, done), failure)

    def _refuse_many(self, arguments):
        """Refuses to fix one host in the name of others, and what disrupts on more than one host and subject."""
        subjects, batch = arguments.get("subjects"), play.hosts_of(self._variables)[1]
        if subjects == []:
            raise BadInput("subjects is empty; name at least one, or leave it out for all")
        if play.runs_once(self._task) and len(batch) > 1:
            raise BadInput("run_once would fix one of %d hosts; leave it out" % len(batch))
        if self._up_to != "disruptive":
            named = sorted(set(subjects or ()).difference(NAMES))
            if named:
                raise BadInput("%s is restarted with up_to: disruptive only, as the playbook repair does" % named[0])
            return
        if arguments.get("state") == "absent" or len(subjects or ()) != 1 or subjects[0] not in DISRUPTIVE:
            raise BadInput("up_to: disruptive needs exactly one of the subjects %s" % ", ".join(DISRUPTIVE))
        if len(batch) > 1:
            raise BadInput("up_to: disruptive changes one node after the other; set serial: 1 in the play, or run the "
                           "playbook kubenode.netfilter.repair")

    def _is_in_order(self, chosen):
        """Whether this run has judged all that `chosen` mend, which checked the variables too, and found nothing to
        fix: most hosts of a fleet, on most days."""
        summary = _run.summary_of(self._facts)
        judged = {section for subject in chosen for section in subject.judged}
        return bool(summary and (self._up_to == "none" or summary["reached"] and not self._fixable(None)
                                 and all(select.assessed(self._facts, section) for section in judged)))

    def _chosen(self, names):
        """The subjects of these names; of a run with --tags of some roles, those of these roles, and of a run with
        --tags of report and gate alone, none."""
        chosen = [subject for subject in (*SUBJECTS, *RESTARTS) if subject.name in names]
        tags = set(plain(self._variables.get("ansible_run_tags") or ["all"]))
        if self._up_to == "none":
            return []
        # Without up_to a role runs in a user's play, whose tags select tasks and not subjects.
        if not self._up_to or self._up_to == "disruptive" or tags & {"all", "fix", "tagged"}:
            return chosen
        named = [subject for subject in chosen if subject.role in tags]
        return named if named or tags <= policies.PLAYBOOK_TAGS else chosen

    def _settings(self, subject, arguments):
        """The variables of a subject's role. Without up_to, harden_iptables_backend_target is also the backend to judge
        by."""
        if subject in RESTARTS:
            return {} if arguments.get("timeout") is None else {"timeout": arguments["timeout"]}
        settings = policies.role_settings(subject.role, self._variables, self._templated)
        if subject.name == _BACKEND:
            if settings["target"] == "auto":
                settings["target"] = self._policy.values["iptables_backend"]
            if not self._up_to:
                self._policy = dataclasses.replace(self._policy, values=dict(self._policy.values,
                                                                             iptables_backend=settings["target"]))
        return dict(settings, hook_directories=self._policy.values["hook_directories"])

    def _has_work(self, chosen, settings):
        if self._up_to == "disruptive":
            return any(subject.work(self._facts, settings[subject.name], self._up_to).options for subject in chosen)
        return bool(chosen and self._fixable(None))

    def _fixable(self, role):
        place = _run.summary_of(self._facts)["place"]
        return select.fixable(_run.findings_of(self._facts) or [], self._up_to or "disruptive", role, place)

    def _look_first(self, chosen):
        """Assesses a host that this run has not assessed; of one that it has, judges the sections of `chosen` that it
        has not judged, within the sections in node_assess_sections."""
        within, summary = self._place["sections"], _run.summary_of(self._facts)
        if not summary:
            self._assess()
            return
        if not summary["reached"]:
            return
        sections = {section for subject in chosen for section in subject.judged
                    if not select.assessed(self._facts, section)}
        # What node_assess_checks and node_assess_skip leave out as a whole has nothing to be judged.
        sections = sorted(section for section in sections if (not within or section in within)
                          and self._checks([section]))
        if sections:
            self._look_at(sections)

    def _assess(self):
        if self._place["bundle"] is not None:
            raise BadInput("node_assess_bundle is set, but a bundle cannot be fixed; judge it with the playbook "
                           "kubenode.netfilter.bundle")
        if self._variables.get("__node_policy_playbook"):
            self.refuse_wrong_baseline(self._variables)
        # An empty root is the node itself and an empty kernel the running one.
        arguments = {name: value for name, value in self._place.items() if value or name not in ("root", "kernel")}
        self._export(self.assessed(arguments, self._variables)[0])

    def _checks(self, sections):
        return catalogue.chosen_checks(sections, self._place["checks"], self._place["skip"], self._policy.checks)

    def _look_at(self, sections):
        place, checks = self._look_of(sections)
        self._judge(self.look(place, checks, self._policy, self._variables), checks)

    def _look_of(self, sections):
        """(the options of assess, the checks) of a look at the evidence of these sections."""
        sections = select.judged_again(sections, self._facts)
        checks = catalogue.with_users(self._checks(sections), self._policy.checks, _run.findings_of(self._facts))
        return dict(self._place, sections=sections), checks

    def _judge(self, looked, checks):
        self._export(self.judged(looked, checks, self._policy, self._variables, self._facts,
                                 with_evidence=self._place["evidence"]))

    def _export(self, facts):
        self._facts.update(facts)
        self._exported.update(facts)

    def _rounds(self, chosen, settings):
        """Calls the modules and records the outcomes of the findings; repeats once where a change allows another
        section to be judged."""
        done = self._round(chosen, settings)
        if self._task.check_mode or not _run.summary_of(self._facts)["reached"]:
            return done
        again = [subject for subject in chosen if calls.is_stale_by_others(subject, done)]
        return done + self._round(again, settings) if again else done

    def _round(self, chosen, settings):
        works = [(subject, subject.work(self._facts, settings[subject.name], self._up_to)) for subject in chosen
                 if not self._up_to or select.assessed(self._facts, subject.judged[0])]
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
        return sorted(section for section in set(sections) if select.assessed(self._facts, section))

    def _judged_result(self, subject, settings, findings, result):
        if (subject.name == _BACKEND and self._up_to == "disruptive"
                and migration.due(self._facts, settings["target"], result)):
            return Done(subject, result, [], [])  # The migration decides the outcome of the findings.
        return Done(subject, result, findings, subject.refusals(result, findings))

    def _called(self, state, work, stale=()):
        """(the documented part of the answers of the modules of `work`, [(subject, options)], the look at the sections
        `stale` afterwards or None). All is one call: the connection and the start of Python cost more than most
        changes."""
        tree = {"root": self._place["root"]} if self._place["root"] else {}
        given = [(subject.module, dict(options, place=self._place["place"], **(
            {} if subject in RESTARTS else dict(tree, state=state)))) for subject, options in work]
        names, looked = [name for name, _options in given], None
        if restarts.MODULE not in names and (len(given) > 1 or (given and stale)):
            look = self._look_options(stale) if stale else None
            answer = self._answer(calls.MODULE, calls.arguments_of(given, look))
            answers = calls.answers_of(answer, names)
            looked = self._sections_of(answer, look) if look else None  # A node can answer more than it was asked for.
        else:
            answers = [self._answer(name, options) for name, options in given]
        return [documented.documented_part(answer, name) for name, answer in zip(names, answers)], looked

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
        stale = self._assessed(section for each in done for section in each.subject.stale if calls.touched(each))
        if stale and not looked and (self._unanswered or not self._task.check_mode):
            self._look_at(stale)
        findings = _run.findings_of(self._facts)
        for each in done:
            findings = outcomes.recorded(each.findings, findings, each.refusals, self._task.check_mode,
                                         each.result["changed"])
        if done:
            self._export(calls.with_findings(self._facts, findings))

    def _left(self, chosen):
        """An immutable host stays as it is; its findings say so."""
        host = _run.section_of(self._facts, "node_host") or {}
        reason = calls.IMMUTABLE % host.get("immutable_by")
        keys = {(row["check"], row["subject"]) for subject in chosen for row in self._fixable(subject.role)}
        findings = [outcomes.refused(row, reason) if (row["check"], row["subject"]) in keys else row
                    for row in _run.findings_of(self._facts)]
        self._export(calls.with_findings(self._facts, findings))
        self.tell(reason, self._variables)
        return dict(calls.of_task([], None, self._exported), msg=escaped(reason))

    def _migration(self, chosen, settings, done):
        """The migration that is due, for the playbook repair; otherwise None."""
        if self._up_to != "disruptive" or not _run.summary_of(self._facts)["reached"]:
            return None
        result = next((each.result for each in done if each.subject.name == _BACKEND), None)
        return migration.due(self._facts, settings[_BACKEND]["target"], result) if result else None

    def _undone(self, chosen, settings):
        """Puts back what the modules changed, in the opposite order."""
        work = [(subject, subject.undo(settings[subject.name])) for subject in reversed(chosen)]
        done = [Done(subject, result, [], subject.refusals(result, []))
                for (subject, _options), result in zip(work, self._called("absent", work)[0])]
        return self._result(done, None, "fail")

    def _result(self, done, due, failure):
        """The result of the task, which fails where a change failed or a restart is not proved, unless `failure` is
        warn."""
        result = calls.of_task(done, due, self._exported)
        changes = [change for each in done for change in each.subject.changes(each.result) if each.result["changed"]]
        check_mode = self._task.check_mode
        if due and check_mode:
            changes.append("migrate to the backend %s, with a reboot" % due["backend"])
        if changes:
            self.tell("%s: %s" % ("would change" if check_mode else "changed", ", ".join(dict.fromkeys(changes))),
                      self._variables)
        reasons = calls.reasons_to_fail(done, _run.summary_of(self._facts),
                                        plain(self._variables.get("inventory_hostname")))
        if not check_mode and not reasons:
            reasons = [restarts.UNPROVED[each.subject.name] for each in done if each.subject in RESTARTS
                       and not restarts.is_proved(self._facts, each.subject.name)]
        result["failures"] = [escaped(reason) for reason in reasons]
        if reasons:
            result["msg"] = "; ".join(result["failures"])
            if failure == "fail":
                result["failed"] = True
            elif done or not (self._variables.get("__node_policy_playbook") and is_shown_later(self._variables)):
                # A host that was not reached at all is shown by the report and the gate of the playbook.
                self.tell(result["msg"], self._variables)
        return result
