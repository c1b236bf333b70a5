# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.iptables_backend_settled: wait until a migration between the backends is done."""

import time

from ..plugin_utils._fix import migration
from ..plugin_utils._fix.leftovers import BACKENDS
from ..plugin_utils._looking import LookingAction
from ..plugin_utils._render.text import escaped

PAUSE_SECONDS = 10
# A reboot creates the pods anew, and with them the rules of each.
_SECTIONS = ["BACKEND", "CHAIN", "HOOK", "CNI"]


class ActionModule(LookingAction):
    """Looks and judges until nothing is missing."""

    OPTIONS = {
        "backend": {"type": "str", "choices": list(BACKENDS)},
        "before": {"type": "dict"},
        "timeout": {"type": "int"},
    }

    def work(self, arguments, task_vars):
        self.read_policy(task_vars)
        if self._task.check_mode:
            return {"changed": False, "missing": []}
        known = task_vars.get("ansible_facts") or {}
        until = time.monotonic() + arguments.get("timeout", 300)
        while True:
            facts = self.look_again(_SECTIONS, task_vars, known, every_check=True)
            missing = [escaped(text)
                       for text in migration.missing(facts, arguments.get("backend"), arguments.get("before"))]
            result = {"changed": False, "missing": missing,
                      "ansible_facts": self.facts_of_task(facts, task_vars, self.place(task_vars)["evidence"])}
            if not missing:
                return result
            if time.monotonic() >= until:
                return dict(result, failed=True, msg="after the reboot: %s" % "; ".join(missing))
            time.sleep(PAUSE_SECONDS)
