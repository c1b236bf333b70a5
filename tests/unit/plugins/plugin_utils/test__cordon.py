# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the answer of the API server shows that a node is cordoned."""

import json

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _cordon


def answer(name="worker-7", rc=0, **spec):
    return {"rc": rc, "stdout": json.dumps({"kind": "Node", "metadata": {"name": name}, "spec": spec}), "stderr": ""}


def test_a_cordoned_node():
    assert _cordon.cordon_doubt(answer(unschedulable=True), "worker-7") == ""


@pytest.mark.parametrize(
    "result, said", [
        (answer(), "the node worker-7 is not cordoned"),
        (answer(unschedulable=False), "not cordoned"),
        (answer(unschedulable="true"), "not cordoned"),
        (answer("worker-8", unschedulable=True), "is not for the node worker-7"),
        ({"rc": 0, "stdout": '{"kind": "NodeList", "items": []}'}, "is not for the node worker-7"),
        ({"rc": 0, "stdout": "[]"}, "is not for the node worker-7"),
        ({"rc": 0, "stdout": "{\"kind\": "}, "is not valid JSON"),
        ({"rc": 0, "stdout": ""}, "is not valid JSON"),
        ({"rc": 0, "stdout": '{"kind": "Node", "metadata": {"name": "worker-7"}, "spec": null}'}, "not cordoned"),
        ({"rc": 0, "stdout": '{"kind": "Node", "metadata": [], "spec": {"unschedulable": true}}'},
         "is not for the node"),
        ({"rc": 1, "stdout": "", "stderr": 'Error from server (NotFound): nodes "worker-7" not found\nmore'},
         'nodes "worker-7" not found'),
        ({"rc": 1, "stdout": "", "stderr": ""}, "gave no answer for the node worker-7: no answer"),
        ({"unreachable": True, "msg": "Failed to connect"},
         "could not be asked for the node worker-7: Failed to connect"),
        ({"failed": True, "msg": "The command action failed to execute in the expected time frame (60) and was "
                                 "terminated"}, "could not be asked"),
        ({}, "no answer"),
    ])
def test_anything_else_is_a_doubt(result, said):
    doubt = _cordon.cordon_doubt(result, "worker-7")
    assert said in doubt and "\n" not in doubt


def test_a_wrong_type_is_refused():
    with pytest.raises(BadInput):
        _cordon.cordon_doubt("", "x")
