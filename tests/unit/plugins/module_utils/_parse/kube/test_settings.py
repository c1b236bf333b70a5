# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of kube-proxy, kubelet and k3s, Go's durations, and states of containers as three runtimes keep them."""

import json

import pytest
from case_rows import cases
from hypothesis import example, given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.component_config import (
    CONNTRACK_FIELDS, DEFAULTS, FLAGS, KUBELET_FIELDS, parse_go_bool, parse_go_duration,
    parse_k3s_config, parse_kube_proxy_config, parse_kube_proxy_conntrack, parse_kubelet_config, passed_on,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kubelet_logs import (
    parse_container_state, seconds_of,
)

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
KIND = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
CONTAINERD = '{"Version":"v1","Pid":%s,"CreatedAt":5,"StartedAt":1764110000000000000,"FinishedAt":%s,"ExitCode":%s,' \
             '"Reason":"%s","Message":"%s"}'
CRIO = '{"ociVersion":"1.0","status":"stopped","created":"2025-11-25T22:33:19Z","started":"2025-11-25T22:33:20Z",' \
       '"finished":"%s","exitCode":%s}'
DOCKER = '{"ID":"5e","Config":{"Env":["TOKEN=x"]},"State":{"Running":%s,"OOMKilled":%s,"ExitCode":137,"Error":"",' \
         '"StartedAt":"2025-11-25T22:33:20.5Z","FinishedAt":"2025-11-25T23:33:21+01:00"}}'
STARTED = 1764110000


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


@cases
def test_what_cannot_be_read_is_none(text):
    """It is not treated as a configuration without settings."""
    assert parse_kube_proxy_config('{"kind": "KubeProxyConfiguration", "ipvs": []}') == (None, "ipvs is not a mapping")
    fields, problem = parse_kube_proxy_config(HEAD + text)
    assert parse_kube_proxy_config(HEAD).fields is not None and fields is None and 0 < len(problem) < 100


@given(st.text() | st.dictionaries(st.sampled_from(["mode", "ipvs", "kind"]), st.none() | st.text() | st.integers()
                                   | st.dictionaries(st.just("scheduler"), st.text() | st.integers())).map(json.dumps))
@example('{"ipvs": 1}')
def test_any_text_is_read_without_an_exception(text):
    for whole in (text, HEAD + text, '{"KubeProxyConfiguration": 1, ' + text[1:]):
        answer = parse_kube_proxy_config(whole).fields
        conntrack = answer.pop("conntrack") if answer else {}
        assert answer is None or all(isinstance(value, str)
                                     for value in list(answer.values()) + list(conntrack.values()))
    assert all(argument.startswith("--") for argument in arguments("kubelet-arg:\n" + text) or [])
    assert parse_go_duration(text) is None or isinstance(parse_go_duration(text), int)


def test_each_field_has_its_flag_or_its_default():
    assert sorted(FLAGS.values()) == sorted(CONNTRACK_FIELDS) and len(FLAGS) == len(CONNTRACK_FIELDS)
    assert set(DEFAULTS) == set(KUBELET_FIELDS)


@given(st.text() | st.dictionaries(st.sampled_from(sorted(field for field, _read in KUBELET_FIELDS.values())
                                                   + ["kind"]), st.none() | st.text() | st.integers()
                                   | st.booleans() | st.lists(st.integers())).map(json.dumps))
def test_any_text_is_read_without_an_exception_and_only_what_is_known_is_kept(text):
    for whole in (text, KIND + text, '{"kind": "KubeletConfiguration", ' + text[1:]):
        found = parse_kubelet_config(whole).fields
        assert found is None or set(found) <= set(KUBELET_FIELDS)
        for value in (found or {}).values():
            assert value in ("promiscuous-bridge", "hairpin-veth", "none", None) or 0 <= value <= 99999


def test_options_of_k3s_are_added_to_those_ahead_and_passed_on_as_go_prints_them():
    assert parse_k3s_config("a+: 1\nb: [2]\nc+: 3\nc: 4\nd: 5\nd+: 6\n", "abcd") == (
        {"a": (["1"], True), "b": (["2"], False), "c": (["4"], False), "d": (["5", "6"], False)}, None)
    text = "a: [yes, Off, 0x10, 1.50, 'yes', \"0x10\"]\n"
    assert parse_k3s_config(text, "a")[0]["a"][0] == ["true", "false", "16", "1.50", "yes", "0x10"]


@pytest.mark.parametrize(
    "text, seconds", [
        ("24h0m0s", 86400), ("1h", 3600), ("90s", 90), ("0s", 0), ("0", 0), ("-0", 0), ("1.5h", 5400), (".5m", 30),
        ("250ms", 0), ("1500ms", 1), ("2h45m", 9900), ("-10s", -10), ("+10s", 10), ("999999us", 0),
        (u"1000000\u00b5s", 1), ("0.1s", 0), ("30m0.000000001s", 1800),
        ("+0", 0), ("1.s", 1), ("-.5h", -1800), ("0.99999999999999999999s", 0), ("0" * 5000 + "1s", 1),
        ("9223372036854775807ns", 9223372036), ("-9223372036854775808ns", -9223372036), ("2562047h", 9223369200)])
def test_whole_seconds(text, seconds):
    assert parse_go_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "1d", "1h 2m", "--1s", "1s1", "1,5s", "null", "one", "-", "1h-1s",
                                  "++5s", "+-5s", "+", "00", ".", ".s", "1..5s", "1.5", "1hm", " 1s", "1s\n", "1S",
                                  "9223372036854775808ns", "2562048h", "-9223372036854775809ns", "9" * 5000 + "s",
                                  "9" * 200000, u"\u0661s"])
