# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles take from findings: what blocks, what can be fixed, which modules to load."""

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _finding, _policy, _select, _verdict

FILE = "kubenode-netfilter.conf"


def facts(modules=None, changes=None, reached=True, **overrides):
    policy = _policy.policy_of(overrides)
    evidence = healthy(policy.module_names, modules, changes) if reached else {}
    return _assess.exported(evidence, policy, _assess.chosen_checks(None), None, not_reached=None if reached else "unreachable: x")


def blocking(known, severity, unknown, unreached, level):
    return _verdict.sentences(_verdict.weighed(known, severity, unknown, unreached)[0][level])


def to_load(known, extra=(), unblock=False):
    return _select.modules_to_load(known, extra, unblock, FILE)


def test_a_healthy_node_passes_and_needs_nothing():
    known = facts()
    assert known["node_assess_summary"]["fail"] == 0
    assert blocking(known, "info", "fail", "fail", "fail") == []
    assert _select.fixable(known["node_assess_findings"], "disruptive") == []
    assert to_load(known) == []


def test_what_is_to_be_loaded_includes_what_the_file_holds_already():
    known = facts({"*": "unpersisted", "nf_conntrack": "unpersisted loadable", "xt_comment": ""},
                  {"node_kernel_modules": {}}, node_policy_max_offenders=50)
    names = to_load(known)
    assert "nf_conntrack" in names and "nft_compat" in names
    rows = {row["name"]: row for row in known["node_assess_required_modules"]}
    rows["xt_comment"]["persisted_by"] = [{"file": "/etc/modules-load.d/" + FILE, "line": 2}]
    assert "xt_comment" in to_load(known)


def test_only_what_lacks_is_loaded():
    assert "ip_vs" not in to_load(facts({"nf_conntrack": "loadable"}))
    assert "nf_conntrack" in to_load(facts({"nf_conntrack": "loadable"}))


def test_more_subjects_than_are_named():
    known = facts({"*": "loadable unpersisted", "xt_comment": "installed_true unpersisted"}, node_policy_max_offenders=2)
    needed = {row["name"] for row in known["node_assess_required_modules"] if not row["optional"]}
    assert set(to_load(known)) == needed - {"xt_comment"}


def test_a_block_is_lifted_only_when_told():
    known = facts({"xt_comment": "installed_true"})
    assert to_load(known) == []
    assert "xt_comment" in to_load(known, unblock=True)


def test_an_absent_module_is_nothing_to_load():
    assert to_load(facts({"xt_comment": "absent"})) == []


def test_names_of_the_user_are_always_there():
    assert to_load(facts(), ["overlay"])[-1:] == ["xt_statistic"] or "overlay" in to_load(facts(), ["overlay"])
    assert "overlay" in to_load(facts(), "overlay,vxlan") and "vxlan" in to_load(facts(), "overlay,vxlan")
    with pytest.raises(BadInput, match="no kernel module name"):
        to_load(facts(), ["../x"])


def test_an_immutable_node_is_left_alone():
    assert to_load(facts({"nf_conntrack": "loadable"}, {"node_host": {"immutable": True, "immutable_by": "talos"}}), ["overlay"]) == []


def test_waived_findings_are_not_fixed():
    waiver = {"check": "KMOD003", "reason": "r", "owner": "o", "expires": "2999-01-01"}
    known = facts({"nf_conntrack": "loadable"}, node_policy_waivers=[waiver])
    assert _select.fixable(known["node_assess_findings"], "safe") == []


@pytest.mark.parametrize("fix, checks", [("none", set()), ("safe", {"KMOD003"}), ("guarded", {"KMOD003", "KMOD002", "KMOD007"})])
def test_classes_include_those_before(fix, checks):
    findings = facts({"nf_conntrack": "loadable", "xt_comment": "installed_true"})["node_assess_findings"]
    assert {row["check"] for row in _select.fixable(findings, fix)} == checks


def test_what_blocks():
    known = facts({"xt_comment": "absent", "xt_mark": "unknown", "nft_compat": "loadable"})
    assert [text.split()[0] for text in blocking(known, "high", "warn", "fail", "fail")] == ["KMOD001", "KMOD014"]
    assert any("unknown" in text for text in blocking(known, "high", "fail", "fail", "fail"))
    assert all("unknown" in text for text in blocking(known, "high", "warn", "fail", "warn"))
    assert any(text.startswith("KMOD004") for text in blocking(known, "low", "ignore", "fail", "fail"))


def test_a_host_of_which_nothing_is_known_does_not_pass():
    for known in (facts(reached=False), {}):
        assert len(blocking(known, "high", "ignore", "fail", "fail")) == 1
        assert blocking(known, "high", "fail", "ignore", "fail") == []
        assert len(blocking(known, "high", "fail", "warn", "warn")) == 1


