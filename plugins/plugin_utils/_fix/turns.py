# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that hosts make one after the other, because each needs a restart, a reboot or a proof. PRIVATE to the
collection."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from .. import _catalogue, _finding, _run
from .._plain import plain
from .._select import fixable
from .leftovers import families_elsewhere

CLEAN, MIGRATE = "clean_leftovers", "migrate"
RESTART_KUBELET, RESTART_KUBE_PROXY = "restart_kubelet", "restart_kube_proxy"


class Turn(NamedTuple):
    """The words for a change that hosts make one after the other, and where its failure is recorded."""

    role: str
    part: str  # The part of the role that entries of checks name.
    sections: tuple[str, ...]  # Judged again after the change.
    flag: str  # The variable of a host whose turn failed, with the name of the change; it ends all turns of the run.
    what: str
    failed: str  # Around the reason.
    unproved: str


class Restart(NamedTuple):
    """How to wait until a restarted program has written its rules."""

    section: str
    is_ready: Callable[[dict], bool]
    least_seconds: int
    overdue: str  # Around the seconds.


def _has_chains(kubelet):
    families = kubelet["initialisation"]["families"]
    return kubelet["running"] and all(row["state"] in ("done", "unused") for row in families)


def _has_synced(kube_proxy):
    """Before 1.33 one metric of both families shows the first sync of either, so lost rules of the other one are
    unknown for two minutes."""
    families = [row["family"] for row in kube_proxy["sync"]]
    return (kube_proxy["running"] and kube_proxy["starting"] is None
            and not any(row["never_synced"] for row in kube_proxy["sync"])
            and ("all" not in families or (kube_proxy["started_seconds_ago"] or 0) > 120))


RESTARTS = {
    # Without a journal a kubelet is judged when it has run for a minute.
    RESTART_KUBELET: Restart(
        "kubelet", _has_chains, 75,
        "kubelet has not set up its chains within %d seconds after its restart"),
    # A kube-proxy whose metrics cannot be read counts as started after two minutes.
    RESTART_KUBE_PROXY: Restart(
        "kube_proxy", _has_synced, 150,
        "kube-proxy has not written its rules within %d seconds after its restart"),
}
TURNS = {
    CLEAN: Turn(
        "harden_iptables_backend", "backend", ("BACKEND", "CHAIN", "CNI"), "__harden_iptables_backend_failed",
        "the cleaning", "the leftovers are not removed: %s", ""),
    MIGRATE: Turn(
        "harden_iptables_backend", "backend", ("BACKEND", "CHAIN", "CNI", "LOG"), "__harden_iptables_backend_failed",
        "the migration", "the migration failed: %s", ""),
    RESTART_KUBELET: Turn(
        "harden_flush_hooks", "kubelet_restart", ("HOOK", "CHAIN", "BACKEND", "CNI", "LOG"),
        "__harden_flush_hooks_restart_failed",
        "the restart of kubelet", "the restart of kubelet failed: %s",
        "kubelet was restarted, but the look after it still shows that its chains are missing"),
    RESTART_KUBE_PROXY: Turn(
        "harden_kube_proxy", "kube_proxy_restart", ("KPROXY", "CHAIN", "CNI", "LOG"),
        "__harden_kube_proxy_restart_failed",
        "the restart of kube-proxy", "the restart of kube-proxy failed: %s",
        "kube-proxy was restarted, but the look after it does not show that its rules are back"),
}
ENDED = "no further node is changed in this run"


def ended(variables: Mapping) -> str:
    """Why no turn begins any more: a turn failed in this run, of any host and any kind. Otherwise empty."""
    hosts = variables.get("hostvars") or {}
    for name in hosts:
        known = hosts[name]
        for flag in sorted({turn.flag for turn in TURNS.values()}):
            if flag in known:
                return "%s of %s failed, so %s" % (TURNS[plain(known[flag])].what, name, ENDED)
    return ""


def reason_of(result: Mapping) -> str:
    """Why a task failed, from its result."""
    return result.get("refused") or result.get("msg") or "no reason was given"


def of_backend(facts, settings, result):
    """The turn that the backends of a host need, in a list: to clean, or, without leftovers, to migrate; `result` is
    that of the module iptables_backend, or None."""
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
    role, part = TURNS[turn].role, TURNS[turn].part
    return [turn] if fixable(_run.findings_of(facts), "disruptive", role, part=part) else []


def is_done(facts, turn):
    """Whether the look after a turn proves it. Of kube-proxy every check that asks for the restart must pass: one that
    is unknown proves nothing. That kubelet has its chains was waited for, and no finding may say otherwise."""
    if turn == RESTART_KUBELET:
        return not of_restart(facts, turn)
    if turn != RESTART_KUBE_PROXY:
        return True  # The module proved it, or its refusal is recorded.
    checks = _catalogue.catalogue()
    found = [row["status"] for row in _run.findings_of(facts) or []
             if row["check"] in checks and checks[row["check"]].fix.get("part") == TURNS[turn].part]
    return bool(found) and all(status == _finding.PASS for status in found)
