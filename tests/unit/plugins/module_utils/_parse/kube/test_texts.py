# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of CNI plugins, names of log files, lines of kubelet's log, answers and metrics of kube-proxies."""

import json
import re

import kube_proxy_captures
import pytest
from case_rows import cases, tables_of
from hypothesis import example, given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.cni_config import (
    addresses_of, parse_cni_config, parse_range_sets,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_answers import (
    parse_configz, parse_healthz, parse_kube_proxy_metrics, split_answer,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kubelet_logs import (
    PATTERN, parse_container_link, parse_kubelet_log, parse_pod_folder,
)

JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(
                        st.sampled_from(["plugins", "type", "x"]), inner), max_leaves=12)
JSON_HOST_LOCAL = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.sampled_from(["10.0.0.0/24", "usePodCidr"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["ranges", "subnet", "rangeStart", "gateway"]), inner), max_leaves=8)
SAID = [row[what] % "IPv4" for row in tables_of(__file__)["every_form"] for what in ("failed", "done")]
UID, ID = "a5c1f8d5-1919-434d-add7-4afaafdaef89", "5e" * 32
# What 1.20 had, in its words: no number of rules, no label for families.
OF_1_20 = """\
kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="0.001"} 0
kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="16.384"} 3
kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="+Inf"} 4
kubeproxy_sync_proxy_rules_iptables_restore_failures_total 2
kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds 1.7953295839898546e+09
kubeproxy_sync_proxy_rules_last_timestamp_seconds 0
kubernetes_build_info{git_version="v1.20.2-eks-1a2b",major="1"} 1
"""


@cases
def test_what_libcni_refuses(text, is_list, problem):
    assert parse_cni_config(text, is_list).problem == problem


def test_a_list_of_plugins_beside_the_type_of_a_single_one_is_ignored():
    config = parse_cni_config('{"name": "n", "type": "bridge", "plugins": [{"type": "portmap"}]}', False)
    assert (config.plugins, config.problem) == (["bridge"], None)
    assert parse_cni_config('{"plugins":' + "[" * 100000, True).problem == "is nested too deeply"


@given(JSON.map(json.dumps) | st.text())
@example('{"type": 1e999}')
@example('{"type": "bridge", "plugins": []}')
@example('{"type": ' + "9" * 5000 + "}")
def test_any_text_is_read_without_an_exception(text):
    for is_list in (False, True):
        config = parse_cni_config(text, is_list)
        assert all(isinstance(plugin, str) and plugin for plugin in config.plugins + config.programs)
        assert config.problem or config.plugins


# Ranges of host-local. The expected numbers are those of its allocator: the gateway and the broadcast address of IPv4
# are not given to pods.
def sets_of(ipam):
    return [problem or addresses_of(ranges) for ranges, problem in parse_range_sets(ipam, {"usePodCidr": "10.3.0.0/24",
                                                                                           "usePodCidrIPv6": None})]


@cases
def test_addresses_of_a_range_set(ipam, found):
    assert sets_of(ipam) == found


@cases
def test_ranges_that_host_local_refuses(row):
    assert sets_of({"ranges": [[row]]}) == ["host-local refuses the range of %s" % row["subnet"]]


@given(st.dictionaries(st.sampled_from(["ranges", "subnet", "rangeEnd"]), JSON_HOST_LOCAL))
def test_any_setting_is_read_without_an_exception(ipam):
    assert all((ranges is None) == bool(problem) for ranges, problem in parse_range_sets(ipam, {}))


def answer(source, directory, snapshot=""):
    text = kube_proxy_captures.texts()[kube_proxy_captures.capture(directory, snapshot)][source]
    return split_answer(text.decode("utf-8"))


