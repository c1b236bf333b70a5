# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of variables: of the right type and wrong all the same, for every role."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies


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
