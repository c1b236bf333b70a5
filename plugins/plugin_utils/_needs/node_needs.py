# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules and tools that a node needs, from evidence and policy, with the reason for each. PRIVATE to the
collection.

`resolve` makes the section `requirements`, from which checks select. The code joins and compares; roles/node_policy has
the data about which component needs which module.
"""

import functools

from ...module_utils import _names, _versions
from .._policy.policies import alternatives
from . import auto_values, cluster_ranges, conntrack, missing

# The sections that requirements are derived from.
SECTIONS = ("node_host", "node_kernel_modules", "node_iptables_backend", "node_kubelet", "node_kube_proxy", "node_cni")
# Causes that are not the node's fault: it had these modules, and only their files are missing now.
_NOT_THE_NODE = ("file_missing", "tree_gone", "no_tree", "index_missing")
# From best to worst. An unknown module may still exist, so unknown ranks before missing.
_RANK = {"loaded": 0, "builtin": 0, "loadable": 1, "unknown": 3, "installable": 4, "absent": 5}
_EMPTY = {
    "name": None, "module": None, "state": "unknown", "cause": "not_reported", "evidence": "the node did not report it",
    "package": None, "kernels": [], "blocked_for": [], "blocked_unclear": [], "blocks": [], "persisted": None,
    "persisted_by": [], "at_boot": "unknown", "at_boot_cause": "", "state_next_boot": "unknown", "lacking_on": [],
}


def resolve(evidence, policy, earlier=None):
    """The derived section `requirements` for one host; everything in it is plain data. `earlier` is what an earlier
    report has about the conntrack table, see earlier_conntrack()."""
    facts = auto_values.facts_of(evidence, policy)
    rows = joined(evidence.get("node_kernel_modules"))
    mode, because, judged = _mode(evidence, policy, facts, rows)
    modules, problem, possible = judged
    answer = {
        "mode": mode, "mode_because": because, "mode_possible": possible, "mode_problem": problem,
        "advice": "" if possible and mode in policy.values["mode_candidates"]
        else _advice(mode, policy, facts, _can_run(evidence, policy, facts, rows)), "modules": modules,
        "tools": _tools(evidence, policy, facts, mode),
        "conntrack": conntrack.conntrack_of(evidence, policy.values, facts, earlier or {}),
        "ranges": cluster_ranges.ranges_of(evidence, policy.values, facts),
    }
    host = evidence.get("node_host") or {}
    answer["missing"] = dict(missing.missing_of(modules, rows, host), **missing.missing_elsewhere(modules, host))
    for name in ("backend", "cni", "kubernetes"):
        answer[name], answer[name + "_because"] = facts[name], facts[name + "_because"]
    answer["ip_families"] = facts["ip_families"]
    answer["kubernetes_minor"] = (_versions.numbers(facts["kubernetes"])[1:2] or (None,))[0]
    return answer


def _mode(evidence, policy, facts, rows):
    """(mode, because, (modules, problem, possible)): the mode that the policy sets; otherwise the mode that the node
    runs; otherwise the first mode that the node can run."""
    wanted = policy.values["proxy_mode"]
    if wanted != "auto":
        return wanted, "node_policy_proxy_mode sets it", _judge_mode(wanted, evidence, policy, facts, rows)
    proxy = evidence.get("node_kube_proxy") or {}
    if proxy.get("running") and proxy.get("mode"):
        why = "the mode of the running kube-proxy (%s)" % (proxy.get("mode_source") or "read from its process")
        return proxy["mode"], why, _judge_mode(proxy["mode"], evidence, policy, facts, rows)
    chains = evidence.get("node_iptables_chains") or {}
    if chains.get("source") == "files" and chains.get("mode"):
        return chains["mode"], chains["mode_source"], _judge_mode(chains["mode"], evidence, policy, facts, rows)
    seen = {True: "kube-proxy runs, but its mode could not be read", False: "no kube-proxy runs here"}.get(
        proxy.get("running"), "whether kube-proxy runs is not known")
    judged = [(mode, _judge_mode(mode, evidence, policy, facts, rows)) for mode in policy.values["mode_candidates"]]
    for verdict, words in ((True, "the first mode that the node can run"),
                           (None, "a guess: the first mode that is not ruled out")):
        for mode, result in judged:
            if result[2] is verdict:
                return mode, "%s; %s" % (seen, words), result
    mode, result = judged[0]
    return mode, "%s; the node can run none of %s" % (seen, ", ".join(name for name, _result in judged)), result


def _judge_mode(mode, evidence, policy, facts, rows):
    """(modules, problem, possible) of one mode; `possible` is True, False, or None if something is not known."""
    modules = required_modules(mode, evidence, policy, facts, rows)
    problems = _version_problems(mode, policy, facts)
    # Requirements of a CNI or of the user do not decide whether a mode is possible.
    needed = [row for row in modules if not row["optional"] and row["of_mode"]]
    lacking = [row for row in needed if row["state"] == "installable"
               or row["state"] == "absent" and row["cause"] not in _NOT_THE_NODE]
    problems += ["%s is %s (%s)" % (row["subject"], row["state"], row["evidence"]) for row in lacking[:3]]
    if len(lacking) > 3:
        problems.append("and %d more modules are" % (len(lacking) - 3))
    if problems:
        return modules, "; ".join(problems), False
    return modules, "", None if not needed or any(row["state"] == "unknown" for row in needed) else True


def _version_problems(mode, policy, facts):
    problems = []
    for row in policy.values["mode_requirements"]:
        if row["mode"] != mode:
            continue
        for subject, version in (("kernel", facts["kernel"]), ("kubernetes", facts["kubernetes"])):
            if _versions.within(version, row.get(subject + "_since"), row.get(subject + "_before")) is False:
                problems.append("%s %s does not support it: %s" % (
                    "Linux" if subject == "kernel" else "Kubernetes", version, row["reason"]))
    return problems


def required_modules(mode, evidence, policy, facts, rows):
    """One row for each module (or choice of modules) that the mode, the CNI or the user asks for, with its evidence
    joined."""
    states = {name: rows[name]["state"] for name in rows}
    context = dict(evidence, policy=policy.values, mode=mode, ipvs_scheduler=facts["ipvs_scheduler"],
                   available={name: auto_values.available(rows[name]) for name in rows}, states=states)
    found = {}
    for requirement in policy.requirements:
        applies, doubt = auto_values.applies(requirement, mode, facts)
        if not applies:
            continue
        for module in requirement["modules"]:
            needed, unsure = auto_values.needed(module, context)
            if not needed:
                continue
            doubts = "; ".join(filter(None, (doubt, unsure)))
            names = [_names.normalise(name) for name in alternatives(module)]
            _add(found, names, {
                "optional": bool(module.get("optional")) or bool(doubts),
                "on_demand": bool(module.get("on_demand", True)),
                "reason": "%s: %s%s" % (requirement["consumer"], module["reason"], " (%s)" % doubts if doubts else ""),
                "of_mode": _of_mode(requirement, facts),
            })
    return [dict(best_row(row["any_of"], rows), **row) for _subject, row in sorted(found.items())]


def _of_mode(requirement, facts):
    """True if kube-proxy itself needs the modules for the mode; without a second address family kube-proxy continues
    with the first."""
    return (bool(requirement.get("modes")) and not requirement.get("cnis")
            and requirement.get("family") in (None,) + tuple(facts["ip_families"][:1]))


def _add(found, names, row):
    """Adds a need; a certain need outweighs a possible one."""
    subject = " or ".join(names)
    known = found.get(subject)
    if known is None:
        found[subject] = dict(row, subject=subject, any_of=names)
        return
    if known["optional"] != row["optional"]:
        weaker, stronger = (known, row) if known["optional"] else (row, known)
        found[subject] = dict(stronger, subject=subject, any_of=names)
        return
    if row["reason"] not in known["reason"]:
        known["reason"] = "%s; %s" % (known["reason"], row["reason"])
    known["on_demand"] = known["on_demand"] and row["on_demand"]
    known["of_mode"] = known["of_mode"] or row["of_mode"]


def _advice(mode, policy, facts, can_run):
    """The advice of the first row of the table that fits the kernel and Kubernetes and whose modes the node `can_run`;
    a row with a bound on an unknown version does not fit. Before the table: the nft backend, if only the backend is the
    problem."""
    if can_run(mode, facts["backend"]) is False and can_run(mode, "nft"):
        return ("Use the nft backend of iptables: kernel %s lacks the legacy tables and has every module of the nft "
                "backend." % facts["kernel"])
    for row in policy.values["mode_advice"]:
        bounds = (("kernel", facts["kernel"]), ("kubernetes", facts["kubernetes"]))
        fits = all(row.get(subject + "_since") is None and row.get(subject + "_before") is None
                   or _versions.within(version, row.get(subject + "_since"), row.get(subject + "_before"))
                   for subject, version in bounds)
        if fits and (not row.get("cnis") or facts["cni"] in row["cnis"]) and all(can_run(advised, facts["backend"])
                                                                                 for advised in row.get("modes") or ()):
            return row["advice"].replace("{cni}", facts["cni"] if facts["cni"] not in (None, "none") else "the CNI")
    return ""


def _can_run(evidence, policy, facts, rows):
    """A function of a mode and a backend: False if the kernel, the version or a missing program rules the mode out."""
    @functools.lru_cache(maxsize=None)
    def can_run(mode, backend):
        possible = _judge_mode(mode, evidence, policy, dict(facts, backend=backend), rows)[2] is not False
        return possible and not any(tool["state"] == "absent" for tool in _tools(evidence, policy, facts, mode))
    return can_run


def _tools(evidence, policy, facts, mode):
    rows = []
    for requirement in policy.values["tool_requirements"]:
        bounds = requirement.get("kubernetes_since"), requirement.get("kubernetes_before")
        # If the version is not known well enough, needs with a version bound are left out.
        if mode not in (requirement.get("modes") or [mode]) or any(bounds) and not _versions.within(
                facts["kubernetes"], *bounds):
            continue
        if requirement.get("family") and requirement["family"] not in facts["ip_families"]:
            continue
        state, where = auto_values.tool_state(evidence, requirement["user"], requirement["tool"])
        if state is not None:
            rows.append({"subject": "%s in %s" % (requirement["tool"], where), "tool": requirement["tool"],
                         "user": requirement["user"], "state": state, "reason": requirement["reason"]})
    return rows


# Evidence rows of kernel modules, made ready for requirements.

def joined(section):
    """`{name: row}` with texts that findings show; JMESPath cannot join them."""
    if not section:
        return {}
    rows = {}
    for row in section.get("modules") or []:
        if row["name"] is None:
            continue
        full = dict(_EMPTY, **row)
        full["release"] = section.get("judged_release") or "the kernel"
        release = (section.get("next_boot") or {}).get("release")
        # A bundle without the release of its kernel has a word in its place.
        full["next_release"] = "the next kernel" if release in (None, _names.UNKNOWN_RELEASE) else release
        full["blocked_by"] = _places(full["blocks"], "blocks")
        full["blocked_unclear_by"] = _places(full["blocks"], "unclear")
        full["evidence_next_boot"] = next(
            (group["evidence"] for group in full["kernels"] if full["next_release"] in group.get("releases", [])),
            full["evidence"])
        rows[_names.normalise(full["name"])] = full
    return rows


def _places(blocks, effect):
    return "; ".join("%s:%s: %s" % (block["file"], block["line"], block["text"]) for block in blocks
                     if block["effect"] == effect)


def best_row(names, rows: dict[str, dict]) -> dict:
    """The row of the alternative that is nearest to working; a blocked one ranks below one that only has to be
    loaded."""
    candidates = [rows.get(name)
                  or dict(
                      _EMPTY, name=name, release="the kernel", next_release="the next kernel", blocked_by="",
                      blocked_unclear_by="", evidence_next_boot="") for name in names]
    return min(candidates,
               key=lambda row: _RANK.get(row["state"], 3) + (1 if row["blocks"] and row["state"] == "loadable" else 0))
