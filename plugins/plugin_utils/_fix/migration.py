# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a migration between the backends of iptables is due, whether its node is cordoned, and whether it is done.
PRIVATE to the collection."""

import json
from collections.abc import Mapping

from ...module_utils._errors import BadInput
from .. import _finding, _run
from .._checks import catalogue

BACKENDS = ("nft", "legacy")
FAMILIES = ("ipv4", "ipv6")
# Chains of kubelet and kube-proxy without rules; others take the backend they are in for that of the node.
_MARKS = ("hint", "kubelet_canary", "proxy_canary")
# Checks whose fix names this part must pass: the rules lead to the chains of kube-proxy, and kube-proxy and kubelet
# have set up theirs.
PART = "migrated"


def due(facts, target, result):
    """The migration that a node needs, `{"backend", "before"}`, or None: the backend to migrate to, and the section
    node_iptables_backend from before it. `result` is that of the module iptables_backend for this `target`."""
    if result.get("unreachable") or _run.summary_of(facts)["place"] != "live":
        return None
    section = _run.section_of(facts, "node_iptables_backend") or {}
    # The programs may be right already and the rules elsewhere, where they were switched under a kubelet that ran.
    misplaced = families_elsewhere(section, target) and not result.get("failed") and not result.get("refused")
    if not result.get("live_rules") and not misplaced:
        return None
    return {"backend": result.get("backend") or target, "before": section}


def families_elsewhere(section, target):
    """The families with chains of kubelet and kube-proxy in another backend than `target`, or than the one that `auto`
    stands for."""
    found = []
    for family in FAMILIES:
        used = _part_of(section, "kubelet_backend").get(family)
        here = target if target in BACKENDS else used if used in BACKENDS else section.get("backend")
        if here in BACKENDS and any(row["family"] == family and row["backend"] != here and _holds(row)
                                    for row in _rows_of(section)):
            found.append(family)
    return found


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
            now, then = (_part_of(known, key).get(family) for known in (section, before))
            if now != target and not (now == "none" and then in ("none", None)):
                missed.append("%s has its %s chains in %s" % (owner, _title(family), _where(now)))
    return missed


def _rules(section, target):
    return ["%s chains of Kubernetes %s the %s backend" % (
        _title(row["family"]), "are in" if _holds(row) else "may be in", row["backend"])
        for row in _rows_of(section) if row["backend"] != target and (_holds(row) or not row["readable"])]


def _checks(facts):
    checks = catalogue.catalogue()
    return ["%s is %s: %s" % (row["check"], row["status"],
                              " ".join(part for part in (row["subject"], row["observed"], row["reason"]) if part))
            for row in _run.findings_of(facts) or [] if row["status"] in (_finding.FAIL, _finding.UNKNOWN)
            and row["check"] in checks and checks[row["check"]].fix.get("part") == PART]


def _title(family):
    return "IP" + family[2:]


def _where(backend):
    return {None: "an unknown backend", "none": "no backend", "both": "both backends",
            "mixed": "different backends"}.get(
                backend, "the %s backend" % backend)


def _rows_of(section):
    """The rule sets of the section node_iptables_backend, one for each family and backend."""
    return [row for row in section.get("sets") or [] if row["backend"] in BACKENDS]


def _holds(row):
    """Whether a rule set holds chains of kubelet or kube-proxy."""
    return bool(row["kube_rules"]) or any(row[mark] for mark in _MARKS)


def _part_of(known, key):
    """The dictionary `known[key]`; {} if it is missing or is not a dictionary."""
    part = known.get(key) if isinstance(known, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def cordon_doubt(result, node):
    """Why the answer to `kubectl get node NAME -o json` does not show that the node is cordoned, as a sentence; empty
    if it does."""
    if not isinstance(result, Mapping):
        raise BadInput("needs a registered result, not %s" % type(result).__name__)
    if result.get("unreachable") or result.get("rc") is None:
        return "the API server could not be asked for the node %s: %s" % (node, _line(result.get("msg")) or "no answer")
    if result["rc"] != 0:
        return "the API server gave no answer for the node %s: %s" % (node, _line(result.get("stderr")
                                                                                  or result.get("msg")) or "no answer")
    try:
        answer = json.loads(str(result.get("stdout") or ""))
    except (ValueError, RecursionError):
        return "the answer of the API server for the node %s is not valid JSON" % node
    if not isinstance(answer, dict) or answer.get("kind") != "Node" or _part_of(answer, "metadata").get("name") != node:
        return "the answer of the API server is not for the node %s" % node
    if _part_of(answer, "spec").get("unschedulable") is not True:
        return "the node %s is not cordoned" % node
    return ""


def _line(text):
    """The first line of a program's output."""
    lines = str(text or "").strip().splitlines()
    return lines[0][:200] if lines else ""
