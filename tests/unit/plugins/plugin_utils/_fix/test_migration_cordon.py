# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the answer of the API server shows that a node is cordoned."""

import json

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import migration


def answer(name="worker-7", rc=0, **spec):
    return {"rc": rc, "stdout": json.dumps({"kind": "Node", "metadata": {"name": name}, "spec": spec}), "stderr": ""}


def test_a_cordoned_node():
    assert migration.cordon_doubt(answer(unschedulable=True), "worker-7") == ""


@cases
def test_anything_else_is_a_doubt(result, said):
    doubt = migration.cordon_doubt(result, "worker-7")
    assert said in doubt and "\n" not in doubt


def test_a_wrong_type_is_refused():
    with pytest.raises(BadInput):
        migration.cordon_doubt("", "x")
