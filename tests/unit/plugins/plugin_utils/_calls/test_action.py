# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a refusal prints: names out of bundles, files and inventories never reach the terminal as they are."""

from unittest import mock

import pytest
from ansible.errors import AnsibleError

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls import action
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.action import Action
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._play.play import telling
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

# Escape sequences, C0 and C1 controls, overrides and marks of direction, zero width, ends of lines, a lone surrogate.
HOSTILE = ["\x1b[31m", "\x00", "\r", "\x08", "\x7f", "\x9b2J", "\u202e", "\u202a", "\u2066", "\u2069", "\u200e",
           "\u200f", "\u061c", "\u200b", "\u200d", "\ufeff", "\u2028", "\u2029", "\x85", "\u00ad",
           "\U000e0041", "\udc80"]


class Refusing(Action):
    """Refuses whatever its task is about."""

    def work(self, arguments, task_vars):
        raise BadInput(task_vars["name"])


def as_action(text):
    task = mock.Mock(action="kubenode.netfilter.x", args={}, async_val=0)
    Refusing(task, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), None).run(task_vars={"name": text})


def as_filter(text):
    @telling
    def refuse(name):
        raise BadInput(name)
    refuse(text)


@pytest.mark.parametrize("refuse", [as_action, as_filter])
@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_a_refusal_is_one_printable_line(refuse, hostile):
    with pytest.raises(AnsibleError) as caught:
        refuse("nodes/a%sb: does not\nfit" % hostile)
    shown = str(caught.value)
    assert shown.isprintable() and hostile not in shown and shown.endswith("b: does not fit"), ascii(shown)


# No fact of a node may take the place of a setting.

@pytest.mark.parametrize("name", [*sorted(policies.known_names()), "__repair_cordon", "__repair_backend"])
def test_a_fact_with_the_name_of_a_variable_of_ours_is_refused(name):
    with pytest.raises(BadInput, match="The facts of this host contain %s, a setting" % name):
        action.refuse_facts_as_settings({"ansible_facts": {"distribution": "Debian", name: "x"}})


def test_every_variable_of_every_role_and_playbook_is_known():
    defaults = set(policies.defaults())
    for role in policies.tunable_roles():
        defaults.update(policies.role_defaults(role))
    assert defaults <= set(policies.known_names())
    assert {"preflight_fix", "preflight_hosts", "bake_fix", "bake_hosts"} <= set(policies.known_names())


@pytest.mark.parametrize("facts", [
    None, {}, {"distribution": "Debian", "node_custom": 1, "preflight_of_others": 1},
    dict.fromkeys(policies.EXPORTED, {}), {"node_host": {}, "node_iptables_backend": {}}])
def test_facts_of_others_and_our_own_pass(facts):
    action.refuse_facts_as_settings({"ansible_facts": facts, "preflight_fix": "safe"})
