# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy: the defaults hold, and what a user gets wrong is refused with the place and the reason."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _policy, _role_data, _schema

WAIVER = {"check": "KMOD001", "reason": "known", "owner": "net", "expires": "2027-01-31"}


def matrix(**module):
    return {"node_policy_module_requirements": [{"consumer": "c", "source": "s",
                                                 "modules": [dict({"reason": "r"}, **module)]}]}


def test_the_defaults_are_valid_and_their_types_are_stated():
    policy = _policy.default_policy()
    assert set(_policy.defaults()) == set(_policy.options_of("node_policy"))
    assert {"nf_conntrack", "xt_nfacct", "nfnetlink_acct", "ip_vs_rr", "nft_fib_ipv4"} <= set(policy.module_names)
    assert len(policy.module_names) == len(set(policy.module_names))


def test_pieces_of_nf_tables_are_never_required_as_modules():
    assert not {"nft_counter", "nft_objref", "nft_meta", "nft_rt"} & set(_policy.default_policy().module_names)


def test_every_row_of_the_matrix_says_why_and_where_it_was_read():
    for row in _policy.default_policy().requirements:
        assert row["source"] and row["consumer"]
        assert all(module["reason"] for module in row["modules"]), row


@pytest.mark.parametrize(
    "overrides, words", [
        ({"node_policy_proxy_mod": "ipvs"},
         "The policy variable node_policy_proxy_mod is not known; did you mean node_policy_proxy_mode?"),
        ({"node_policy_proxy_mode": "userspace"}, "node_policy_proxy_mode is 'userspace', but must be one of"),
        ({"node_policy_kubernetes_version": 1.3}, "node_policy_kubernetes_version is the number 1.3"),
        ({"node_policy_kubernetes_version": "latest"},
         "node_policy_kubernetes_version is 'latest', but must be auto or a version"),
        ({"node_policy_ip_families": ["ipv5"]}, "node_policy_ip_families is ['ipv5'], but must be auto or a list"),
        ({"node_policy_ip_families": []}, "node_policy_ip_families is [], but must be auto or a list"),
        ({"node_policy_extra_modules": ["../x"]}, "node_policy_extra_modules[0]: '../x' is not a kernel module name"),
        ({"node_policy_extra_modules": ["ip tables"]},
         "node_policy_extra_modules[0]: 'ip tables' is not a kernel module name"),
        ({"node_policy_extra_modules": [""]}, "node_policy_extra_modules[0]: '' is not a kernel module name"),
        ({"node_policy_extra_modules": [{"name": "a", "any_of": ["b"]}]},
         "node_policy_extra_modules[0] needs either name or any_of"),
        ({"node_policy_extra_modules": [{"nam": "a"}]},
         "node_policy_extra_modules[0]: the key nam is not known; did you mean name?"),
        ({"node_policy_hook_directories": ["opt"]},
         "node_policy_hook_directories: 'opt' cannot be searched; name a directory"),
        ({"node_policy_hook_directories": ["/proc/"]}, "node_policy_hook_directories: '/proc/' cannot be searched"),
        ({"node_policy_waivers": [dict(WAIVER, check="KMOD999")]},
         "node_policy_waivers[0]: the check KMOD999 is not known"),
        ({"node_policy_waivers": [dict(WAIVER, expires=20270131)]},
         "node_policy_waivers[0].expires is '20270131', but must be a date"),
        ({"node_policy_waivers": [dict(WAIVER, expires="2027-W05")]},
         "node_policy_waivers[0].expires is '2027-W05', but must be a date"),
        ({"node_policy_waivers": [dict(WAIVER, expires="31.1.2027")]},
         "node_policy_waivers[0].expires is '31.1.2027', but must be a date"),
        ({"node_policy_waivers": [dict(WAIVER, owner="")]}, "node_policy_waivers[0]: owner must not be empty"),
        ({"node_policy_waivers": WAIVER}, "node_policy_waivers must be a list"),
        ({"node_policy_severities": {"KMOD10": "info"}},
         "node_policy_severities: the check KMOD10 is not known; did you mean KMOD010?"),
        ({"node_policy_severities": {"KMOD*": "info"}}, "node_policy_severities: the check KMOD* is not known"),
        ({"node_policy_severities": {"KMOD010": "inof"}},
         "node_policy_severities.KMOD010 is 'inof', but must be one of: info, low, medium, high; did you mean info?"),
        ({"node_policy_severities": {"KMOD010": None}}, "node_policy_severities.KMOD010 must not be empty"),
        ({"node_policy_severities": [{"KMOD010": "info"}]}, "node_policy_severities must be a dictionary"),
        ({"node_policy_disabled_checks": [{"check": "kmod010", "reason": "r"}]},
         "node_policy_disabled_checks[0]: the check kmod010 is not known; did you mean KMOD010?"),
        ({"node_policy_disabled_checks": [{"check": "KMOD010"}]}, "node_policy_disabled_checks[0] lacks reason"),
        ({"node_policy_disabled_checks": ["KMOD010"]}, "node_policy_disabled_checks[0] must be a dictionary"),
        ({"node_policy_max_offenders": -1}, "node_policy_max_offenders is -1; give 0 to 10000 subjects"),
        ({"node_policy_xtables_lock_held_percent_max": 101},
         "node_policy_xtables_lock_held_percent_max is 101; give 0 to 100 percent"),
        ({"node_policy_mode_advice": [{"advice": "a", "source": "s", "cnis": ["callico"]}]},
         "node_policy_mode_advice[0].cnis[0] is 'callico', but must be"),
        (matrix(name="x", requires_if="a[?b"),
         "node_policy_module_requirements[0].modules[0].requires_if is not a valid JMESPath expression: a[?b"),
        (matrix(), "node_policy_module_requirements[0].modules[0] needs either name or any_of"),
        ({"node_policy_mode_advice": [{"advice": "a", "source": "s", "kernel_since": "new"}]},
         "node_policy_mode_advice[0].kernel_since is 'new'"),
    ])
