# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts of kubelet and kube-proxy, as subjects of a fix. PRIVATE to the collection."""

import functools

from .. import _finding, _run
from .._checks import catalogue
from .outcomes import NOTHING, REFUSED, Refusal, Work, of_message
from .select import fixable

# What checks name in the place of a role, because no role restarts anything: the playbook of this name does.
ROLE = "repair"
MODULE = "service_restart"
KUBELET, KUBE_PROXY = "kubelet", "kube_proxy"
PARTS = {KUBELET: "kubelet_restart", KUBE_PROXY: "kube_proxy_restart"}
# The sections that are judged again after a restart.
STALE = {KUBELET: ("HOOK", "CHAIN", "BACKEND", "CNI", "LOG"), KUBE_PROXY: ("KPROXY", "CHAIN", "CNI", "LOG")}
UNPROVED = {
    KUBELET: "kubelet was restarted, but the look after it does not show that its chains are back",
    KUBE_PROXY: "kube-proxy was restarted, but the look after it does not show that its rules are back",
}


def work_on(name):
    """The function work() of the subject `name`."""
    return functools.partial(_work, name)


def _work(name, facts, settings, _up_to=None):
    """The Work on a host with `facts`: a restart, where a finding asks for it."""
    findings = fixable(_run.findings_of(facts) or [], "disruptive", ROLE, part=PARTS[name])
    return Work(findings, dict(settings, service=name)) if findings else NOTHING


def refusals(result: dict, findings: list[dict]) -> list[Refusal]:
    """The Refusals in a result of the module service_restart: one program, so its reason is that of every finding."""
    subjects = {row["subject"] for row in findings}
    if result.get("refused"):
        return [Refusal(subject, REFUSED, result["refused"]) for subject in sorted(subjects)]
    return of_message(result, sorted(subjects))


def changes(result: dict) -> list[str]:
    """What was restarted."""
    named = result.get("unit") or "%s (process %s)" % (result.get("service"), result.get("pid"))
    return ["restart %s" % named.replace(KUBE_PROXY, "kube-proxy")]


def is_proved(facts, name):
    """Whether each check that asks for this restart passes: one that is unknown proves nothing."""
    checks = catalogue.catalogue()
    found = [row["status"] for row in _run.findings_of(facts) or []
             if row["check"] in checks and checks[row["check"]].fix.get("part") == PARTS[name]]
    return bool(found) and all(status == _finding.PASS for status in found)
