# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of real kube-proxies 1.30 to 1.36, and of the oldest that is read."""

import pytest

import kube_proxy_captures
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_answers import (
    parse_kube_proxy_metrics)

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


def parsed(directory, snapshot=""):
    place = kube_proxy_captures.capture(directory, snapshot)
    return parse_kube_proxy_metrics(kube_proxy_captures.texts()[place]["metrics"].decode("utf-8"))


def test_each_family_has_its_own_series_since_1_33():
    found = parsed("iptables-mode/kube-proxy-1.36.3/nft/small")
    assert (found["version"], sorted(found["families"])) == ("1.36.3", ["ipv4", "ipv6"])
    assert {family: row["rules"] for family, row in found["families"].items()} == {
        "ipv4": {"filter": 18, "nat": 314}, "ipv6": {"filter": 17, "nat": 300}}
    row = found["families"]["ipv4"]
    assert row["queued"] < row["synced"] and row["duration"].count >= 1 and row["restore_failures"] == 0
    assert found["pending"] == {"services": 0, "endpoints": 0} and found["requests"]["200"] >= 1


def test_both_families_share_one_series_before():
    found = parsed("iptables-mode/kube-proxy-1.30.5/nft/small")
    assert sorted(found["families"]) == ["all"]
    assert found["families"]["all"]["rules"] == {"filter": 17, "nat": 300}
    assert found["families"]["all"]["no_local_endpoints"] == {"external": 2, "internal": 1}


def test_failures_of_one_family():
    families = parsed("restore-fails/kube-proxy-1.36.3-iptables-nft", "2-70s-later")["families"]
    assert (families["ipv4"]["restore_failures"], families["ipv6"]["restore_failures"]) == (3, 0)
    assert (families["ipv4"]["queued"] > families["ipv4"]["synced"]
            and families["ipv6"]["queued"] < families["ipv6"]["synced"])
    families = parsed("nft-flush-ruleset/kube-proxy-1.36.3-nftables", "4-40s-later")["families"]
    assert (families["ipv4"]["nftables_failures"], families["ipv4"]["rules"]) == (1, None)


def test_requests_without_an_answer():
    assert parsed("api-dies/kube-proxy-1.30.5-iptables-nft",
                  "1-75s-later")["requests"] == {"200": 7, "201": 3, "none": 22}


def test_the_oldest():
    found = parse_kube_proxy_metrics(OF_1_20)
    row = found["families"]["all"]
    assert (found["version"], row["synced"], row["restore_failures"], row["rules"]) == ("1.20.2", None, 2, None)
    assert (row["duration"].quantile(0.99), row["duration"].above_percent()) == (None, 25.0)
    assert row["no_local_endpoints"] == {"external": None, "internal": None}


def test_never_is_zero_or_no_series():
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


def test_a_node_may_call_itself_anything():
    found = parse_kube_proxy_metrics('kubernetes_build_info{git_version="v1.2.x"} 1\n' + "".join(
        'rest_client_requests_total{code="%d"} 1\n' % code for code in range(100, 999)))
    assert found["version"] is None and len(found["requests"]) == 20


@pytest.mark.parametrize("number", ["+Inf", "-Inf", "NaN", "1e999", "-1", "1e300"])
def test_a_time_that_is_none_costs_only_its_value(number):
    found = parse_kube_proxy_metrics(
        'kubernetes_build_info{git_version="v1.33.2"} 1\nprocess_start_time_seconds %s\n' % number)
    assert (found["version"], found["started"]) == ("1.33.2", None)
