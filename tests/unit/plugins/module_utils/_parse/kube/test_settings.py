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

@cases
def test_words(text, value):
    assert parse_go_bool(text) is value


# Parser of the few fields of a KubeProxyConfiguration.

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"


@cases
def test_mode_and_scheduler(text, mode, scheduler):
    fields, _problem = parse_kube_proxy_config(text)
    assert (fields.pop("mode"), fields.pop("scheduler")) == (mode, scheduler) and not any(fields.values())


@cases
def test_what_is_of_the_cluster_and_what_is_masqueraded(text, cidr, local, iptables, nftables):
    fields, _problem = parse_kube_proxy_config(text)
    assert (fields["cluster_cidr"], fields["detect_local_mode"]) == (cidr, local)
    assert (fields["masquerade_all"], fields["masquerade_all_nftables"]) == (iptables, nftables)


@cases
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


@cases
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


@cases
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


@cases
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
