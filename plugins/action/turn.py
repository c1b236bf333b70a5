# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.turn: what a role decides about a change that one node makes after the other."""

import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..module_utils._errors import BadInput
from ..plugin_utils import _cordon, _kept, _play, _policy, _run
from ..plugin_utils._answer import documented_part
from ..plugin_utils._calling import UNANSWERED, Unanswered
from ..plugin_utils._fix import turns
from ..plugin_utils._looking import LookingAction, sections_of
from ..plugin_utils._plain import plain
from ..plugin_utils._render.text import escaped

PAUSE_SECONDS = 5
PENDING = ("reboot pending: nothing is switched on a node with live rules unless harden_iptables_backend_reboot allows "
           "its reboot")
_LOST = "the node became unreachable"


class ActionModule(LookingAction):
    """The change itself is a task between the steps, which people see in the output."""

    _supports_async = False
    OPTIONS = {
        "change": {"type": "str", "required": True, "choices": list(turns.TURNS)},
        "step": {"type": "str", "choices": ["begin", "verify", "failed"]},
        "answer": {"type": "dict"},
        "result": {"type": "dict"},
    }

    def work(self, arguments, task_vars):
        self._refuse_without_lockstep(task_vars)
        self.read_policy(task_vars)
        self._variables, self._turn = task_vars, turns.TURNS[arguments["change"]]
        self._settings = _policy.role_settings(self._turn.role, task_vars, self._templated)
        self._place = self.place(task_vars)
        self._facts, self._exported = _kept.unpacked(task_vars.get("ansible_facts") or {}), {}
        step = {"verify": self._verify, "failed": self._failed}.get(arguments.get("step"), self._begin)
        result = dict({"changed": False, "begins": False, "doubt": "", "failure": ""}, **step(
            arguments["change"], arguments))
        if self._exported:
            result["ansible_facts"] = self.facts_of_task(self._exported, task_vars, self._place["evidence"])
        return result

    def _refuse_without_lockstep(self, task_vars):
        strategy, batch = _play.strategy_of(self._task), _play.hosts_of(task_vars)[1]
        if _play.is_free(strategy) and len(batch) > 1:
            raise BadInput("The nodes are changed one after the other, which strategy %s does not support; "
                           "set strategy: linear or serial: 1 in the play" % strategy)

    def _begin(self, change, arguments):
        """Whether the node is changed now. The turns of other nodes take minutes, so a restart that may not be needed
        any more is decided by a new look."""
        restarts = change in turns.RESTARTS
        if restarts and not turns.of_restart(self._facts, change):
            return {}
        doubt = self._doubt(change, arguments)
        if restarts and not doubt:
            self._look()
            lost = self._lost()
            if lost or not turns.of_restart(self._facts, change):
                return self._left(lost, restarts) if lost else {}
        if change == turns.MIGRATE and (doubt or not self._settings["reboot"]):
            doubt = self._not_migrated(doubt)
        return self._left(doubt, restarts) if doubt else dict(self._given(change), begins=True)

    def _given(self, change):
        """What the task that changes the node takes."""
        if change == turns.RESTART_KUBELET:
            return {"unit": self._unit()}
        if change == turns.MIGRATE:
            return {"backend": self._backend(), "before": _run.section_of(self._facts, "node_iptables_backend") or {}}
        return {}

    def _unit(self):
        return ((_run.section_of(self._facts, "node_kubelet") or {}).get("unit") or {}).get("name")

    def _backend(self):
        """The backend to switch to; auto lets the module decide, and is all that an undo knows."""
        target = self._settings["target"]
        if self._settings["state"] == "absent":
            return "auto"
        return self._policy.values["iptables_backend"] if target == "auto" else target

    def _doubt(self, change, arguments):
        """Why the node is not changed, as a sentence; empty where it may be."""
        ended = turns.ended(self._variables)
        if ended:
            return ended
        if change == turns.RESTART_KUBELET and not self._unit():
            kubelet = _run.section_of(self._facts, "node_kubelet") or {}
            families = (kubelet.get("initialisation") or {}).get("families") or [{}]
            return "no systemd unit runs kubelet here: %s" % (families[0].get("restart") or "restart it by hand")
        return self._cordon_doubt(arguments) if change == turns.MIGRATE else ""

    def _cordon_doubt(self, arguments):
        node = self._settings["node_name"]
        if self._settings["kubectl_host"]:
            answer = arguments.get("answer") or {}
            return plain(answer["doubt"]) if isinstance(answer.get("doubt"), str) else _cordon.UNANSWERED % node
        return "" if self._settings["cordoned"] else _cordon.UNCONFIRMED % node

    def _not_migrated(self, doubt):
        """Records in the finding why the node is not migrated."""
        reason = "the node is not migrated: %s" % doubt if doubt else self._refused() or PENDING
        self._look(["BACKEND"], reason)
        return self._lost() or reason

    def _refused(self):
        """Why the programs could not be switched at all, whether or not the node may be rebooted."""
        options = {"state": self._settings["state"], "backend": self._backend(), "live": True,
                   "place": self._place["place"]}
        self._task.check_mode = True
        try:
            answer = self.call(self._variables, module_name="kubenode.netfilter.iptables_backend", module_args=options)
        except AnsibleConnectionFailure as error:
            self._unanswered = str(error) if isinstance(error, Unanswered) else None
            return self._unanswered or _LOST
        except (AnsibleError, RecursionError, ValueError) as error:
            # The last two are what reading an answer raises that is no JSON.
            answer = {"failed": True, "msg": str(error)}
        answer = documented_part(answer, "iptables_backend")
        return answer.get("refused") or (turns.reason_of(answer) if answer.get("failed") else None)

    def _left(self, doubt, restarts=False):
        """The node is left as it is. The role fails it where no gate follows, which would decide about the host; the
        task itself does not, since Ansible drops the findings of a task that fails."""
        if self._variables.get("__node_gate_follows") or (restarts and self._task.check_mode):
            self.tell(doubt, self._variables)
            return {"doubt": escaped(doubt)}
        return {"doubt": escaped(doubt), "failure": escaped(doubt)}

    def _verify(self, change, arguments):
        """Looks again and judges, once a restarted program has had the time to write its rules."""
        result = arguments.get("result") or {}
        if result.get("unreachable"):
            # ansible-core puts words before the message of an error.
            _before, hangs, more = str(result.get("msg") or "").partition(UNANSWERED)
            return self._not_proved("%s, so it is not known what became of %s" % (hangs + more or _LOST,
                                                                                  self._turn.what))
        refused = result.get("refused")
        if refused and change == turns.RESTART_KUBE_PROXY:
            # Nothing was restarted, so nothing is known that speaks against the restart of other nodes.
            return dict(self._not_proved("kube-proxy was not restarted: %s" % refused), spares_others=True)
        if self._task.check_mode:
            return {}
        waited = self._wait(change) if change in turns.RESTARTS else None
        if waited:
            return self._not_proved(waited)
        failure = escaped(self._turn.failed % refused) if refused else ""
        self._look(attempt=failure)
        if self._lost():
            return self._not_proved(self._lost())
        if not turns.is_done(self._facts, change):
            return self._not_proved(self._turn.unproved)
        return {"failure": "" if self._variables.get("__node_gate_follows") else failure}

    @staticmethod
    def _not_proved(sentence):
        """Fails the task, so that the role goes on with the step `failed`."""
        return {"failed": True, "msg": escaped(sentence), "failure": escaped(sentence), "spares_others": False}

    def _wait(self, change):
        """Waits until a restarted program is ready to be judged; returns why it is not, or None."""
        waiting = turns.RESTARTS[change]
        seconds = max(self._settings["restart_timeout"], waiting.least_seconds)
        until = time.monotonic() + seconds
        while True:
            answer = self._answer(waiting.section, max(1, until - time.monotonic()))
            if answer.get("unreachable"):
                return _LOST
            section = sections_of(answer)[0].get("node_" + waiting.section)
            if section and waiting.is_ready(section):
                return None
            if time.monotonic() >= until:
                return waiting.overdue % seconds
            time.sleep(PAUSE_SECONDS)

    def _answer(self, section, seconds):
        """What a look at one section answers within `seconds`, or {}: the next look comes soon."""
        try:
            return self.call(self._variables, seconds, module_name="kubenode.netfilter.node_facts",
                             module_args={"place": self._place["place"], "gather_subset": [section]})
        except Unanswered:
            return {}
        except AnsibleConnectionFailure:
            return {"unreachable": True}
        except (AnsibleError, RecursionError, ValueError):
            return {}

    def _failed(self, change, arguments):
        """Records the failed attempt in the finding."""
        result = arguments.get("result") or {}
        failure = result.get("failure") or self._turn.failed % turns.reason_of(result)
        self._unanswered = failure if failure.startswith(UNANSWERED) else None
        self._look(attempt=failure)
        spared = result.get("spares_others") is True
        return {"failure": escaped(failure if spared else "%s; %s" % (failure, turns.ENDED))}

    def _look(self, sections=None, attempt=None):
        attempts = [{"part": self._turn.part, "text": attempt}] if attempt else ()
        facts = self.look_again(sections or self._turn.sections, self._variables, self._facts, attempts)
        self._exported.update(facts)
        self._facts = dict(self._facts, **facts)

    def _lost(self):
        """Why the look did not reach the node, None where it did."""
        summary = _run.summary_of(self._facts)
        if summary and summary["reached"]:
            return None
        return "the node was not assessed: %s" % ((summary or {}).get("reason") or "no reason was given")
