# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about kernel modules to the options of the module kernel_modules."""

import pytest
from case_rows import cases
from fix_runs import facts
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import conntrack, kernel_modules
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix.outcomes import FAILED, Refusal
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

FILE = "kubenode-netfilter.conf"
SETTINGS = policies.role_settings("harden_kernel_modules", {}, lambda _name, value: value)
CONNTRACK_SETTINGS = policies.role_settings("harden_conntrack", {}, lambda _name, value: value)


def to_load(known, extra=(), unblock=False):
    return kernel_modules.work(known, dict(SETTINGS, names=extra, unblock=unblock)).options.get("name", [])


def test_what_is_to_be_loaded_includes_what_the_file_holds_already():
    known = facts({"*": "unpersisted", "nf_conntrack": "unpersisted loadable", "xt_comment": ""},
                  {"node_kernel_modules": {}}, node_policy_max_offenders=50)
    names = to_load(known)
    assert "nf_conntrack" in names and "nft_compat" in names
    rows = {row["name"]: row for row in known["node_assess_required_modules"]}
    rows["xt_comment"]["persisted_by"] = [{"file": "/etc/modules-load.d/" + FILE, "line": 2}]
    assert "xt_comment" in to_load(known)


def test_a_module_whose_file_a_long_answer_does_not_name_stays_listed():
    evidence = healthy(policies.policy_of({}).module_names, {"nf_conntrack": "unpersisted loadable"})
    for row in evidence["node_kernel_modules"]["modules"]:
        row["persisted_by"] = []
    known = assess.exported(evidence, policies.policy_of({}), assess.chosen_checks(None), None)
    assert {"nf_conntrack", "nft_compat", "xt_comment"} <= set(to_load(known))


@cases
def test_only_what_lacks_is_loaded(modules, extra, unblock, names, others):
    found = set(to_load(facts(modules), extra, unblock))
    assert names <= found and not others & found and (found or not names)


def test_more_subjects_than_are_named():
    known = facts({"*": "loadable unpersisted", "xt_comment": "installed_true unpersisted"},
                  node_policy_max_offenders=2)
    needed = {row["name"] for row in known["node_assess_required_modules"] if not row["optional"]}
    assert set(to_load(known)) == needed - {"xt_comment"}


def test_a_wrong_name_of_the_user_is_refused():
    with pytest.raises(BadInput, match="not a kernel module name"):
        to_load(facts(), ["../x"])


def test_a_class_beyond_safe_lifts_a_block():
    known = facts({"xt_comment": "installed_true"})
    assert kernel_modules.work(known, SETTINGS, "safe").options == {}
    work = kernel_modules.work(known, SETTINGS, "guarded")
    assert ("xt_comment" in work.options["name"] and work.options["unblock"] is True
            and {row["check"] for row in work.findings} == {"KMOD002", "KMOD007"})


def test_findings_about_the_next_boot_are_left_where_nothing_is_to_be_persisted():
    known = facts({"nf_conntrack": "unpersisted loadable", "xt_comment": "unpersisted"})
    persists = kernel_modules.work(known, SETTINGS)
    assert {row["check"] for row in persists.findings} >= {"KMOD003", "KMOD005", "KMOD006"}
    only_loads = kernel_modules.work(known, dict(SETTINGS, persist=False))
    assert {row["check"] for row in only_loads.findings} == {"KMOD003"}
    assert "nf_conntrack" in only_loads.options["name"] and "xt_comment" not in only_loads.options["name"]


def test_a_sysctl_that_its_module_brings_too_late_is_mended_with_the_module():
    key = "net.netfilter.nf_conntrack_max"
    late = {"node_conntrack": {"of_keys": {key: {"assigned": 524288, "assigned_by": "/etc/sysctl.d/90.conf:1",
                                                 "late": True, "overruled": True}}}}
    both = facts({"nf_conntrack": "unpersisted"}, late)
    assert ("CTRACK011", key) in {(row["check"], row["subject"])
                                  for row in kernel_modules.work(both, SETTINGS).findings}
    assert "CTRACK011" not in {row["check"] for row in conntrack.work(both, CONNTRACK_SETTINGS).findings}
    alone = facts(None, late)
    assert kernel_modules.work(alone, SETTINGS).findings == []
    assert {row["check"] for row in conntrack.work(alone, CONNTRACK_SETTINGS).findings} == {"CTRACK011"}


def test_a_module_that_failed_and_a_run_that_failed_as_a_whole():
    rows = [{"name": "nf_conntrack", "failed": True, "msg": "Exec format error"},
            {"name": "nf_nat", "failed": False, "msg": ""}]
    assert kernel_modules.refusals({"modules": rows}, []) == [Refusal("nf_conntrack", FAILED, "Exec format error")]
    assert kernel_modules.refusals({"failed": True, "msg": "no root"},
                                   [{"subject": "ip_vs"}]) == [Refusal("ip_vs", FAILED, "no root")]
    assert kernel_modules.refusals({"changed": True}, [{"subject": "ip_vs"}]) == []
