# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging one host: evidence in, facts to export out. PRIVATE to the collection."""

from . import _catalogue, _evaluate, _finding, _requirements, _run, _waivers
from ._plain import plain

# The sections that node_facts reads, and those of them that requirements are derived from.
SUBSETS = ("host", "kernel_modules", "iptables_backend", "iptables_chains", "xtables_lock", "flush_hooks", "conntrack", "ipvs", "kubelet",
           "kube_proxy", "cni")
REQUIRED_FROM = ("host", "kernel_modules", "iptables_backend", "kubelet", "kube_proxy", "cni")
_ROW_KEYS = ("subject", "name", "any_of", "optional", "on_demand", "reason", "state", "at_boot", "blocked_by", "persisted_by")


def chosen_checks(sections):
    """The checks of the given sections (the letters of their ids), all where none is given."""
    return [check for check in _catalogue.catalogue().values() if not sections or check.section in sections]


def known_sections():
    """The letters that check ids begin with."""
    return sorted({check.section for check in _catalogue.catalogue().values()})


def subsets_of(checks):
    """The gather_subset that the checks need."""
    needed = {need.partition(".")[0] for check in checks for need in check.needs}
    if "requirements" in needed:
        needed.update("node_" + section for section in REQUIRED_FROM)
    # Remedies name the node's own way of being changed, so who it is is always asked.
    return [subset for subset in SUBSETS if subset == "host" or "node_" + subset in needed]


def judged(evidence, policy, checks, not_reached=None, earlier_peak=0):
    """(findings, requirements) of one host; C(evidence) is what node_facts returned, as plain values, C(earlier_peak) what resolve() takes."""
    known = dict(evidence)
    requirements = None
    if not not_reached:
        requirements = known["requirements"] = _requirements.resolve(known, policy, earlier_peak)
    findings = _evaluate.evaluate(checks, known, policy, not_reached)
    return _waivers.apply_waivers(findings, policy.waivers, _run.STARTED.date()), requirements


def exported(evidence, policy, checks, before, attempts=(), not_reached=None, earlier_peak=0):
    """The C(ansible_facts) of one host. C(before) are findings of this run that other sections' checks made."""
    findings, requirements = judged(evidence, policy, checks, not_reached, earlier_peak)
    ids = {check.id for check in checks}
    findings = [row for row in before or [] if row["check"] not in ids] + [_with_attempt(row, attempts) for row in findings]
    findings = sorted(findings, key=lambda row: (row["check"], row["subject"]))
    summary = dict(_finding.summarise(findings), run=_run.ID, reached=not not_reached, reason=not_reached, **_who(evidence, requirements))
    modules = [{key: row[key] for key in _ROW_KEYS} for row in (requirements or {}).get("modules", [])]
    facts = dict(_told(plain(evidence), modules), node_assess_findings=findings, node_assess_required_modules=modules, node_assess_summary=summary)
    conntrack = _conntrack_fact(requirements, earlier_peak)
    # A look at other sections alone leaves what one before it knew.
    return dict(facts, node_assess_conntrack=conntrack) if conntrack["options"] or not before else facts


def _told(evidence, required):
    """The evidence without modules that this node has no use for: one look asks for those of every mode, and Ansible copies facts for each task."""
    section = evidence.get("node_kernel_modules")
    if not section:
        return evidence
    useful = {name for row in required for name in row["any_of"]}
    useful.update(row["module"] for row in (evidence.get("node_conntrack") or {}).get("sysctls") or [])
    return dict(evidence, node_kernel_modules=dict(section, modules=[row for row in section["modules"] if row["name"] in useful]))


def _conntrack_fact(requirements, earlier_peak):
    """What a fix takes for its size, and the peak that the report keeps."""
    known = (requirements or {}).get("conntrack") or {"size": None, "options": None}
    peak = (known["size"] or {}).get("peak") or 0
    return {"run": _run.ID, "peak": max(peak, earlier_peak), "options": known["options"]}


def _with_attempt(row, attempts):
    """A fix that was tried and did not help says so in the finding it was for."""
    said = [attempt["text"] for attempt in attempts if attempt["subject"] in row["subject"].split(" or ")]
    if row["status"] not in (_finding.FAIL, _finding.UNKNOWN) or not said:
        return row
    return dict(row, reason="%s The fix was tried and failed: %s" % (row["reason"], "; ".join(said)))


def _who(evidence, requirements):
    host = evidence.get("node_host") or {}
    modules = evidence.get("node_kernel_modules") or {}
    release = modules.get("judged_release")
    return {
        "os": (host.get("os") or {}).get("name"), "place": host.get("place"), "kernel": "kernel %s" % release if release else None,
        "immutable": bool(host.get("immutable")), "needs": _needs(requirements) if requirements else None,
    }


def _needs(requirements):
    parts = ["%s mode (%s)" % (requirements["mode"], requirements["mode_because"])]
    if requirements["mode"] != "nftables":
        parts.append("%s backend" % requirements["backend"])
    parts.append("Kubernetes %s" % requirements["kubernetes"] if requirements["kubernetes"] else "Kubernetes version unknown")
    if requirements["cni"] != "none":
        parts.append("CNI %s" % requirements["cni"])
    return ", ".join(parts)
