# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action iptables_backend_settled: it looks with the policy of the host and judges what it sees."""

import pytest
from action_runs import plugin_of
from ansible.errors import AnsibleActionFail
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.action import iptables_backend_settled as settled
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies


def run(check_mode=False, **variables):
    """(the result, the options of each look)."""
    sent = []
    plugin = plugin_of(settled, {"backend": "nft", "timeout": 0}, check_mode)

    def execute(module_name, module_args, task_vars):
        sent.append(module_args)
        return {"changed": False, "ansible_facts": healthy(policies.default_policy().module_names)}
    plugin._execute_module = execute
    return plugin.run(task_vars=dict(variables, inventory_hostname="node", ansible_facts={})), sent


def test_it_looks_and_judges():
    result, sent = run(node_assess_root="/mnt")
    assert [options["root"] for options in sent] == ["/mnt"] and "hook_directories" in sent[0]
    assert result["ansible_facts"]["node_assess_summary"]["reached"] is True and isinstance(result["missing"], list)


@pytest.mark.parametrize("variables", [{"node_assess_skip": ["CHAIN*"]}, {"node_assess_checks": ["KMOD*"]}])
def test_checks_that_the_user_leaves_out_prove_a_migration_all_the_same(variables):
    result, _sent = run(**variables)
    sections = {row["check"][:5] for row in result["ansible_facts"]["node_assess_findings"]}
    assert {"CHAIN", "BACKE", "HOOK0"} <= sections


def test_nothing_is_looked_at_in_check_mode():
    assert run(check_mode=True) == ({"changed": False, "missing": []}, [])


@pytest.mark.parametrize("check_mode", [True, False])
def test_a_wrong_variable_is_refused_first(check_mode):
    with pytest.raises(AnsibleActionFail, match="harden_conntrack_max must be a whole number"):
        run(check_mode, harden_conntrack_max="many")
