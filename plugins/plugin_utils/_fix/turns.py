# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that hosts make one after the other, since each needs a restart, a reboot or a proof. PRIVATE to the
collection."""

from .. import _catalogue, _run
from .._select import fixable
from .leftovers import families_elsewhere

CLEAN, MIGRATE, RESTART = "clean_leftovers", "migrate", "restart_kubelet"
_RESTART_PART = "kubelet_restart"


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


def of_kubelet(facts):
    """Whether kubelet lost its chains and is to be restarted, as a list of that turn."""
    summary = _run.summary_of(facts)
    if not summary or summary["immutable"]:
        return []
    role = _catalogue.PARTS[_RESTART_PART]
    return [RESTART] if fixable(_run.findings_of(facts), "disruptive", role, part=_RESTART_PART) else []
