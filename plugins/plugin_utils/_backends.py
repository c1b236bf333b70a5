# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role harden_iptables_backend takes from findings and answers. PRIVATE to the collection."""

import json
from collections.abc import Mapping

from ..module_utils._errors import BadInput
from . import _run, _select
from ._options import checked

ROLE = "harden_iptables_backend"
BACKENDS = ("nft", "legacy")
FAMILIES = ("ipv4", "ipv6")
TARGET = {"type": "str", "choices": ("auto",) + BACKENDS}
# Chains of kubelet and kube-proxy without rules; others take the backend they are in for that of the node.
_MARKS = ("hint", "kubelet_canary", "proxy_canary")
# What says that the rules lead to the chains of kube-proxy, and that it and kubelet have set up theirs.
_ANCHORS = ("CHAIN001", "CHAIN003", "CHAIN004")
_SUBJECT = "iptables"


def backends_to_fix(facts, target, fix):
    """`{"align": [...], "leftovers": [...]}`: why the programs are to be switched, and which families have chains of Kubernetes elsewhere."""
    summary = _run.summary_of(_facts(facts)) or {}
    checked("target", target, TARGET)
    if summary.get("immutable"):
        return {"align": [], "leftovers": []}
    wrong = _select.fixable(_run.findings_of(facts) or [], fix, ROLE, summary.get("place"))
    align = {row["check"] for row in wrong}
    section = _section(facts)
    backend = section.get("backend")
    if target in BACKENDS and section and backend not in (target, "none"):
        align.add("the programs are %s, not %s" % (backend or "undecided", target))
    return {"align": sorted(align), "leftovers": _elsewhere(section, target)}


def cordon_doubt(result, node):
    """Why the answer to `kubectl get node NAME -o json` does not say that the node is cordoned, as a sentence; empty where it does."""
    if not isinstance(result, Mapping):
        raise BadInput("needs a registered result, not %s" % type(result).__name__)
    if result.get("unreachable") or result.get("rc") is None:
        return "the API could not be asked for the node %s: %s" % (node, _line(result.get("msg")) or "no answer")
    if result["rc"] != 0:
        return "the API was asked for the node %s and did not tell: %s" % (node, _line(result.get("stderr") or result.get("msg")) or "no answer")
    try:
        answer = json.loads(str(result.get("stdout") or ""))
    except (ValueError, RecursionError):
        return "what the API answered for the node %s is no JSON" % node
    if not isinstance(answer, dict) or answer.get("kind") != "Node" or _part(answer, "metadata").get("name") != node:
        return "what the API answered is not the node %s" % node
    if _part(answer, "spec").get("unschedulable") is not True:
        return "the node %s is not cordoned" % node
    return ""


def backends_unsettled(facts, target, before):
    """Sentences: what is still missing, after a boot, of the state that a migration to `target` is to end in.

    `before` is the section node_iptables_backend from before the boot: whoever had chains then has to have them in the target now.
    """
    summary = _run.summary_of(_facts(facts))
    checked("target", target, {"type": "str", "choices": BACKENDS})
    if not summary or not summary["reached"]:
        return ["nothing is known of the node: %s" % ((summary or {}).get("reason") or "it was not assessed")]
    section = _section(facts)
    said = [] if section.get("backend") == target else ["the node's programs are %s" % (section.get("backend") or "undecided")]
    for owner, key in (("kubelet", "kubelet_backend"), ("kube-proxy", "kube_proxy_backend")):
        for family in FAMILIES:
            now, then = (_part(known, key).get(family) for known in (section, before if isinstance(before, Mapping) else {}))
            if now != target and not (now == "none" and then in ("none", None)):
                said.append("%s has its %s chains in %s" % (owner, _title(family), _where(now)))
    for row in _rows(section):
        if row["backend"] != target and (_holds(row) or not row["readable"]):
            said.append("%s chains of Kubernetes %s in the %s backend" % (
                _title(row["family"]), "are" if _holds(row) else "cannot be ruled out", row["backend"]))
    said += ["%s is %s: %s" % (row["check"], row["status"], " ".join(part for part in (row["subject"], row["observed"], row["reason"]) if part))
             for row in _run.findings_of(facts) or [] if row["check"] in _ANCHORS and row["status"] in ("fail", "unknown")]
    return said


def failed_backends(facts, text):
    """[{"subject", "text"}] for the findings that the role was to fix; nothing where there is nothing to say."""
    subjects = {row["subject"] for row in _select.fixable(_run.findings_of(_facts(facts)) or [], "disruptive", ROLE)}
    return [{"subject": subject, "text": text} for subject in sorted(subjects | {_SUBJECT})] if text else []


def _facts(facts):
    if not isinstance(facts, Mapping):
        raise BadInput("needs the ansible_facts of a host, not %s" % type(facts).__name__)
    return facts


def _section(facts):
    return _run.section_of(facts, "node_iptables_backend") or {}


def _part(known, key):
    part = known.get(key) if isinstance(known, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _rows(section):
    return [row for row in section.get("sets") or [] if row["backend"] in BACKENDS]


def _holds(row):
    return bool(row["kube_rules"]) or any(row[mark] for mark in _MARKS)


def _elsewhere(section, target):
    """The families with chains of kubelet and kube-proxy in another backend than `target`, or than the one that `auto` stands for."""
    found = []
    for family in FAMILIES:
        used = _part(section, "kubelet_backend").get(family)
        here = target if target in BACKENDS else used if used in BACKENDS else section.get("backend")
        if here in BACKENDS and any(row["family"] == family and row["backend"] != here and _holds(row) for row in _rows(section)):
            found.append(family)
    return found


def _title(family):
    return "IP" + family[2:]


def _where(backend):
    return {None: "a backend that could not be told", "none": "no backend", "both": "both backends"}.get(backend, "the %s backend" % backend)


def _line(text):
    """The first line of what a program said."""
    lines = str(text or "").strip().splitlines()
    return lines[0][:200] if lines else ""