def test_what_is_no_duration(text):
    assert parse_go_duration(text) is None


@pytest.mark.parametrize("text, state", [
    (CONTAINERD % (0, "1764110001000000000", 1, "Error", ""), (STARTED, STARTED + 1, 1, "Error", "")),
    (CONTAINERD % (0, "1764110001000000000", 128, "StartError", "not found"),
     (STARTED, STARTED + 1, 128, "StartError", "not found")),
    (CONTAINERD % (7, 0, 0, "", ""), (STARTED, None, None, None, "")),
    (CONTAINERD % (0, "9" * 400, 0, "", ""), (STARTED, None, None, None, "")),
    (CRIO % ("2025-11-25T22:33:21.000000001Z", 0), (STARTED, STARTED + 1, 0, "Completed", "")),
    (CRIO % ("2025-11-25T22:33:21Z", '137,"oomKilled":true'), (STARTED, STARTED + 1, 137, "OOMKilled", "")),
    (CRIO % ("0001-01-01T00:00:00Z", '0'), (STARTED, None, None, None, "")),
    (DOCKER % ("false", "true"), (STARTED, STARTED + 1, 137, "OOMKilled", "")),
    (DOCKER % ("false", "false"), (STARTED, STARTED + 1, 137, "Error", "")),
    (DOCKER % ("true", "false"), (STARTED, None, None, None, "")),
    (CONTAINERD % (0, '"x"', '"y"', "<b>", ""), (STARTED, None, None, None, "")),
    ("", None), ("[]", None), ("{}", None), ("[" * 100000, None), ('{"State": 5, "Version": "v2"}', None),
])
def test_states(text, state):
    assert parse_container_state(text) == state


@pytest.mark.parametrize("text, seconds", [
    ("2025-11-25T22:33:20Z", STARTED), ("2025-11-25T17:03:20.1-05:30", STARTED), ("0001-01-01T00:00:00Z", None),
    ("2025-11-25T22:99:20Z", None), ("2025-11-25 22:33:20", None), (5, None), (None, None)])
def test_times(text, seconds):
    assert seconds_of(text) == seconds
