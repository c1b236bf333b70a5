# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.gate: fail a host whose findings do not pass."""

import os

from ..module_utils._errors import BadInput
from ..plugin_utils import _finding, _run
from ..plugin_utils._calls.action import Action, Failed
from ..plugin_utils._causes.verdict import UNKNOWN, causes_in, known_of, not_assessed, sentence, verdict_of
from ..plugin_utils._checks import catalogue, verdict
from ..plugin_utils._checks.verdict import checks_of
from ..plugin_utils._fix.select import facts_of
from ..plugin_utils._plain import plain
from ..plugin_utils._play import play
from ..plugin_utils._play.play import templating
from ..plugin_utils._policy import limits, policies
from ..plugin_utils._render.text import READ_ONE_BY_ONE, escaped
from ..plugin_utils._runs import baseline, store

_WEIGHING = "severity", "unknown", "unreached", "waived", "classes"
_WEIGHT = {"type": "str", "choices": list(verdict.LEVELS)}


class ActionModule(Action):
    """Runs for each host, on the controller alone, so that a host that does not pass fails and no other."""

    _requires_connection = False
    OPTIONS = {
        "mode": {"type": "str", "choices": ["fail", "warn", "never"]},
        "severity": {"type": "str", "choices": list(_finding.SEVERITIES)},
        "unknown": _WEIGHT,
        "unreached": _WEIGHT,
        "waived": _WEIGHT,
        "classes": {"type": "list", "elements": "str", "choices": list(catalogue.FIX_CLASSES)},
        "baseline": {"type": "str"},
        "baseline_expires": {"type": "str"},
        "baseline_owner": {"type": "str"},
        "folder": {"type": "str"},
    }

    def work(self, arguments, task_vars):
        of_role, of_report = (policies.role_settings(role, task_vars, templating(self._templar))
                              for role in ("node_gate", "node_report"))
        options = dict(of_role, **{name: value for name, value in arguments.items() if value is not None})
        for name in ("classes", "baseline_expires"):
            limits.refuse_wrong_value("node_gate_" + name, options[name], name)
        host, batch = plain(task_vars.get("inventory_hostname")), play.hosts_of(task_vars)[1]
        if play.runs_once(self._task) and len(batch) > 1:
            raise BadInput("run_once would judge one of %d hosts; leave it out" % len(batch))
        facts = facts_of(task_vars.get("ansible_facts") or {})
        options["baseline"] = kept = baseline.of_gate(options, task_vars, of_report["folder"])
        findings, causes = _run.findings_of(facts) or [], causes_in(facts)
        levels = verdict.weighed(facts, *(options[name] for name in _WEIGHING), known_of(findings, causes, options))[0]
        judged = _verdict(facts, options)
        blocked = bool(levels["fail"].findings or levels["fail"].reason)
        gate = {"blocked": blocked, "state": judged["state"], "checks": checks_of(levels["fail"].findings)}
        if kept:
            gate.update(known=judged["known"], mended=kept.mended(findings))
        report = _report_of(options.get("folder"), host)
        if report:
            gate["report"] = report
        verdict_line = escaped(sentence(host, judged))
        if blocked and options["mode"] == "fail":
            # Ansible prints the result of a host that fails, so it is short; the report has the rest.
            raise Failed(verdict_line, result={"changed": False, "gate": gate})
        gate["warned"] = checks_of(levels["warn"].findings)
        result = {"changed": False, "gate": gate, "msg": "" if options["mode"] == "never" else verdict_line}
        if options["mode"] != "never":
            if options.get("folder") and len(play.hosts_of(task_vars)[0]) > READ_ONE_BY_ONE:
                # The report of the run names the hosts. Ansible prints a text once where it is the same for all.
                verdict_line, prefix = escaped(sentence("a host", judged)), ""
            else:
                prefix = escaped(host) + ": "
            unsaid = verdict.sentences(_without_unknown(levels["warn"]) if judged["state"] == UNKNOWN
                                       else levels["warn"])
            unsaid += [kept.ending] if kept and kept.ending else []
            shown = blocked or judged["state"] == UNKNOWN and levels["warn"].findings
            result["warnings"] = [verdict_line] * bool(shown) + [prefix + escaped(text) for text in unsaid]
        return result


def _verdict(facts, options):
    """The verdict by the options of this task, also where it was assessed with others."""
    summary = _run.summary_of(facts)
    if not summary:
        return not_assessed(options)
    return verdict_of(summary, _run.findings_of(facts), causes_in(facts), options,
                      _run.user_checks_of(facts))


def _without_unknown(level):
    """The same level without what the verdict has already."""
    return level._replace(findings=[row for row in level.findings if row["status"] != _finding.UNKNOWN], below=())


def _report_of(folder, host):
    """The file of the host in a report folder, or None where there is no folder or no file."""
    path = store.node_path(folder, host) if folder else None
    return path if path and os.path.isfile(path) else None
