# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of kube-proxy, kubelet and k3s."""

import json

from hypothesis import example, given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.go_values import parse_go_bool
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.k3s_config import (
    parse_k3s_config, passed_on)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.component_config import (
    DEFAULTS, KUBELET_FIELDS as KUBELET_FIELDS, parse_kube_proxy_config, parse_kubelet_config)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_conntrack import (
    FIELDS, FLAGS, parse_kube_proxy_conntrack)

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
KIND = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@cases
def test_words(text, value):
    """The words that Go takes for a boolean."""
    assert parse_go_bool(text) is value


def kube_proxy(text):
    """The fields that are set."""
    fields = parse_kube_proxy_config(text).fields
    return fields and {name: value for name, value in fields.items() if value}


def kubelet(text):
    fields, problem = parse_kubelet_config(text)
    assert (fields is None) == bool(problem)
    return fields


def arguments(text):
    """Those of kubelet in a configuration of k3s."""
    options, problem = parse_k3s_config(text, ("kubelet-arg",))
    assert (options is None) == bool(problem)
    return passed_on(options.get("kubelet-arg", ([], False))[0]) if options is not None else None


PARSERS = {"kube-proxy": kube_proxy, "conntrack": parse_kube_proxy_conntrack, "kubelet": kubelet, "k3s": arguments}


@cases
def test_what_is_read(parser, text, found):
    assert PARSERS[parser](text) == found


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


def test_nesting_without_end():
    for parse, head in ((parse_kube_proxy_config, '{"KubeProxyConfiguration":'),
                        (parse_kubelet_config, '{"kind":"KubeletConfiguration",')):
        assert parse(head + "[" * 100000) == (None, "line 1: it is nested deeper than 40 levels")


@given(st.text() | st.dictionaries(st.sampled_from(["mode", "ipvs", "kind"]), st.none() | st.text() | st.integers()
                                   | st.dictionaries(st.just("scheduler"), st.text() | st.integers())).map(json.dumps))
@example('{"ipvs": 1}')
def test_any_text_is_read_without_an_exception(text):
    for whole in (text, HEAD + text, '{"KubeProxyConfiguration": 1, ' + text[1:]):
        answer = parse_kube_proxy_config(whole).fields
        conntrack = answer.pop("conntrack") if answer else {}
        assert answer is None or all(isinstance(value, str)
                                     for value in list(answer.values()) + list(conntrack.values()))


def test_each_field_has_its_flag_or_its_default():
    assert sorted(FLAGS.values()) == sorted(FIELDS) and len(FLAGS) == len(FIELDS)
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


def test_whether_they_are_added_to_those_of_files_ahead():
    assert parse_k3s_config("a+: 1\nb: [2]\nc+: 3\nc: 4\nd: 5\nd+: 6\n", "abcd") == (
        {"a": (["1"], True), "b": (["2"], False), "c": (["4"], False), "d": (["5", "6"], False)}, None)


def test_numbers_and_booleans_are_passed_on_as_go_prints_them():
    text = "a: [yes, Off, 0x10, 1.50, 'yes', \"0x10\"]\n"
    assert parse_k3s_config(text, "a")[0]["a"][0] == ["true", "false", "16", "1.50", "yes", "0x10"]


@given(st.text())
def test_any_text(text):
    assert all(argument.startswith("--") for argument in arguments("kubelet-arg:\n" + text) or [])