def test_health_since_1_33_and_before():
    code, body = answer("healthz", "iptables-mode/kube-proxy-1.36.3/nft/small")
    assert (code, parse_healthz(body)) == (
        200, {"node_eligible": True, "healthy": {"ipv4": True, "ipv6": True}, "now": 1795329529})
    code, body = answer("healthz", "restore-hangs/kube-proxy-1.36.3-iptables-nft", "2-70s-hanging")
    assert (code, parse_healthz(body)["healthy"]) == (503, {"ipv4": False, "ipv6": True})
    code, body = answer("healthz", "unknown-node/kube-proxy-1.36.3-iptables-nft", "2-40s")
    assert (code, parse_healthz(body)["node_eligible"]) == (503, False)
    code, body = answer("healthz", "iptables-mode/kube-proxy-1.30.5/nft/small")
    assert (code, parse_healthz(body)) == (200, {"node_eligible": True, "healthy": {}, "now": 1795329591})
    assert parse_healthz(answer("livez", "iptables-mode/kube-proxy-1.30.5/nft/small")[1])["node_eligible"] is None
    old = ('{"lastUpdated": "2026-11-22 06:39:51.6 +0000 UTC m=+7.9","currentTime": "2026-11-22 06:39:51.6 +0100 CET '
           'm=+7.9"}')
    assert parse_healthz(old) == {"node_eligible": None, "healthy": {}, "now": None}


def test_configurations_of_each_version_and_of_other_types():
    for version in ("1.30.5", "1.34.9", "1.36.3"):
        assert parse_configz(answer("configz", "iptables-mode/kube-proxy-%s/nft/small" % version)[1]) == {
            "mode": "iptables", "sync_period_seconds": 30}
    assert parse_configz('{"kubeproxy.config.k8s.io": {"mode": 5, "iptables": []}}') == {
        "mode": None, "sync_period_seconds": None}


@pytest.mark.parametrize("text",
                         ["", "ok", "[]", "5", "null", "{}", "[" * 100000, '{"healthy": true}', "\x00", '{"a":'])
def test_what_is_no_body(text):
    assert parse_healthz(text) is None and parse_configz(text) is None


@cases
def test_the_head_of_a_saved_answer(text, found):
    assert split_answer(text) == found


@cases
def test_times_that_are_none(time):
    body = '{"currentTime": %s}' % ('"%s"' % time if isinstance(time, str) else "null" if time is None else time)
    assert parse_healthz(body)["now"] is None


@cases
def test_every_form(version, failed, done):
    found = parse_kubelet_log(failed % "IPv4" + "\n" + done % "IPv6" + "\n")
    assert (found["ipv4"][0], found["ipv6"][0]) == (True, False)
    assert "iptables rules" in found["ipv4"][1] and "IPv4" in found["ipv4"][1] and "\\" not in found["ipv4"][1]
    # journalctl is asked with a pattern that has to find both; in small letters it does not tell capitals apart.
    assert all(re.search(PATTERN, line, re.IGNORECASE) for line in (failed, done))


def test_what_was_said_last_counts():
    assert parse_kubelet_log("\n".join(SAID[:2]))["ipv4"][0] is False
    assert parse_kubelet_log("\n".join(SAID[1::-1]))["ipv4"][0] is True


@cases
def test_what_says_nothing(line):
    assert parse_kubelet_log(line) == {}


@given(st.text() | st.lists(st.sampled_from(SAID) | st.text(max_size=30)).map("\n".join))
def test_any_log_and_any_name(text):
    found = parse_kubelet_log(text)
    assert set(found) <= {"ipv4", "ipv6"}
    assert all(len(line) < 250 and "\n" not in line for _failed, line in found.values())
    assert parse_pod_folder(text) is None or text.count("_") == 2
    assert parse_container_link(text) is None or text.endswith(".log")


def test_folders_of_pods_and_links_of_containers():
    assert parse_pod_folder("kube-system_kube-proxy-hx7cw_" + UID) == (UID, "kube-system", "kube-proxy-hx7cw")
    assert parse_pod_folder("kube-system_kube-apiserver-node.example_" + "c9" * 16) == ("c9" * 16, "kube-system",
                                                                                        "kube-apiserver-node.example")
    assert parse_container_link("calico-node-x_kube-system_install-cni-%s.log"
                                % ID) == (ID, "kube-system", "calico-node-x", "install-cni")


