# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of the few fields of a KubeProxyConfiguration."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube_proxy_config import parse_kube_proxy_config

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"


@pytest.mark.parametrize("text, mode, scheduler", [
    (HEAD + 'mode: "ipvs"\nipvs:\n  excludeCIDRs: null\n  scheduler: "wrr"\n', "ipvs", "wrr"),
    (HEAD + "ipvs:\n  scheduler: ''\nmode: nftables # beta\n", "nftables", ""),
    (HEAD + 'mode: ""\n', "", ""),
    (HEAD + "iptables:\n  mode: not-this\nwinkernel:\n  scheduler: nor-this\n", "", ""),
    (HEAD + "mode: ipvs\r\nipvs:\r\n  scheduler: sh\r\n", "ipvs", "sh"),
    ('{"kind": "KubeProxyConfiguration", "mode": "iptables", "ipvs": {"scheduler": "lc"}}', "iptables", "lc"),
    ('{"kind": "KubeProxyConfiguration", "mode": null, "ipvs": []}', "", ""),
])
def test_mode_and_scheduler(text, mode, scheduler):
    assert parse_kube_proxy_config(text) == {"mode": mode, "scheduler": scheduler}


@pytest.mark.parametrize("text", ["", "kind: KubeletConfiguration\nmode: ipvs\n", '{"kind": "KubeProxyConfiguration"', "\x7fELF"])
def test_something_else_is_none(text):
    assert parse_kube_proxy_config(text) is None


def test_nesting_without_end():
    assert parse_kube_proxy_config('{"KubeProxyConfiguration":' + "[" * 100000) is None


@given(st.text() | st.dictionaries(st.sampled_from(["mode", "ipvs", "kind"]), st.none() | st.text() | st.integers()
                                   | st.dictionaries(st.just("scheduler"), st.text() | st.integers())).map(json.dumps))
@example('{"ipvs": 1}')
def test_any_text_is_read_without_an_exception(text):
    for whole in (text, HEAD + text, '{"KubeProxyConfiguration": 1, ' + text[1:]):
        answer = parse_kube_proxy_config(whole)
        assert answer is None or all(isinstance(value, str) for value in answer.values())
