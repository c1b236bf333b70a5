# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy: the defaults hold, and what a user gets wrong is refused with the place and the reason."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _role_data
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import schema
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

WAIVER = {"check": "KMOD001", "reason": "known", "owner": "net", "expires": "2027-01-31"}


def matrix(**module):
    return {"node_policy_module_requirements": [{"consumer": "c", "source": "s",
                                                 "modules": [dict({"reason": "r"}, **module)]}]}


def test_the_defaults_are_valid_and_their_types_are_stated():
    policy = policies.default_policy()
    assert set(policies.defaults()) == set(policies.options_of("node_policy"))
    assert {"nf_conntrack", "xt_nfacct", "nfnetlink_acct", "ip_vs_rr", "nft_fib_ipv4"} <= set(policy.module_names)
    assert len(policy.module_names) == len(set(policy.module_names))


def test_pieces_of_nf_tables_are_never_required_as_modules():
    assert not {"nft_counter", "nft_objref", "nft_meta", "nft_rt"} & set(policies.default_policy().module_names)


def test_every_row_of_the_matrix_says_why_and_where_it_was_read():
    for row in policies.default_policy().requirements:
        assert row["source"] and row["consumer"]
        assert all(module["reason"] for module in row["modules"]), row


@cases
def test_a_mistake_is_refused_in_one_sentence(overrides, words):
    with pytest.raises(BadInput) as caught:
        policies.policy_of(overrides)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_extra_modules_may_be_names_or_rows():
    policy = policies.policy_of({"node_policy_extra_modules": ["br-netfilter",
                                                               {"any_of": ["a", "b"], "optional": True}]})
    assert {"br_netfilter", "a", "b"} <= set(policy.module_names)


def test_more_modules_than_a_node_is_asked_about_are_refused_here():
    with pytest.raises(BadInput, match="name [0-9]+ kernel modules, but at most 100 can be read from a node"):
        policies.policy_of({"node_policy_extra_modules": ["m%d" % number for number in range(60)]})


def test_a_variable_set_to_nothing_means_the_default():
    assert policies.policy_of({"node_policy_proxy_mode": None}).values["proxy_mode"] == "auto"


@cases
def test_variables_of_roles_are_checked(variables, words):
    with pytest.raises(BadInput) as caught:
        policies.check_role_variables(variables)
    assert str(caught.value).startswith(words)


@cases
def test_all_variables_of_a_host_are_checked_in_one_call(variables, words):
    with pytest.raises(BadInput) as caught:
        policies.refuse_wrong_variables(variables, templated)
    assert str(caught.value).startswith(words)


GROUPS = {"all": ["db1", "db2", "web"], "db": ["db1", "db2"], "web": ["web"]}


@cases
def test_a_waiver_for_a_group_by_its_name_is_refused(host, words):
    variables = {"groups": GROUPS, "inventory_hostname": "db1",
                 "node_policy_waivers": [WAIVER, dict(WAIVER, host=host)]}
    if words is None:
        policies.refuse_wrong_variables(variables, templated)
        return
    with pytest.raises(BadInput) as caught:
        policies.refuse_wrong_variables(variables, templated)
    assert str(caught.value).startswith(words)


def templated(name, value):
    if value == "later":
        raise BadInput("%s cannot be templated: x" % name)
    return value


def test_a_variable_of_a_role_that_results_of_later_tasks_make_is_left_to_it():
    variables = {"node_gate_mode": "later", "node_policy_proxy_mode": "ipvs", "node_assess_findings": "later",
                 7: "later", "ansible_host": "x"}
    assert policies.refuse_wrong_variables(variables, templated).values["proxy_mode"] == "ipvs"
    assert policies.refuse_wrong_variables({}, templated) is policies.default_policy()


def test_names_of_others_are_left_alone():
    policies.check_role_variables({"node_report_url_of_the_dashboard": 1, "node_assess_findings": [],
                                   "node_gate_mode": "warn"})


@cases
def test_a_name_that_misses_the_prefix_is_refused(name, meant):
    assert not name.startswith(policies.prefixes())
    with pytest.raises(BadInput, match="The variable %s is not known; did you mean %s" % (name, meant)):
        policies.check_strangers(["ansible_host", name])


def test_what_others_call_their_variables_and_our_facts_is_no_mistake():
    ours = ["node_" + subset for subset in assess.SUBSETS] + list(policies.EXPORTED)
    policies.check_strangers(ours + ["node_access_root", "node_ip", "node_labels", "node_role", "nodes", "harden_ssh",
                                     "harden_sysctl_state", "bakery_hosts", "preflight", "preflight_checks",
                                     "node_exporter_version", "node_policy", "node_gate"])


@pytest.mark.parametrize("role", policies.tunable_roles())
def test_defaults_of_roles_are_what_their_argument_specs_state(role):
    stated = policies.options_of(role)
    defaults = _role_data.load_yaml(_role_data.ROLES / role / "defaults" / "main.yml")
    assert set(defaults) == set(stated)
    # ansible-doc shows what argument_specs tell, and null where they do not.
    assert {name: spec["default"] for name, spec in stated.items() if "default" in spec}.items() <= defaults.items()
    policies.check_role_variables(defaults)


def test_every_fact_of_assess_is_known_as_one():
    assert set(policies.EXPORTED) == set(schema.documented("assess")["ansible_facts"].contains)