@cases
def test_other_names(name):
    assert parse_pod_folder(name) is None and parse_container_link(name) is None


def parsed(directory, snapshot=""):
    return parse_kube_proxy_metrics(answer("metrics", directory, snapshot)[1])


def test_each_family_has_its_own_series_since_1_33_and_both_share_one_before():
    found = parsed("iptables-mode/kube-proxy-1.36.3/nft/small")
    assert (found["version"], sorted(found["families"])) == ("1.36.3", ["ipv4", "ipv6"])
    assert {family: row["rules"] for family, row in found["families"].items()} == {
        "ipv4": {"filter": 18, "nat": 314}, "ipv6": {"filter": 17, "nat": 300}}
    row = found["families"]["ipv4"]
    assert row["queued"] < row["synced"] and row["duration"].count >= 1 and row["restore_failures"] == 0
    assert found["pending"] == {"services": 0, "endpoints": 0} and found["requests"]["200"] >= 1
    found = parsed("iptables-mode/kube-proxy-1.30.5/nft/small")
    assert sorted(found["families"]) == ["all"]
    assert found["families"]["all"]["rules"] == {"filter": 17, "nat": 300}
    assert found["families"]["all"]["no_local_endpoints"] == {"external": 2, "internal": 1}


def test_failures_of_one_family_and_requests_without_an_answer():
    families = parsed("restore-fails/kube-proxy-1.36.3-iptables-nft", "2-70s-later")["families"]
    assert (families["ipv4"]["restore_failures"], families["ipv6"]["restore_failures"]) == (3, 0)
    assert (families["ipv4"]["queued"] > families["ipv4"]["synced"]
            and families["ipv6"]["queued"] < families["ipv6"]["synced"])
    families = parsed("nft-flush-ruleset/kube-proxy-1.36.3-nftables", "4-40s-later")["families"]
    assert (families["ipv4"]["nftables_failures"], families["ipv4"]["rules"]) == (1, None)
    requests = parsed("api-dies/kube-proxy-1.30.5-iptables-nft", "1-75s-later")["requests"]
    assert requests == {"200": 7, "201": 3, "none": 22}


def test_the_oldest_and_what_never_was():
    found = parse_kube_proxy_metrics(OF_1_20)
    row = found["families"]["all"]
    assert (found["version"], row["synced"], row["restore_failures"], row["rules"]) == ("1.20.2", None, 2, None)
    assert (row["duration"].quantile(0.99), row["duration"].above_percent()) == (None, 25.0)
    assert row["no_local_endpoints"] == {"external": None, "internal": None}
    assert parsed("api-unreachable-at-start/kube-proxy-1.30.5-iptables-nft",
                  "2-75s")["families"]["all"]["synced"] is None
    series = 'kubeproxy_sync_proxy_rules_iptables_total{ip_family="IPv6",table="nat"} 5\n'
    assert parse_kube_proxy_metrics(series)["families"]["ipv6"]["synced"] is None


@pytest.mark.parametrize("text",
                         ["", "# nothing\n", "process_start_time_seconds 5\n", "\x00" * 1000, "kubeproxy_other 3\n"])
def test_metrics_of_another_program(text):
    assert parse_kube_proxy_metrics(text) is None


@cases
def test_numbers_that_can_be_none(line, key, value):
    assert parse_kube_proxy_metrics(line)["families"]["all"][key] == value


def test_a_node_may_call_itself_anything_and_a_time_that_is_none_costs_only_its_value():
    found = parse_kube_proxy_metrics('kubernetes_build_info{git_version="v1.2.x"} 1\n' + "".join(
        'rest_client_requests_total{code="%d"} 1\n' % code for code in range(100, 999)))
    assert found["version"] is None and len(found["requests"]) == 20
    for number in ("+Inf", "-Inf", "NaN", "1e999", "-1", "1e300"):
        found = parse_kube_proxy_metrics(
            'kubernetes_build_info{git_version="v1.33.2"} 1\nprocess_start_time_seconds %s\n' % number)
        assert (found["version"], found["started"]) == ("1.33.2", None)
