# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles: each is a policy, differs from the defaults in every line, and the inventory overrides it."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _role_data
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

OPTION = policies.options_of("node_policy")["node_policy_profile"]
NAMES = sorted(path.stem for path in (_role_data.ROLES / "node_policy" / "files" / "profiles").glob("*.yml"))


def policy(name, **variables):
    return policies.policy_of(dict({"node_policy_profile": name}, **variables))


def test_the_choices_are_the_files():
    assert NAMES == OPTION["choices"]


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_says_nothing_that_is_so_anyway(name):
    chosen = _role_data.profile(name)
    assert policy(name).values["profile"] == name
    for variable, value in chosen.items():
        if variable != "node_policy_severities":
            assert value != _role_data.defaults()[variable], variable
    for check, severity in policy(name).severities.items():
        assert severity != catalogue.catalogue()[check].severity, check


def test_the_default_is_the_policy_without_a_profile():
    assert policy("default") == policies.default_policy()


def test_the_inventory_comes_before_the_profile():
    chosen = policy("strict", node_policy_conntrack_used_percent_fail=95, node_policy_severities={"KMOD005": "low"})
    assert chosen.values["conntrack_used_percent_fail"] == 95 and chosen.values["conntrack_used_percent_warn"] == 60
    assert chosen.severities["KMOD005"] == "low" and chosen.severities["CTRACK006"] == "high"
    # A variable without a value leaves that of the profile.
    assert policy("nftables_only", node_policy_proxy_mode=None).values["proxy_mode"] == "nftables"


def test_disabled_checks_are_joined_and_the_reason_of_the_host_counts(monkeypatch):
    rows = [{"check": "KMOD010", "reason": "profile"}, {"check": "KMOD015", "reason": "profile"}]
    monkeypatch.setattr(policies, "profile", lambda _name: {"node_policy_disabled_checks": rows})
    mine = [{"check": "KMOD010", "reason": "mine"}]
    assert policy("cis", node_policy_disabled_checks=mine).disabled == {"KMOD010": "mine", "KMOD015": "profile"}


@pytest.mark.parametrize("name", ["strikt", "", "../cis", 3, ["cis"]])
def test_a_profile_that_is_none_is_refused_by_its_name(name):
    with pytest.raises(BadInput, match="node_policy_profile"):
        policy(name)
