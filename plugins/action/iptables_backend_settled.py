# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.iptables_backend_settled: wait until a migration between the backends is done."""

import time

from ..plugin_utils import _finding
from ..plugin_utils._calls.looking import LookingAction
from ..plugin_utils._checks import catalogue
from ..plugin_utils._fix import migration, outcomes
from ..plugin_utils._render.text import escaped

PAUSE_SECONDS = 10
# A reboot creates the pods anew, and with them the rules of each.
_SECTIONS = ["BACKEND", "CHAIN", "HOOK", "CNI"]


class ActionModule(LookingAction):
    """Looks and judges until nothing is missing."""

    OPTIONS = {
        "backend": {"type": "str", "choices": list(migration.BACKENDS)},
        "before": {"type": "dict"},
        "timeout": {"type": "int"},
    }

    def work(self, arguments, task_vars):
        self.read_policy(task_vars)
        if self._task.check_mode:
            return {"changed": False, "missing": []}
        known = task_vars.get("ansible_facts") or {}
        timeout = arguments.get("timeout")
        until = time.monotonic() + (300 if timeout is None else timeout)
        while True:
            facts = self.look_again(_SECTIONS, task_vars, known, every_check=True)
            missing = [escaped(text)
                       for text in migration.missing(facts, arguments.get("backend"), arguments.get("before"))]
            if not missing or time.monotonic() >= until:
                return self._ended(facts, missing, task_vars)
            time.sleep(PAUSE_SECONDS)

    def _ended(self, facts, missing, task_vars):
        """The result, with the failed attempt in the findings. The task itself does not fail, because Ansible drops the
        findings of a task that fails."""
        if missing:
            reason = "after the reboot: %s" % "; ".join(missing)
            facts["node_assess_findings"] = [
                outcomes.failed(row, [reason]) if self._is_of_backend(row) else row
                for row in facts["node_assess_findings"]]
        return {"changed": False, "missing": missing, "ansible_facts": facts}

    @staticmethod
    def _is_of_backend(row):
        check = catalogue.catalogue().get(row["check"])
        return (row["status"] in (_finding.FAIL, _finding.UNKNOWN) and check is not None
                and check.fix.get("part") in ("backend", migration.PART))
