# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of kube-proxy, kubelet and k3s."""

import json

import pytest
from hypothesis import example, given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.go_bool import parse_go_bool
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.k3s_config import (
    parse_k3s_config, passed_on)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_config import (
    parse_kube_proxy_config)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_conntrack import (
    FIELDS, FLAGS, parse_kube_proxy_conntrack)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kubelet_config import (
    DEFAULTS, FIELDS as KUBELET_FIELDS, parse_kubelet_config)


# The words that Go takes for a boolean.

@pytest.mark.parametrize("text, value", [
    ("true", True), ("TRUE", True), ("True", True), ("t", True), ("T", True), ("1", True), ("false", False),
    ("False", False), ("FALSE", False), ("f", False), ("F", False), ("0", False), ("tRue", None), ("yes", None),
    ("on", None), ("", None), (" true", None), ("2", None)])
def test_words(text, value):
    assert parse_go_bool(text) is value


# Parser of the few fields of a KubeProxyConfiguration.

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


@cases
def test_where_metrics_are_offered(text, metrics):
    assert parse_kube_proxy_config(text).fields["metrics"] == metrics


# A text that cannot be read as a whole is not treated as a configuration without settings.


@cases
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


# Settings of connection tracking as numbers.

def test_every_field_is_read():
    assert parse_kube_proxy_conntrack(
        {
            "maxPerCore": "0", "min": "262144", "tcpBeLiberal": "true", "tcpCloseWaitTimeout": "1h0m0s",
            "tcpEstablishedTimeout": "24h", "udpStreamTimeout": "0s",
            "udpTimeout": "90s"}) == {"maxPerCore": 0, "min": 262144, "tcpBeLiberal": 1, "tcpCloseWaitTimeout": 3600,
                                      "tcpEstablishedTimeout": 86400, "udpStreamTimeout": 0, "udpTimeout": 90}


def test_what_is_not_set_and_what_is_no_field_is_left_out():
    assert parse_kube_proxy_conntrack({"max": "5", "min": None}) == {}


@pytest.mark.parametrize("texts", [{"min": "many"}, {"tcpEstablishedTimeout": "one day"}, {"tcpBeLiberal": "perhaps"},
                                   {"min": "1", "maxPerCore": "1.5"}])
def test_a_value_that_cannot_be_read_makes_all_of_them_unknown(texts):
    assert parse_kube_proxy_conntrack(texts) is None


def test_each_field_has_its_flag():
    assert sorted(FLAGS.values()) == sorted(FIELDS) and len(FLAGS) == len(FIELDS)


# Parser of the few fields of a KubeletConfiguration.

KIND = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
KUBEADM = KIND + """\
authentication:
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
  webhook:
    port: 1
clusterDNS:
- 10.96.0.10
port: 10260
staticPodURLHeader:
  Authorization: ["Bearer of a secret"]
makeIPTablesUtilChains: false
"""


