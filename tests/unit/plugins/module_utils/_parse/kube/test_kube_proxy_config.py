# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of the few fields of a KubeProxyConfiguration."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_config import (
    parse_kube_proxy_config)

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"


@pytest.mark.parametrize("text, mode, scheduler", [
    (HEAD + 'mode: "ipvs"\nipvs:\n  excludeCIDRs: null\n  scheduler: "wrr"\n', "ipvs", "wrr"),
    (HEAD + "ipvs:\n  scheduler: ''\nmode: nftables # beta\n", "nftables", ""),
    (HEAD + 'mode: ""\n', "", ""),
    (HEAD + "iptables:\n  mode: not-this\nwinkernel:\n  scheduler: nor-this\n", "", ""),
    (HEAD + "mode: ipvs\r\nipvs:\r\n  scheduler: sh\r\n", "ipvs", "sh"),
    ('{"kind": "KubeProxyConfiguration", "mode": "iptables", "ipvs": {"scheduler": "lc"}}', "iptables", "lc"),
    ('{"kind": "KubeProxyConfiguration", "mode": null, "ipvs": {}}', "", ""),
    ("{kind: KubeProxyConfiguration, mode: ipvs, ipvs: {scheduler: lc}}\n", "ipvs", "lc"),
    ("{\"kind\": \"KubeProxyConfiguration\",mode: ipvs,\n # why\n \"ipvs\": {\"scheduler\": \"lc\"}}\n", "ipvs", "lc"),
    (HEAD + "ipvs: {scheduler: 'sh'}\n'mode': ipvs\n", "ipvs", "sh"),
    (HEAD + "\"mode\" : &mode ipvs\nipvs: &ipvs\n    \"scheduler\": wrr\n", "ipvs", "wrr"),
    ("unused: &ipvs\n  scheduler: wrr\n" + HEAD + "mode:\n  nftables\nipvs: *ipvs\n", "nftables", "wrr"),
    ("unused: &all\n  mode: ipvs\n" + HEAD + "<<: *all\nipvs: {\n  scheduler: wrr\n}\n", "ipvs", "wrr"),
    ("kind: ClusterConfiguration\nmode: none\n---\n" + HEAD + "mode: ipvs\n", "ipvs", ""),
])
def test_mode_and_scheduler(text, mode, scheduler):
    fields, _problem = parse_kube_proxy_config(text)
    assert (fields.pop("mode"), fields.pop("scheduler")) == (mode, scheduler) and not any(fields.values())


@pytest.mark.parametrize(
    "text, cidr, local, iptables, nftables", [
        (HEAD + "clusterCIDR: 10.244.0.0/16\ndetectLocalMode: ClusterCIDR\niptables:\n  masqueradeAll: true\n",
         "10.244.0.0/16", "ClusterCIDR", "true", ""),
        (HEAD + 'clusterCIDR: "10.244.0.0/16,fd00:10:244::/56" # both\nnftables:\n  masqueradeAll: true\niptables:\n  '
                'masqueradeAll: false\n', "10.244.0.0/16,fd00:10:244::/56", "", "false", "true"),
        (HEAD + "clusterCIDR: fd00:10:244::/56\nwinkernel:\n  masqueradeAll: true\n  clusterCIDR: 10.0.0.0/8\n",
         "fd00:10:244::/56", "", "", ""),
        ('{"kind": "KubeProxyConfiguration", "clusterCIDR": "10.244.0.0/16", "iptables": {"masqueradeAll": true}, '
         '"nftables": {"masqueradeAll": false}}', "10.244.0.0/16", "", "true", "false"),
    ])
def test_what_is_of_the_cluster_and_what_is_masqueraded(text, cidr, local, iptables, nftables):
    fields, _problem = parse_kube_proxy_config(text)
    assert (fields["cluster_cidr"], fields["detect_local_mode"]) == (cidr, local)
    assert (fields["masquerade_all"], fields["masquerade_all_nftables"]) == (iptables, nftables)


