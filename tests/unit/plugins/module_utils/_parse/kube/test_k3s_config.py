# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options in a configuration of k3s."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.k3s_config import (parse_k3s_config,
                                                                                                passed_on)


def arguments(text):
    options, problem = parse_k3s_config(text, ("kubelet-arg",))
    assert (options is None) == bool(problem)
    return passed_on(options.get("kubelet-arg", ([], False))[0]) if options is not None else None


@pytest.mark.parametrize(
    "text, wanted", [
        ("", []), ("# only a comment\n", []), ("token: kubelet-arg=port=1\n", []), ("kubelet-arg:\n", []),
        ("kubelet-arg: ~\n", []), ('token: secret\nkubelet-arg:\n  - "port=10260"\n  - max-pods=50 # a comment\n'
                                   'kube-scheduler-arg:\n  - port=3\n', ["--port=10260", "--max-pods=50"]),
        ("kubelet-arg:\n- port=10260\n- 'make-iptables-util-chains=false'\nhttps-listen-port: 6443\n",
         ["--port=10260", "--make-iptables-util-chains=false"]),
        ("kubelet-arg: [\"port=1\", 'port=2']\n", ["--port=1", "--port=2"]),
        ("kubelet-arg: port=10261\n", ["--port=10261"]), ("kubelet-arg+:\n  - port=1\n", ["--port=1"]),
        ("kubelet-arg:\n  # - port=1\n", []), ('"kubelet-arg":\n  - port=1\n', ["--port=1"]),
        ("kubelet-arg:\r\n  - port=1\r\nflannel-backend: none\r\n", ["--port=1"]),
        ("kubelet-arg: [port=1]\nkubelet-arg: [port=2]\nkubelet-arg+: make-iptables-util-chains\n",
         ["--port=2", "--make-iptables-util-chains=true"]), ("x: &x [port=1]\n{'kubelet-arg': *x}\n", None),
        ("x: &x [port=1]\n'kubelet-arg': *x\n", ["--port=1"]),
        ('{"kubelet-arg":["port=1"],\n\t"token":"a"}', ["--port=1"]),
        (u"\ufeffkubelet-arg: >-\n  port=1\n---\nkubelet-arg: port=2\n", ["--port=1"]),
        ("x: &x\n  kubelet-arg: [port=1]\n<<: *x\n", ["--port=1"]), ("kubelet-arg: |-\n  port=1\n", ["--port=1"]),
        ("kubelet-arg: {port: 1}\n", None), ("kubelet-arg: [[port=1]]\n", None), ("- kubelet-arg\n", None),
        ("kubelet-arg\n", None), ("kubelet-arg: [port=1\n", None), ("token: !!str a\nkubelet-arg: port=1\n", None),
        ("kubelet-arg: port=1\n\0", None),
    ])
def test_arguments(text, wanted):
    assert arguments(text) == wanted


def test_whether_they_are_added_to_those_of_files_ahead():
    assert parse_k3s_config("a+: 1\nb: [2]\nc+: 3\nc: 4\nd: 5\nd+: 6\n", "abcd") == (
        {"a": (["1"], True), "b": (["2"], False), "c": (["4"], False), "d": (["5", "6"], False)}, None)


def test_numbers_and_booleans_are_passed_on_as_go_prints_them():
    text = "a: [yes, Off, 0x10, 1.50, 'yes', \"0x10\"]\n"
    assert parse_k3s_config(text, "a")[0]["a"][0] == ["true", "false", "16", "1.50", "yes", "0x10"]


@given(st.text())
def test_any_text(text):
    assert all(argument.startswith("--") for argument in arguments("kubelet-arg:\n" + text) or [])