@pytest.mark.parametrize(
    "text, found", [
        (KIND, {}),
        (KUBEADM, {"port": 10260, "make_iptables_util_chains": False}),
        (KIND + "readOnlyPort: 10255 # for the old agent\nhealthzPort: 10300\nhairpinMode: \"hairpin-veth\"\n",
         {"read_only_port": 10255, "healthz_port": 10300, "hairpin_mode": "hairpin-veth"}),
        (KIND + "iptablesMasqueradeBit: 16\r\niptablesDropBit: 17\r\n",
         {"iptables_masquerade_bit": 16, "iptables_drop_bit": 17}),
        (KIND + '"port": 10261\n', {"port": 10261}),
        (KIND + "port: 1\nport: 2\n", {"port": 2}),
        # A value that makes no sense to us is not the default.
        (KIND + "port: many\nmakeIPTablesUtilChains: perhaps\nhairpinMode: secret\nreadOnlyPort: -1\nhealthzPort: "
                "'10300'\niptablesDropBit: [1]\n",
         dict.fromkeys(("port", "make_iptables_util_chains", "hairpin_mode", "read_only_port", "healthz_port",
                        "iptables_drop_bit"))),
        (KIND.replace("apiV", "  apiV").replace("kind", "  kind") + "  port: 10262\n", {"port": 10262}),
        ("{kind: KubeletConfiguration, 'port': 10264,\n  makeIPTablesUtilChains: false, clusterDNS: [10.96.0.10]}\n",
         {"port": 10264, "make_iptables_util_chains": False}),
        ("'kind': KubeletConfiguration\n'makeIPTablesUtilChains' : false\n", {"make_iptables_util_chains": False}),
        ("x: &port 10265\nkind: KubeletConfiguration\nport: *port\nmakeIPTablesUtilChains:\n  false\n",
         {"port": 10265, "make_iptables_util_chains": False}),
        ("kind: &kind KubeletConfiguration\nmakeIPTablesUtilChains: &no false\n", {"make_iptables_util_chains": False}),
        ("kind: InitConfiguration\nport: 1\n---\n" + KIND + "port: 10266\n---\nport: 2\n", {"port": 10266}),
        (KIND + "hairpinMode: ~\nport: null\nreadOnlyPort:\n", {}),
        ('{"kind": "KubeletConfiguration", "port": 10263, "makeIPTablesUtilChains": false, "clusterDNS": '
         '["10.96.0.10"], "hairpinMode": null}', {"port": 10263, "make_iptables_util_chains": False}),
        ("x: &x {port: 10267, readOnlyPort: 1}\n" + KIND + "<<: *x\nreadOnlyPort: 0x10\nmakeIPTablesUtilChains: off\n",
         {"port": 10267, "read_only_port": 16, "make_iptables_util_chains": False}),
        ('{\n\t"kind":"KubeletConfiguration",\n\t"makeIPTablesUtilChains":false,\n\t"port":10268\n}\n',
         {"port": 10268, "make_iptables_util_chains": False}),
    ])
def test_fields(text, found):
    assert parse_kubelet_config(text) == (found, None)


@pytest.mark.parametrize("text", ["", "kind: KubeProxyConfiguration\nport: 1\n", '{"kind": "KubeletConfiguration"',
                                  "{}", "\x7fELF", "port: 10250\n", '{"kind":"KubeletConfiguration",' + "[" * 100000,
                                  "# kind: KubeletConfiguration\n", KIND + "port: 1\n    more: 2\n",
                                  KIND + "<<: *x\n",
                                  "x: &x {port: 1}\nport: 2\n" + KIND + "<<: *x\n", KIND + "? port\n: 1\n",
                                  KIND + "port: !!int 10261\n", KIND + "x: {port: *y}\n", "  " + KIND + "port: 3\n",
                                  KIND + "\tport: 3\n"])
def test_something_else_is_none_kubelet_config(text):
    fields, problem = parse_kubelet_config(text)
    assert fields is None and problem


def test_every_field_has_a_default():
    assert set(DEFAULTS) == set(KUBELET_FIELDS)


@given(st.text() | st.dictionaries(st.sampled_from(sorted(field for field, _read in KUBELET_FIELDS.values())
                                                   + ["kind"]),
                                   st.none() | st.text() | st.integers() | st.booleans()
                                   | st.lists(st.integers())).map(json.dumps))
def test_any_text_is_read_without_an_exception_and_only_what_is_known_is_kept(text):
    for whole in (text, KIND + text, '{"kind": "KubeletConfiguration", ' + text[1:]):
        found = parse_kubelet_config(whole).fields
        assert found is None or set(found) <= set(KUBELET_FIELDS)
        for value in (found or {}).values():
            assert value in ("promiscuous-bridge", "hairpin-veth", "none", None) or 0 <= value <= 99999


# The options in a configuration of k3s.

def arguments(text):
    options, problem = parse_k3s_config(text, ("kubelet-arg",))
    assert (options is None) == bool(problem)
    return passed_on(options.get("kubelet-arg", ([], False))[0]) if options is not None else None


@cases
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
