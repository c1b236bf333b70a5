# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.gate: fail a host whose findings do not pass."""

import os

from ..module_utils._errors import BadInput
from ..plugin_utils import _finding
from ..plugin_utils._calls.action import Action
from ..plugin_utils._checks import catalogue, verdict
from ..plugin_utils._plain import plain
from ..plugin_utils._play import play
from ..plugin_utils._play.templating import templating
from ..plugin_utils._policy import limits, policies
from ..plugin_utils._render.text import READ_ONE_BY_ONE, escaped
from ..plugin_utils._runs import store

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
        "folder": {"type": "str"},
    }

    def work(self, arguments, task_vars):
        options = dict(policies.role_settings("node_gate", task_vars, templating(self._templar)),
                       **{name: value for name, value in arguments.items() if value is not None})
        limits.refuse_wrong_value("node_gate_classes", options["classes"], "classes")
        host, batch = plain(task_vars.get("inventory_hostname")), play.hosts_of(task_vars)[1]
        if play.runs_once(self._task) and len(batch) > 1:
            raise BadInput("run_once would judge one of %d hosts; leave it out" % len(batch))
        levels, counts = verdict.weighed(task_vars.get("ansible_facts") or {}, options["severity"], options["unknown"],
                                         options["unreached"], options["waived"], options["classes"])
        blocked = bool(levels["fail"].findings or levels["fail"].reason)
        sentence = verdict.not_fit(levels["fail"],
                                   _report_of(options.get("folder"), host)) if blocked else verdict.fit(counts)
        result = {"changed": False, "blocked": blocked,
                  "blocking": [escaped(text) for text in verdict.sentences(levels["fail"])],
                  "msg": "" if options["mode"] == "never" else escaped(sentence)}
        if blocked and options["mode"] == "fail":
            # A host that fails lists only the findings that block it, without the warnings.
            return dict(result, failed=True)
        result["warned"] = [escaped(text) for text in verdict.sentences(levels["warn"])]
        if options["mode"] != "never":
            if options.get("folder") and len(play.hosts_of(task_vars)[0]) > READ_ONE_BY_ONE:
                # The report of the run names the hosts. Ansible prints a text once where it is the same for all.
                why = [escaped(verdict.not_fit(levels["fail"]))] * blocked
                result["warnings"] = why + result["warned"]
            else:
                result["warnings"] = ["%s: %s" % (escaped(host), text)
                                      for text in [result["msg"]] * blocked + result["warned"]]
        return result


def _report_of(folder, host):
    """The file of the host in a report folder, or None where there is no folder or no file."""
    path = store.node_path(folder, host) if folder else None
    return path if path and os.path.isfile(path) else None