@pytest.mark.parametrize(
    "text, conntrack", [
        (HEAD + "conntrack:\n  maxPerCore: null\n  min: 131072\n  tcpBeLiberal: false\n  tcpEstablishedTimeout: "
                "24h0m0s\n  udpTimeout: ~\nmode: \"\"\n",
         {"min": "131072", "tcpBeLiberal": "false", "tcpEstablishedTimeout": "24h0m0s"}),
        (HEAD + "conntrack: null\niptables:\n  min: 1\n", {}),
        (HEAD + "conntrack: {maxPerCore: 0, 'min': 131072, tcpBeLiberal: ~}\n", {"maxPerCore": "0", "min": "131072"}),
        (HEAD + "conntrack:\n  \"maxPerCore\": &n 0\n  min: *n\n", {"maxPerCore": "0", "min": "0"}),
        ('{"kind": "KubeProxyConfiguration", "conntrack": {"maxPerCore": 0, "min": null, "tcpBeLiberal": true}}',
         {"maxPerCore": "0", "tcpBeLiberal": "true"}),
    ])
def test_connection_tracking(text, conntrack):
    assert parse_kube_proxy_config(text).fields["conntrack"] == conntrack


@pytest.mark.parametrize(
    "text, metrics", [
        (HEAD + 'metricsBindAddress: "0.0.0.0:10249"\nmode: ipvs\n', "0.0.0.0:10249"),
        (HEAD + "metricsBindAddress: ''\n", ""),
        (HEAD + "metricsBindAddress: '[::1]:10249' # loopback\n", "[::1]:10249"),
        (HEAD + "conntrack:\n  metricsBindAddress: 1.2.3.4:1\n", ""),
        ('{"kind": "KubeProxyConfiguration", "metricsBindAddress": "127.0.0.1:20249"}', "127.0.0.1:20249"),
    ])
def test_where_metrics_are_offered(text, metrics):
    assert parse_kube_proxy_config(text).fields["metrics"] == metrics


# A text that cannot be read as a whole is not treated as a configuration without settings.
UNREAD = ["metricsBindAddress: [::1]:10249\n", "mode: ''\nx: &x\n  mode: ipvs\n<<: *x\n", "mode: 1\n", "mode: on\n",
          "iptables: {masqueradeAll: 'true'}\n", "? mode\n: ipvs\n", "mode: !!str ipvs\n", "mode: *gone\n",
          "mode: [ipvs]\n", "conntrack: {maxPerCore: *gone}\n", "conntrack: [1]\n", "mode: ipvs\n   min: 1\n",
          "mode: 'ipvs\n", "conntrack: {min: 1\nmode: ipvs\n"]


@pytest.mark.parametrize("text", UNREAD)
def test_what_cannot_be_read_is_none(text):
    assert parse_kube_proxy_config('{"kind": "KubeProxyConfiguration", "ipvs": []}') == (None, "ipvs is not a mapping")
    fields, problem = parse_kube_proxy_config(HEAD + text)
    assert parse_kube_proxy_config(HEAD).fields is not None and fields is None and 0 < len(problem) < 100


def test_aliases_that_grow():
    layers = ["a0: &a0 {x: y}"] + ["a%d: &a%d\n%s" % (layer, layer,
                                                      "\n".join("- *a%d" % (layer - 1) for _each in range(9)))
                                   for layer in range(1, 40)]
    assert parse_kube_proxy_config("\n".join(layers) + "\n" + HEAD + "mode: ipvs\n").fields["mode"] == "ipvs"


@pytest.mark.parametrize("text", ["", "kind: KubeletConfiguration\nmode: ipvs\n", '{"kind": "KubeProxyConfiguration"',
                                  "\x7fELF"])
def test_something_else_is_none(text):
    assert parse_kube_proxy_config(text).fields is None


def test_nesting_without_end():
    assert parse_kube_proxy_config('{"KubeProxyConfiguration":'
                                   + "[" * 100000) == (None, "line 1: it is nested deeper than 40 levels")


@given(st.text() | st.dictionaries(st.sampled_from(["mode", "ipvs", "kind"]), st.none() | st.text() | st.integers()
                                   | st.dictionaries(st.just("scheduler"), st.text() | st.integers())).map(json.dumps))
@example('{"ipvs": 1}')
def test_any_text_is_read_without_an_exception(text):
    for whole in (text, HEAD + text, '{"KubeProxyConfiguration": 1, ' + text[1:]):
        answer = parse_kube_proxy_config(whole).fields
        conntrack = answer.pop("conntrack") if answer else {}
        assert answer is None or all(isinstance(value, str)
                                     for value in list(answer.values()) + list(conntrack.values()))
