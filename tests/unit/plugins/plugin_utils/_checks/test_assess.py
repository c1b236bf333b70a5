# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts that one host exports: all findings with the values that each rests on, the checks that need root, and the
part of the evidence that matters for this node."""

import copy

import pytest
import report_runs
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding, _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue, evaluate, verdict
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import kernel_modules, select
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

SETTINGS = policies.role_settings("harden_kernel_modules", {}, lambda _name, value: value)
DISABLED = [{"check": "KMOD003", "reason": "the site loads them"}]


def exported(evidence, **overrides):
    policy = policies.policy_of({"node_policy_" + name: value for name, value in overrides.items()})
    return assess.exported(evidence, policy, assess.chosen_checks(None), None)


def lacking(**overrides):
    """Facts of a node on which nf_conntrack is neither loaded nor listed for the boot."""
    return exported(healthy(policies.default_policy().module_names, {"nf_conntrack": "loadable unpersisted"}),
                    **overrides)


def rows_of(facts, check):
    return [(row["status"], row["subject"], row["severity"], row["reason"]) for row in facts["node_assess_findings"]
            if row["check"] == check]


def names(facts):
    return {row["name"] for row in facts["node_kernel_modules"]["modules"]}


def test_modules_that_the_node_has_no_use_for_are_not_told():
    evidence = healthy(policies.default_policy().module_names)
    before = copy.deepcopy(evidence)
    facts = exported(evidence, proxy_mode="iptables")
    assert evidence == before and "ip_vs" in names(before)
    assert names(facts) >= {name for row in facts["node_assess_required_modules"]
                            for name in row["any_of"]} > {"nf_conntrack"}
    assert "ip_vs" not in names(facts) and "ip_vs" in names(exported(evidence, proxy_mode="ipvs"))
    assert "ip_vs" in names(exported(evidence, extra_modules=[{"name": "ip-vs", "reason": "ours"}],
                                     proxy_mode="iptables"))


def test_evidence_that_no_fix_rests_on_is_left_out_and_what_stays_is_not_touched():
    evidence, policy, checks = (healthy(policies.default_policy().module_names), policies.default_policy(),
                                assess.chosen_checks(None))
    few, whole = assess.exported(evidence, policy, checks,
                                 None), assess.exported(evidence, policy, checks, None, with_evidence=True)
    left_out = {"node_iptables_chains", "node_xtables_lock", "node_flush_hooks", "node_ipvs", "node_kube_proxy",
                "node_cni", "node_logs"}
    assert set(whole) - set(few) == left_out and set(evidence) <= set(whole)
    assert few == {name: value for name, value in whole.items() if name not in left_out}
    assert few["node_assess_digest"] == evidence["node_iptables_chains"]["digest"]
    partly = {name: value for name, value in evidence.items() if name != "node_iptables_chains"}
    assert "node_assess_digest" not in assess.exported(partly, policy, checks, None)


def test_modules_that_a_sysctl_hangs_on_are_told():
    facts = exported(healthy(policies.default_policy().module_names), cni="none")
    assert "br_netfilter" in names(facts)
    assert not any("br_netfilter" in row["any_of"] for row in facts["node_assess_required_modules"])


def test_a_node_that_was_not_reached_tells_nothing_and_says_so():
    facts = assess.exported({}, policies.default_policy(), assess.chosen_checks(None), None,
                            not_reached="unreachable: no route")
    assert "node_kernel_modules" not in facts and facts["node_assess_summary"]["reason"] == "unreachable: no route"
    assert {row["status"] for row in facts["node_assess_findings"]} == {"unknown"}


def test_a_severity_of_the_policy_is_that_of_the_finding_and_of_the_gate():
    before, after = lacking(), lacking(severities={"KMOD003": "info", "KMOD005": "high"})
    assert rows_of(before, "KMOD003")[0][:3] == ("fail", "nf_conntrack",
                                                 "high") and rows_of(before, "KMOD005")[0][2] == "medium"
    assert rows_of(after, "KMOD003")[0][:3] == ("fail", "nf_conntrack",
                                                "info") and rows_of(after, "KMOD005")[0][2] == "high"
    blocking = [row["check"] for row in verdict.weighed(after, "medium", "warn", "fail")[0]["fail"].findings]
    assert "KMOD005" in blocking and "KMOD003" not in blocking
    assert lacking(severities={"KMOD003": "info", "KMOD005": "low"})["node_assess_summary"]["worst"] == "low"


def test_a_disabled_check_is_skipped_with_the_reason_and_nothing_of_it_is_fixed():
    facts = lacking(disabled_checks=DISABLED)
    assert rows_of(facts,
                   "KMOD003") == [("skip", "", "high", "disabled by node_policy_disabled_checks: the site loads them")]
    assert facts["node_assess_summary"]["disabled"] == DISABLED
    assert {row["check"] for row in select.fixable(facts["node_assess_findings"], "disruptive")} == {"KMOD005"}
    both = DISABLED + [{"check": "KMOD005", "reason": "r"}]
    assert kernel_modules.work(lacking(disabled_checks=both), SETTINGS, "guarded").options == {}
    assert select.assessed(lacking(disabled_checks=both), "KMOD")


def test_a_disabled_check_is_skipped_on_a_node_that_was_not_reached_too():
    policy = policies.policy_of({"node_policy_disabled_checks": DISABLED})
    facts = assess.exported({}, policy, assess.chosen_checks(["KMOD"]), None, not_reached="unreachable: no route")
    assert rows_of(facts, "KMOD003")[0][0] == "skip" and rows_of(facts, "KMOD001")[0][0] == "unknown"
    assert facts["node_assess_summary"]["disabled"] == DISABLED


def test_a_waiver_of_a_disabled_check_had_no_chance():
    waiver = {"check": "KMOD003", "subject": "xt_*", "reason": "r", "owner": "o", "expires": "2099-01-01"}
    row = lacking(waivers=[waiver])["node_assess_summary"]["waivers"][0]
    assert (row["check"], row["subject"], row["matched"]) == ("KMOD003", "xt_*", False)
    assert lacking(waivers=[waiver], disabled_checks=DISABLED)["node_assess_summary"]["waivers"][0]["matched"] is None
    assert lacking(waivers=[dict(waiver, subject="nf_*")])["node_assess_summary"]["waivers"][0]["matched"] is True


@cases
def test_no_more_is_collected_than_the_chosen_checks_need(selection, disabled, expected):
    left_out = [{"check": check, "reason": "r"} for check in disabled]
    policy = policies.policy_of({"node_policy_disabled_checks": left_out})
    assert assess.subsets_of(assess.chosen_checks(**selection), policy, selection.get("sections")) == expected


def test_logs_are_read_unless_the_policy_is_against_it():
    checks = assess.chosen_checks(["LOG"])
    assert assess.subsets_of(checks, policies.default_policy()) == ["host", "logs"]
    assert assess.subsets_of(checks, policies.policy_of({"node_policy_read_logs": False})) == ["host"]


def test_a_narrow_look_leaves_what_is_known_of_the_modules():
    policy, evidence = policies.default_policy(), healthy(policies.default_policy().module_names)
    first = assess.exported(evidence, policy, assess.chosen_checks(), None)
    hooks = {name: evidence[name] for name in ("node_host", "node_flush_hooks", "node_kubelet", "node_kube_proxy")}
    assert "node_assess_required_modules" not in assess.exported(hooks, policy, assess.chosen_checks(["HOOK"]),
                                                                 first["node_assess_findings"])
    assert "node_assess_required_modules" in assess.exported(evidence, policy, assess.chosen_checks(["KMOD"]),
                                                             first["node_assess_findings"])


def test_checks_that_were_not_chosen_are_listed_and_have_no_finding():
    policy, evidence = policies.default_policy(), healthy(policies.default_policy().module_names)
    skipped = ["KPROXY00[2-9]", "KPROXY0[12]?", "HOOK00[2-9]", "HOOK01?"]
    facts = assess.exported(evidence, policy, assess.chosen_checks(["KPROXY", "HOOK"], skip=skipped), None)
    assert {row["check"] for row in facts["node_assess_findings"]} == {"KPROXY001", "HOOK001", "HOOK020"}
    left_out = [*("HOOK%03d" % number for number in range(2, 13)),
                *("KPROXY%03d" % number for number in (*range(2, 16), *range(20, 25)))]
    assert facts["node_assess_summary"]["left_out"] == left_out


def test_what_counts_the_rest_comes_after_the_subjects_that_are_listed():
    names = policies.default_policy().module_names
    facts = exported(healthy(names, dict.fromkeys(names, "absent")), max_offenders=3)
    subjects = [row["subject"] for row in _run.findings_of(facts) if row["check"] == "KMOD001"]
    assert len(subjects) == 4 and subjects[3].startswith("and ")


def summary(as_root, **collected):
    """The summary of a node whose sections could not read the sources named."""
    policy = policies.default_policy()
    evidence = healthy(policy.module_names, {"xt_mark": "unknown"})
    evidence["node_host"]["as_root"] = as_root
    for section, sources in collected.items():
        evidence[section]["collected"].update(sources)
    return assess.exported(evidence, policy, assess.chosen_checks(None), None)["node_assess_summary"]


def test_checks_that_rest_on_what_was_denied_need_root():
    found = summary(False, node_conntrack={"sysctls": "denied", "stat": "denied"})
    assert found["needs_root"] and {check[:6] for check in found["needs_root"]} == {"CTRACK"}
    assert len(found["needs_root"]) < found["unknown"], "the unknown kernel module is no matter of root"


@pytest.mark.parametrize("as_root, status", [(True, "denied"), (None, "denied"), (False, "timeout"), (False, "ok")])
def test_nothing_else_needs_root(as_root, status):
    assert summary(as_root, node_conntrack={"sysctls": status, "stat": status})["needs_root"] == []


def test_one_check_is_counted_as_one():
    row = {"check": "A001", "status": _finding.UNKNOWN, "reason": "r"}
    assert verdict.by_cause([row], ["A001"]) == [([row], "not run as root: 1 check unknown, use --become")]
    assert verdict.by_cause([row, dict(row, status=_finding.FAIL)], []) == [([row], None)]


@pytest.mark.parametrize("severity, words", [("medium", "medium or higher"), ("high", "high")])
def test_checks_below_a_severity_are_counted(severity, words):
    row, two, low = ({"check": check, "status": _finding.UNKNOWN, "reason": "r"} for check in ("A001", "A002", "A003"))
    assert verdict.by_cause([row, two], ["A001", "A002", "A003"], [low], severity) == [
        ([row, two], "not run as root: 2 of 3 unknown checks are %s, use --become" % words)]
    assert verdict.by_cause([row], ["A001", "A003"], [low], severity) == [
        ([row], "not run as root: 1 of 2 unknown checks is %s, use --become" % words)]
    assert verdict.by_cause([row, two], [], [low, dict(low, reason="another")], severity) == [
        ([row, two], "2 of 3 unknown checks are %s (A001, A002): r" % words)]
    assert verdict.by_cause([row], [], [low], severity) == [([row], None)], "it is named alone"


CHECKS = catalogue.catalogue()


def findings(check, modules=None, **sections):
    evidence = healthy(report_runs.POLICY.module_names, modules or {})
    for name, values in sections.items():
        evidence[name].update(values)
    return assess.judged(evidence, report_runs.POLICY, [CHECKS[check]])[0]


def lines(finding):
    return (finding["evidence"] or "").splitlines()


def test_values_of_the_row_and_of_the_paths():
    module, = findings("KMOD003", {"nf_conntrack": "loadable"})
    assert {"state: loadable", "release: 6.1.0-49-amd64"} <= set(lines(module))
    assert "node_host.place: live" in lines(module)
    table, = findings("CTRACK001", node_conntrack={"used_percent": 91.6, "count": 120000, "max": 131072})
    assert {"node_conntrack.used_percent: 91.6", "node_conntrack.count: 120000"} <= set(lines(table))
    # The row repeats these; a value is there once.
    assert sum("120000" in line for line in lines(table)) == sum("91.6" in line for line in lines(table)) == 1


def test_what_passes_or_is_skipped_has_none():
    found = [row for check in CHECKS for row in findings(check)]
    assert {row["status"] for row in found if row["evidence"]} <= {_finding.FAIL, _finding.UNKNOWN}
    assert {_finding.PASS, _finding.SKIP} <= {row["status"] for row in found}


def test_an_unknown_names_the_sources_that_were_not_read():
    rows = findings("KMOD007", node_kernel_modules={"collected": {"modules_directory": "ok", "modprobe_conf": "denied",
                                                                  "modules_load": "ok", "proc_modules": "ok"}})
    unknown, = (row for row in rows if row["status"] == _finding.UNKNOWN)
    assert lines(unknown)[0] == "node_kernel_modules.collected.modprobe_conf: denied"


def test_a_value_that_is_not_known_reads_so():
    unknown, = findings("CTRACK001", node_conntrack={"used_percent": None, "count": None, "max": None})
    assert "node_conntrack.used_percent: not known" in lines(unknown)


def test_lines_are_few_short_and_inert():
    check = CHECKS["KMOD002"]
    named = evaluate._named(check.select, check.subject, check.problem, check.observed)
    row = dict.fromkeys(named, "\x1b[2J\n\u202e" + "x" * 5000)
    row["blocks"] = [{"file": "/etc/%d" % number, "line": number} for number in range(2000)]
    text = evaluate.basis_of(check, {"node_kernel_modules": {"judged_release": "y" * 5000}}, row)
    assert len(text.splitlines()) == 8 and max(map(len, text.splitlines())) <= 160
    assert all(char.isprintable() or char == "\n" for char in text)
    assert evaluate.basis_of(check, {}, {"blocks": row["blocks"], "state": True}) == (
        "blocks: file /etc/0 line 0, file /etc/1 line 1, file /etc/2 line 2 and 1997 more\nstate: true")
