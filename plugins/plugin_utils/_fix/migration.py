# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a migration between the backends of iptables is done. PRIVATE to the collection."""

from collections.abc import Mapping

from .. import _catalogue, _finding, _run
from .leftovers import FAMILIES, holds, part_of, rows_of

# Checks whose fix names this part must pass: the rules lead to the chains of kube-proxy, and kube-proxy and kubelet
# have set up theirs.
_PART = "migrated"


def missing(facts, target, before):
    """Sentences: what the migration to `target` still lacks after a boot.

    `before` is the section node_iptables_backend from before the boot: a program that had chains then must have chains
    in the target now. Without a `target`, as where several groups of programs went back to what they were, the node
    must be reached and its rules must be whole.
    """
    summary = _run.summary_of(facts)
    if not summary or not summary["reached"]:
        return ["the node was not assessed: %s" % ((summary or {}).get("reason") or "no assessment ran")]
    if target is None:
        return _checks(facts)
    section = _run.section_of(facts, "node_iptables_backend") or {}
    return _programs(section, target) + _chains(section, target, before if isinstance(before, Mapping)
                                                else {}) + _rules(section, target) + _checks(facts)


def _programs(section, target):
    return [] if section.get("backend") == target else ["the iptables programs of the node use %s"
                                                        % _where(section.get("backend"))]


def _chains(section, target, before):
    missed = []
    for owner, key in (("kubelet", "kubelet_backend"), ("kube-proxy", "kube_proxy_backend")):
        for family in FAMILIES:
            now, then = (part_of(known, key).get(family) for known in (section, before))
            if now != target and not (now == "none" and then in ("none", None)):
                missed.append("%s has its %s chains in %s" % (owner, _title(family), _where(now)))
    return missed


def _rules(section, target):
    return ["%s chains of Kubernetes %s the %s backend" % (
        _title(row["family"]), "are in" if holds(row) else "may be in", row["backend"])
        for row in rows_of(section) if row["backend"] != target and (holds(row) or not row["readable"])]


def _checks(facts):
    checks = _catalogue.catalogue()
    return ["%s is %s: %s" % (row["check"], row["status"],
                              " ".join(part for part in (row["subject"], row["observed"], row["reason"]) if part))
            for row in _run.findings_of(facts) or [] if row["status"] in (_finding.FAIL, _finding.UNKNOWN)
            and row["check"] in checks and checks[row["check"]].fix.get("part") == _PART]


def _title(family):
    return "IP" + family[2:]


def _where(backend):
    return {None: "an unknown backend", "none": "no backend", "both": "both backends",
            "mixed": "different backends"}.get(
                backend, "the %s backend" % backend)
