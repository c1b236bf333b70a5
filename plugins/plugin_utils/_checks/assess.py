# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging one host: evidence in, facts to export out. PRIVATE to the collection."""

import dataclasses

from .. import _finding, _run
from .._causes.judge import causes_of
from .._causes.verdict import known_of, verdict_of
from .._fix import outcomes as _outcomes
from .._fleet import outliers, rollup
from .._joins.table import joins_of
from .._needs import node_needs
from .._policy import waiving
from .._role_data import role_defaults
from . import catalogue, evaluate, verdict
from .catalogue import chosen_checks

# The sections that node_facts reads.
SUBSETS = ("host", "kernel_modules", "iptables_backend", "iptables_chains", "xtables_lock", "flush_hooks", "conntrack",
           "ipvs", "kubelet", "kube_proxy", "cni", "logs")
# The sections that fixes use. Other sections are judged and then dropped, because Ansible copies all facts of a host
# for each task.
_KEPT = ("node_host", "node_kernel_modules", "node_iptables_backend", "node_conntrack", "node_kubelet")
_ROW_KEYS = ("subject", "name", "any_of", "optional", "on_demand", "reason", "state", "at_boot", "blocked_by",
             "persisted_by")


def subsets_of(checks, policy, sections=None):
    """The gather_subset that the checks need. Checks that the policy disables need nothing.

    A role writes its file as a whole, for everything that the node needs. So if any check of the selected sections
    (`sections`, by default the sections of `checks`) needs `requirements`, the sections that requirements are derived
    from are collected, even if that check itself is left out.
    """
    judged_here = [check for check in checks if check.id not in policy.disabled
                   and (not check.opt_in or policy.values[check.opt_in])]
    needed = {need.partition(".")[0] for check in judged_here for need in check.needs}
    if any("requirements" in check.needs
           for check in chosen_checks(sections or {check.section for check in checks} or None, known=policy.checks)):
        needed.update(node_needs.SECTIONS)
    # A remedy depends on how the node can be changed (node_host), so the subset host is always collected.
    return [subset for subset in SUBSETS if subset == "host" or "node_" + subset in needed]


def judged(evidence, policy, checks, not_reached=None, earlier=None, problems=None):
    """(findings, requirements) of one host; `evidence` and `problems` are the result of checked_sections() for its
    answer, `earlier` is as in resolve()."""
    known = dict(evidence)
    requirements = None
    if not not_reached:
        requirements = known["requirements"] = node_needs.resolve(known, policy, earlier)
        known["joins"] = joins_of(known)
    tuned = [dataclasses.replace(check, severity=policy.severities[check.id])
             if check.id in policy.severities else check for check in checks]
    findings = evaluate.evaluate([check for check in tuned if check.id not in policy.disabled], known, policy,
                                 not_reached, problems)
    findings += [_disabled(check, policy) for check in tuned if check.id in policy.disabled]
    return waiving.apply_waivers(findings, policy.waivers, _run.STARTED.date()), requirements


def _disabled(check, policy):
    return _finding.finding(check, _finding.SKIP,
                            reason="disabled by node_policy_disabled_checks: %s" % policy.disabled[check.id])


def exported(evidence, policy, checks, before, attempts=(), not_reached=None, earlier=None, problems=None,
             with_evidence=False, numbers=None, host="NODE", gate=None, node=None):
    """The `ansible_facts` of one host. `before` are the findings that this run made earlier; findings of other checks
    stay. `with_evidence` keeps all sections, `numbers` are the numbers of an earlier look of this run; `host` is its
    name in commands and `node` that for kubectl, `gate` the settings of its node_gate with the baseline that was read,
    by default those of the role."""
    try:
        findings, requirements = judged(evidence, policy, checks, not_reached, earlier, problems)
    except Exception as error:
        # No known evidence raises an error here. If some does, this host still gets findings and the other hosts their
        # reports.
        evidence, not_reached = {}, "the node's answer could not be judged: %s" % type(error).__name__
        findings, requirements = judged(evidence, policy, checks, not_reached)
    ids = {check.id for check in checks}
    findings = [row for row in before or []
                if row["check"] not in ids] + [_with_attempt(row, attempts) for row in findings]
    findings = sorted(_outcomes.kept(before, findings), key=lambda row: row["check"])
    summary = dict(_finding.summarise(findings), run=_run.ID, reached=not not_reached, reason=not_reached,
                   **_who(evidence, requirements))
    summary.update(disabled=_disabled_rows(findings, policy), left_out=_left_out(findings, policy.checks),
                   waivers=waiving.used(policy.waivers, findings, _run.STARTED.date(), policy.idle_waivers),
                   needs_root=verdict.needing_root(findings, checks, evidence))
    if problems and not not_reached:
        summary["unusable"] = [{"section": name, "reason": problems[name]} for name in sorted(problems)]
    modules = [{key: row[key] for key in _ROW_KEYS} for row in (requirements or {}).get("modules", [])]
    gate, causes = gate or default_gate(), causes_of(findings, evidence, host, node=node) if summary["reached"] else []
    known = known_of(findings, causes, gate) if summary["reached"] else frozenset()
    users = catalogue.rows_of(policy.checks, findings)
    summary["verdict"] = verdict_of(summary, findings, causes, gate, users)
    if known:
        summary["known"] = [{"check": check, "subject": subject} for check, subject in sorted(known)]
    facts = dict(_kept(evidence, modules, with_evidence), node_assess_findings=findings, node_assess_causes=causes,
                 node_assess_required_modules=modules, node_assess_summary=summary,
                 node_assess_numbers=rollup.numbers_of(evidence, numbers))
    if "node_iptables_chains" in evidence:
        facts["node_assess_digest"] = evidence["node_iptables_chains"]["digest"]
    facts.update(outliers.facts_of(evidence))
    if users:
        facts[catalogue.FACT] = users
    conntrack = _conntrack_fact(requirements, earlier or {})
    # A look at other sections only keeps the result of an earlier look.
    if before and not all(section in evidence for section in node_needs.SECTIONS):
        del facts["node_assess_required_modules"]
    return dict(facts, node_assess_conntrack=conntrack) if conntrack["options"] or not before else facts


