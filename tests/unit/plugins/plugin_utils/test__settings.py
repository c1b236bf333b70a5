# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No fact of a node may take the place of a setting."""

import pytest
from ansible import constants

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _policy, _settings


@pytest.mark.parametrize(
    "name", [*sorted(_policy.known_names()), "__repair_cordon", "__repair_backend"])
def test_a_fact_with_the_name_of_a_variable_of_ours_is_refused(name):
    with pytest.raises(BadInput, match="The facts of this host contain %s, a setting" % name):
        _settings.refuse_facts_as_settings({"ansible_facts": {"distribution": "Debian", name: "x"}})


def test_every_variable_of_every_role_and_playbook_is_known():
    defaults = set(_policy.defaults())
    for role in _policy.tunable_roles():
        defaults.update(_policy.role_defaults(role))
    assert defaults <= set(_policy.known_names())
    assert {"preflight_fix", "preflight_hosts", "bake_fix", "bake_hosts"} <= set(_policy.known_names())


@pytest.mark.parametrize("facts", [
    None, {}, {"distribution": "Debian", "node_custom": 1, "preflight_of_others": 1},
    dict.fromkeys(_policy.EXPORTED, {}), {"node_host": {}, "node_iptables_backend": {}}])
def test_facts_of_others_and_our_own_pass(facts):
    _settings.refuse_facts_as_settings({"ansible_facts": facts, "preflight_fix": "safe"})


def test_facts_that_are_no_variables_cannot_be_settings(monkeypatch):
    monkeypatch.setattr(constants, "INJECT_FACTS_AS_VARS", False)
    _settings.refuse_facts_as_settings({"ansible_facts": {"preflight_fix": "disruptive"}})