def test_a_mistake_is_refused_in_one_sentence(overrides, words):
    with pytest.raises(BadInput) as caught:
        _policy.policy_of(overrides)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_extra_modules_may_be_names_or_rows():
    policy = _policy.policy_of({"node_policy_extra_modules": ["br-netfilter",
                                                              {"any_of": ["a", "b"], "optional": True}]})
    assert {"br_netfilter", "a", "b"} <= set(policy.module_names)


def test_more_modules_than_a_node_is_asked_about_are_refused_here():
    with pytest.raises(BadInput, match="name [0-9]+ kernel modules, but at most 100 can be read from a node"):
        _policy.policy_of({"node_policy_extra_modules": ["m%d" % number for number in range(60)]})


def test_a_variable_set_to_nothing_means_the_default():
    assert _policy.policy_of({"node_policy_proxy_mode": None}).values["proxy_mode"] == "auto"


@pytest.mark.parametrize("variables, words", [
    ({"node_gate_mod": "warn"}, "The variable node_gate_mod is not known; did you mean node_gate_mode?"),
    ({"node_gate_severity": "worst"}, "node_gate_severity is 'worst', but must be one of"),
    ({"harden_kernel_modules_load": "perhaps"}, "harden_kernel_modules_load must be true or false"),
])
def test_variables_of_roles_are_checked(variables, words):
    with pytest.raises(BadInput) as caught:
        _policy.check_role_variables(variables)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("variables, words", [
    ({"harden_conntrack_state": "absent", "harden_conntrack_lowr": True},
     "The variable harden_conntrack_lowr is not known; did you mean harden_conntrack_lower?"),
    ({"node_asses_root": "/x"}, "The variable node_asses_root is not known; did you mean node_assess_root?"),
    ({"node_policy_proxy_mod": "ipvs"}, "The policy variable node_policy_proxy_mod is not known"),
    ({"node_policy_proxy_mode": "later"}, "node_policy_proxy_mode cannot be templated"),
])
def test_all_variables_of_a_host_are_checked_in_one_call(variables, words):
    with pytest.raises(BadInput) as caught:
        _policy.refuse_wrong_variables(variables, templated)
    assert str(caught.value).startswith(words)


