# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy: the defaults hold, a profile comes between them and the inventory, and what a user gets wrong is
refused with the place and the reason; and which checks run."""

import dataclasses

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _role_data
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue
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
    assert set(policies.EXPORTED) == set(validate.documented("assess")["ansible_facts"].contains)


@cases
def test_a_wrong_value_of_a_role_is_refused(name, value, words):
    with pytest.raises(BadInput) as caught:
        policies.check_role_variables({name: value})
    assert str(caught.value).startswith(words)


@cases
def test_what_is_meant_is_taken(variables):
    policies.check_role_variables(variables)


def test_every_dictionary_that_a_user_sets_has_its_keys_checked():
    """Either the argument_specs list the keys, or a check of the value does."""
    free = {name for role in policies.tunable_roles() + ["node_policy"]
            for name, spec in policies.options_of(role).items() if spec["type"] == "dict" and not spec.get("options")}
    assert free == {"harden_conntrack_timeouts", "node_policy_severities"}
    for name in free:
        read = policies.policy_of if name.startswith(policies.PREFIX) else policies.check_role_variables
        with pytest.raises(BadInput, match="%s: the .* zzz is not known" % name):
            read({name: {"zzz": 1}})


def test_every_check_that_can_be_named_can_be_tuned():
    ids = list(catalogue.catalogue())
    policy = policies.policy_of({"node_policy_severities": dict.fromkeys(ids, "info"),
                                 "node_policy_disabled_checks": [{"check": name, "reason": "r"} for name in ids]})
    assert set(policy.severities) == set(policy.disabled) == set(ids)


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


ALL = list(catalogue.catalogue())
OTHERS = [name for name in ALL if name != "KMOD010"]


def ids(**selection):
    return [check.id for check in catalogue.chosen_checks(**selection)]


@cases
def test_chosen(selection, expected):
    assert ids(**selection) == expected


@cases
def test_what_no_check_matches_is_refused(pattern, words):
    with pytest.raises(BadInput) as caught:
        catalogue.refuse_unknown_checks("x", ["KMOD*", pattern])
    assert str(caught.value).startswith(words)


def test_a_section_that_is_not_known_is_refused():
    with pytest.raises(BadInput, match="x: the section KMD is not known; did you mean KMOD"):
        catalogue.refuse_unknown_sections("x", ["HOOK", "KMD"])


def of_user(name, *needs):
    return dataclasses.replace(next(iter(catalogue.catalogue().values())), id=name, needs=needs, file="site.yml")


def test_checks_of_the_user_are_judged_again_with_what_they_rest_on():
    users = [of_user("SITE-A001", "node_conntrack.table"), of_user("SITE-B001", "node_kubelet"),
             of_user("SITE-C001", "node_conntrack"), of_user("SITE-D001", "node_host.place")]
    known = dict(catalogue.catalogue(), **{check.id: check for check in users})
    chosen = [known["CTRACK001"]]
    findings = [{"check": name} for name in ("SITE-A001", "SITE-B001", "SITE-D001", "KMOD001")]
    assert [check.id for check in catalogue.with_users(chosen, known, findings)] == ["CTRACK001", "SITE-A001"]
    # Chosen already, judged by no finding of this run.
    assert catalogue.with_users([*chosen, users[0]], known, findings) == [*chosen, users[0]]
    assert catalogue.with_users(chosen, known, None) == chosen
