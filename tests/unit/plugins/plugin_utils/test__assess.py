# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one host exports: all that was judged, and of the evidence what speaks of this node."""

import copy

from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _policy


def exported(evidence, **overrides):
    policy = _policy.policy_of({"node_policy_" + name: value for name, value in overrides.items()})
    return _assess.exported(evidence, policy, _assess.chosen_checks(None), None)


def names(facts):
    return {row["name"] for row in facts["node_kernel_modules"]["modules"]}


def test_modules_that_the_node_has_no_use_for_are_not_told():
    evidence = healthy(_policy.default_policy().module_names)
    before = copy.deepcopy(evidence)
    facts = exported(evidence, proxy_mode="iptables")
    assert evidence == before and "ip_vs" in names(before)
    assert names(facts) >= {name for row in facts["node_assess_required_modules"] for name in row["any_of"]} > {"nf_conntrack"}
    assert "ip_vs" not in names(facts) and "ip_vs" in names(exported(evidence, proxy_mode="ipvs"))
    assert "ip_vs" in names(exported(evidence, extra_modules=[{"name": "ip-vs", "reason": "ours"}], proxy_mode="iptables"))


def test_modules_that_a_sysctl_hangs_on_are_told():
    facts = exported(healthy(_policy.default_policy().module_names), cni="none")
    assert "br_netfilter" in names(facts)
    assert not any("br_netfilter" in row["any_of"] for row in facts["node_assess_required_modules"])


def test_a_node_that_was_not_reached_tells_nothing_and_says_so():
    facts = _assess.exported({}, _policy.default_policy(), _assess.chosen_checks(None), None, not_reached="unreachable: no route")
    assert "node_kernel_modules" not in facts and facts["node_assess_summary"]["reason"] == "unreachable: no route"
    assert {row["status"] for row in facts["node_assess_findings"]} == {"unknown"}