GROUPS = {"all": ["db1", "db2", "web"], "db": ["db1", "db2"], "web": ["web"]}


@pytest.mark.parametrize("host, words", [
    ("db", "node_policy_waivers[1].host is 'db', which is a group, but must be a pattern for the names of hosts"),
    ("all", "node_policy_waivers[1].host is 'all', which is a group"), ("web", None), ("db*", None), ("gone", None)])
def test_a_waiver_for_a_group_by_its_name_is_refused(host, words):
    variables = {"groups": GROUPS, "inventory_hostname": "db1",
                 "node_policy_waivers": [WAIVER, dict(WAIVER, host=host)]}
    if words is None:
        _policy.refuse_wrong_variables(variables, templated)
        return
    with pytest.raises(BadInput) as caught:
        _policy.refuse_wrong_variables(variables, templated)
    assert str(caught.value).startswith(words)


def templated(name, value):
    if value == "later":
        raise BadInput("%s cannot be templated: x" % name)
    return value


def test_a_variable_of_a_role_that_results_of_later_tasks_make_is_left_to_it():
    variables = {"node_gate_mode": "later", "node_policy_proxy_mode": "ipvs", "node_assess_findings": "later",
                 7: "later", "ansible_host": "x"}
    assert _policy.refuse_wrong_variables(variables, templated).values["proxy_mode"] == "ipvs"
    assert _policy.refuse_wrong_variables({}, templated) is _policy.default_policy()


def test_names_of_others_are_left_alone():
    _policy.check_role_variables({"node_report_url_of_the_dashboard": 1, "node_assess_findings": [],
                                  "node_gate_mode": "warn"})


@pytest.mark.parametrize("name, meant",
                         [
                             ("node_asses_root", "node_assess_root"), ("node_polcy_waivers", "node_policy_waivers"),
                             ("nodepolicy_proxy_mode", "node_policy_proxy_mode"),
                             ("harden_kernel_module_unblock", "harden_kernel_modules_unblock"),
                             ("preflightfix", "preflight_fix"), ("node-gate_mode", "node_gate_mode"),
                         ])
def test_a_name_that_misses_the_prefix_is_refused(name, meant):
    assert not name.startswith(_policy.prefixes())
    with pytest.raises(BadInput, match="The variable %s is not known; did you mean %s" % (name, meant)):
        _policy.check_strangers(["ansible_host", name])


def test_what_others_call_their_variables_and_our_facts_is_no_mistake():
    ours = ["node_" + subset for subset in _assess.SUBSETS] + list(_policy.EXPORTED)
    _policy.check_strangers(ours + ["node_access_root", "node_ip", "node_labels", "node_role", "nodes", "harden_ssh",
                                    "harden_sysctl_state", "bakery_hosts", "preflight", "preflight_checks",
                                    "node_exporter_version", "node_policy", "node_gate"])


@pytest.mark.parametrize("role", _policy.tunable_roles())
def test_defaults_of_roles_are_what_their_argument_specs_state(role):
    stated = _policy.options_of(role)
    defaults = _role_data.load_yaml(_role_data.ROLES / role / "defaults" / "main.yml")
    assert set(defaults) == set(stated)
    # ansible-doc shows what argument_specs tell, and null where they do not.
    assert {name: spec["default"] for name, spec in stated.items() if "default" in spec}.items() <= defaults.items()
    _policy.check_role_variables(defaults)


def test_every_fact_of_assess_is_known_as_one():
    assert set(_policy.EXPORTED) == set(_schema.documented("assess")["ansible_facts"].contains)