def default_gate():
    """The settings of node_gate of a host that sets none."""
    return {name[len("node_gate_"):]: value for name, value in role_defaults("node_gate").items()}


def _disabled_rows(findings, policy):
    """The disabled checks among all checks that this run was asked to judge."""
    return [{"check": check_id, "reason": policy.disabled[check_id]}
            for check_id in sorted({row["check"] for row in findings} & set(policy.disabled))]


def _left_out(findings, known):
    """The checks of the judged sections that were not chosen; `known` are all checks by id."""
    ids = {row["check"] for row in findings}
    sections = {check.section for check in known.values() if check.id in ids}
    return [check.id for check in chosen_checks(sections, known=known) if check.id not in ids] if sections else []


def _kept(evidence, required, with_evidence):
    """The sections of `_KEPT`, or all sections, without the kernel modules that this node does not use: a look collects
    the modules of every proxy mode."""
    kept = evidence if with_evidence else {name: evidence[name] for name in _KEPT if name in evidence}
    section = kept.get("node_kernel_modules")
    if not section:
        return kept
    useful = {name for row in required for name in row["any_of"]}
    useful.update(row["module"] for row in (kept.get("node_conntrack") or {}).get("sysctls") or [])
    return dict(kept,
                node_kernel_modules=dict(section, modules=[row for row in section["modules"] if row["name"] in useful]))


def _conntrack_fact(requirements, earlier):
    """The options from which a fix computes the table size, and what the report keeps: the peak and the losses."""
    known = (requirements or {}).get("conntrack") or {
        "size": None, "options": None, "losses_state": earlier.get("losses")}
    peak = (known["size"] or {}).get("peak") or 0
    return {"run": _run.ID, "peak": max(peak, earlier.get("peak", 0)), "losses": known["losses_state"],
            "options": known["options"]}


def _with_attempt(row, attempts):
    """Adds to a finding the fix that was tried for it and did not help."""
    check = catalogue.catalogue().get(row["check"])
    part = check.fix.get("part") if check and check.fix["role"] else None
    texts = [attempt["text"] for attempt in attempts if part and attempt["part"] == part]
    return _outcomes.failed(row, texts) if texts and row["status"] in (_finding.FAIL, _finding.UNKNOWN) else row


def _who(evidence, requirements):
    host = evidence.get("node_host") or {}
    modules = evidence.get("node_kernel_modules") or {}
    release = modules.get("judged_release")
    return {
        "os": (host.get("os") or {}).get("name"), "place": host.get("place"), "kubelet": _kubelet(evidence),
        "kernel": "kernel %s" % release if release else None, "iptables": _iptables(evidence),
        "kube_proxy": (evidence.get("node_kube_proxy") or {}).get("version"),
        "immutable": bool(host.get("immutable")), "needs": _needs(requirements) if requirements else None,
    }


def _iptables(evidence):
    """Version and backend of the node's iptables, or None."""
    found = evidence.get("node_iptables_backend") or {}
    return "%s (%s)" % (found["version"], found["backend"] or "unknown") if found.get("version") else None


def _kubelet(evidence):
    """running, installed or absent; None if that is not known, as in a bundle or after a look at other sections."""
    kubelet = evidence.get("node_kubelet") or {}
    if kubelet.get("running") is None:
        return None
    return "running" if kubelet["running"] else "installed" if kubelet["installed"] else "absent"


def _needs(requirements):
    parts = ["%s mode (%s)" % (requirements["mode"], requirements["mode_because"])]
    if requirements["mode"] != "nftables":
        parts.append("%s backend" % requirements["backend"])
    parts.append("Kubernetes %s" % requirements["kubernetes"]
                 if requirements["kubernetes"] else "Kubernetes version unknown")
    if requirements["cni"] != "none":
        parts.append("CNI %s" % requirements["cni"])
    return ", ".join(parts)