def test_findings_of_another_run_do_not_count():
    known = facts()
    known["node_assess_summary"]["run"] = "20200101T000000Z-1"
    assert not _select.assessed(known) and _select.assessed(facts(), "KMOD")
    assert len(blocking(known, "high", "warn", "fail", "fail")) == 1


def test_findings_of_other_sections_are_kept_and_a_failed_attempt_is_told():
    policy = _policy.default_policy()
    before = facts({"nf_conntrack": "loadable"})["node_assess_findings"]
    evidence = healthy(policy.module_names, {"nf_conntrack": "loadable"})
    attempts = _select.failed_modules({"modules": [{"name": "nf_conntrack", "failed": True, "msg": "Exec format error"},
                                                   {"name": "nf_nat", "failed": False, "msg": ""}]})
    after = _assess.exported(evidence, policy, _assess.chosen_checks(["KMOD"]), before, attempts)["node_assess_findings"]
    assert {row["check"] for row in before} == {row["check"] for row in after}
    row = next(row for row in after if row["check"] == "KMOD003")
    assert row["reason"].endswith("The fix was tried and failed: Exec format error")


@pytest.mark.parametrize("call", [
    lambda: _select.fixable("x", "safe"), lambda: _select.fixable([], "all"), lambda: blocking([], "high", "warn", "fail", "fail"),
    lambda: blocking({}, "worst", "warn", "fail", "fail"), lambda: _select.assessed(None), lambda: _select.failed_modules([]),
])
def test_wrong_types_are_refused(call):
    with pytest.raises(BadInput):
        call()


def hooks(*findings, **changes):
    """Facts of a host of which these (check, subject, status) were found."""
    known = facts(changes={"node_host": changes} if changes else None)
    rows = [dict(known["node_assess_findings"][0], check=check, subject=subject, status=status) for check, subject, status in findings]
    return dict(known, node_assess_findings=rows, node_assess_summary=dict(known["node_assess_summary"], **_finding.summarise(rows)))


def test_hooks_that_failed_are_to_be_fixed():
    known = hooks(("HOOK001", "/opt/fw.sh", "fail"), ("HOOK004", "iptables.service", "fail"), ("HOOK001", "/opt/other.sh", "waived"),
                  ("KMOD003", "ip_vs", "fail"))
    assert _select.hooks_to_fix(known, []) == ["/opt/fw.sh", "iptables.service"]
    assert _select.hooks_to_fix(known, ["/etc/cron.d"]) == ["/etc/cron.d"]
    assert _select.hooks_to_fix(hooks(("HOOK001", "", "pass")), []) == []
    assert _select.hooks_to_fix(hooks(), "a.service,/b") == ["a.service", "/b"]


def test_more_hooks_than_are_named_mean_all():
    assert _select.hooks_to_fix(hooks(("HOOK001", "/opt/fw.sh", "fail"), ("HOOK001", "and 3 more", "fail")), []) == ["/"]


@pytest.mark.parametrize("spared", [{"left_out": ["HOOK003"]}, {"disabled": [{"check": "HOOK003", "reason": "r"}]}])
def test_more_hooks_than_are_named_mean_no_more_where_some_are_to_stay(spared):
    found = [("HOOK001", "/opt/fw.sh", "fail"), ("HOOK001", "and 3 more", "fail")]
    known = hooks(*found)
    known["node_assess_summary"].update(spared)
    assert _select.hooks_to_fix(known, []) == ["/opt/fw.sh"]
    assert _select.hooks_to_fix(hooks(("HOOK003", "/opt/old.sh", "waived"), *found), []) == ["/opt/fw.sh"]


def test_a_node_on_which_no_check_ran_does_not_pass():
    known = hooks()
    assert blocking(known, "high", "ignore", "fail", "fail") == [
        "no check ran on the node: node_assess_sections, node_assess_checks and node_assess_skip leave none"]
    assert blocking(known, "high", "ignore", "ignore", "fail") == []


def test_hooks_of_an_immutable_node_stay():
    known = hooks(("HOOK001", "/opt/fw.sh", "fail"), immutable=True, immutable_by="talos")
    assert _select.hooks_to_fix(known, []) == [] and _select.hooks_to_fix(known, ["/opt/fw.sh"]) == []


def test_what_was_left_is_told_by_file_and_by_unit():
    rows = [{"path": "/etc/nftables.conf", "unit": "nftables.service", "msg": "it stays", "action": None},
            {"path": "/opt/a", "unit": None, "msg": "", "action": "removed"}, {"path": "/opt/b", "unit": None, "msg": "left to the boot", "action": "ordered"}]
    assert _select.failed_hooks({"hooks": rows}) == [
        {"subject": "/etc/nftables.conf", "text": "it stays"}, {"subject": "nftables.service", "text": "it stays"}]
    assert _select.failed_hooks({"failed": True, "msg": "x"}) == []
    with pytest.raises(BadInput, match="registered result"):
        _select.failed_hooks("x")
