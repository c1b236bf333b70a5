# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that hosts make one after the other, because each needs a restart, a reboot or a proof. PRIVATE to the
collection."""

from .. import _catalogue, _finding, _run
from .._select import fixable
from .leftovers import families_elsewhere

CLEAN, MIGRATE = "clean_leftovers", "migrate"
RESTART_KUBELET, RESTART_KUBE_PROXY = "restart_kubelet", "restart_kube_proxy"
# The part of a role that an entry of a check names for each restart.
RESTARTS = {RESTART_KUBELET: "kubelet_restart", RESTART_KUBE_PROXY: "kube_proxy_restart"}


def of_backend(facts, settings, result):
    """The turn that the backends of a host need, in a list: to clean, or else to migrate; `result` is that of the
    module iptables_backend, or None."""
    if _run.summary_of(facts)["place"] != "live":
        return []
    section = _run.section_of(facts, "node_iptables_backend") or {}
    # Chains in use are not leftovers, even where another backend is the target.
    if settings["clean_leftovers"] and families_elsewhere(section, "auto"):
        return [CLEAN]
    elsewhere = families_elsewhere(section, settings["target"])
    if not settings["migrate"] or not result or result.get("unreachable"):
        return []
    # The programs may be right already and the rules elsewhere, where they were switched under a kubelet that ran.
    misplaced = elsewhere and not result.get("failed") and not result.get("refused")
    return [MIGRATE] if result.get("live_rules") or misplaced else []


def of_restart(facts, turn):
    """Whether a finding asks for the restart `turn`, as a list of that turn."""
    summary = _run.summary_of(facts)
    if not summary or summary["immutable"]:
        return []
    part = RESTARTS[turn]
    role = _catalogue.PARTS[part]
    return [turn] if fixable(_run.findings_of(facts), "disruptive", role, part=part) else []


def is_proved(facts, turn):
    """Whether every check that asks for the restart `turn` passes: one that is unknown proves nothing."""
    checks = _catalogue.catalogue()
    found = [row["status"] for row in _run.findings_of(facts) or []
             if row["check"] in checks and checks[row["check"]].fix.get("part") == RESTARTS[turn]]
    return bool(found) and all(status == _finding.PASS for status in found)
