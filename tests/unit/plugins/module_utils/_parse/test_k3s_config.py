# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments for kubelet in a configuration of k3s."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.k3s_config import parse_k3s_kubelet_arguments


@pytest.mark.parametrize("text, arguments", [
    ("", []), ("token: kubelet-arg=port=1\n", []),
    ('token: secret\nkubelet-arg:\n  - "port=10260"\n  - max-pods=50 # a comment\nkube-scheduler-arg:\n  - port=3\n', ["--port=10260", "--max-pods=50"]),
    ("kubelet-arg:\n- port=10260\n- 'make-iptables-util-chains=false'\nhttps-listen-port: 6443\n",
     ["--port=10260", "--make-iptables-util-chains=false"]),
    ("kubelet-arg: [\"port=1\", 'port=2']\n", ["--port=1", "--port=2"]), ("kubelet-arg: port=10261\n", ["--port=10261"]),
    ("kubelet-arg+:\n  - port=1\n", ["--port=1"]), ("kubelet-arg:\n  # - port=1\n", []), ('"kubelet-arg":\n  - port=1\n', ["--port=1"]),
    ("kubelet-arg:\r\n  - port=1\r\nflannel-backend: none\r\n", ["--port=1"]),
])
def test_arguments(text, arguments):
    assert parse_k3s_kubelet_arguments(text) == arguments


@given(st.text())
def test_any_text(text):
    assert all(argument.startswith("--") for argument in parse_k3s_kubelet_arguments("kubelet-arg:\n" + text))
