# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action gate: a verdict for each host, from its facts and four settings."""

from unittest import mock

import pytest
from ansible.errors import AnsibleActionFail
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.action import gate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _policy


def judged(arguments, **modules):
    policy = _policy.default_policy()
    facts = _assess.exported(healthy(policy.module_names, modules), policy, _assess.chosen_checks(None), None) if modules else {}
    task = mock.Mock(action="kubenode.netfilter.gate", args=arguments, async_val=0, check_mode=True, diff=False)
    plugin = gate.ActionModule(task=task, connection=mock.Mock(), play_context=mock.Mock(), loader=mock.Mock(), templar=mock.Mock(),
                               shared_loader_obj=None)
    return plugin.run(task_vars={"ansible_facts": facts})


def test_what_fails_blocks():
    result = judged({}, xt_comment="absent", xt_mark="unknown")
    assert result["failed"] and result["blocked"] and result["msg"][0].startswith("KMOD001 (high) xt_comment is not available for the kernel: absent on ")
    assert result["msg"][0].endswith("; wanted: loaded, built in or loadable")
    assert any("is unknown" in text for text in result["msg"][1:]), "warnings follow what blocks"


@pytest.mark.parametrize("mode, said", [("warn", True), ("never", False)])
def test_modes_that_fail_nothing(mode, said):
    result = judged({"mode": mode}, xt_comment="absent")
    assert (result.get("failed", False), result["blocked"], bool(result["msg"])) == (False, True, said)


def test_a_host_that_was_not_assessed():
    assert judged({})["msg"] == ["this run has not assessed the node"] and judged({})["failed"]
    assert not judged({"unreached": "warn"})["blocked"] and judged({"unreached": "warn"})["msg"]


@pytest.mark.parametrize("arguments, words", [
    ({"mode": "stop"}, "gate.mode is 'stop', but must be one of: fail, warn, never"), ({"severty": "low"}, "did you mean severity?"),
])
def test_one_sentence(arguments, words):
    with pytest.raises(AnsibleActionFail) as caught:
        judged(arguments)
    assert words in str(caught.value)
