# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The textfile as the parser of Prometheus reads it, and the rules that `promtool check metrics` has for names."""

import re

import pytest
import report_runs
from prometheus_client.parser import text_string_to_metric_families

PREFIX = "kubenode_netfilter_"


@pytest.fixture(scope="module")
def metrics():
    reports, fleet = report_runs.everything()
    reports = dict(reports, **{"with-evidence": report_runs.report_of("with-evidence")})
    text = report_runs.text_of("prometheus", reports, report_runs.roll_up(reports, lost=["gone"]))
    return {metric.name: metric for metric in text_string_to_metric_families(text)}


def values_of(metrics, name, label="node"):
    return {sample.labels.get(label): sample.value for sample in metrics[PREFIX + name].samples}


def test_every_metric_has_a_help_and_is_named_by_the_rules(metrics):
    for name, metric in metrics.items():
        assert re.fullmatch(PREFIX + "[a-z][a-z_]*[a-z]", name) and metric.type == "gauge"
        assert metric.documentation.endswith(".") and metric.samples
        # A gauge is no counter, histogram or summary, and a unit is a base unit and stands in full.
        assert not re.search("_(total|count|sum|bucket|info_.*|ms|sec|secs|minutes|percent|kb|mb)$", name)
        assert all(set(sample.labels) <= {"node", "check", "severity", "status", "version"}
                   for sample in metric.samples)


def test_hostile_names_come_back_as_they_are_written(metrics):
    assert set(values_of(metrics, "node_reached")) == {"gone", "node-1.example", "web.\\x1b[2J<b>", "with-evidence"}


def test_numbers_of_the_evidence(metrics):
    numbers = {name[len(PREFIX):]: values_of(metrics, name[len(PREFIX):]).get("with-evidence") for name in metrics}
    assert {name: numbers[name] for name in (
        "conntrack_entries", "conntrack_limit", "iptables_rules", "iptables_kube_rules", "service_addresses",
        "xtables_lock_waiters", "xtables_lock_wait_seconds", "kube_proxy_sync_age_seconds",
        "kube_proxy_change_wait_seconds")} == {
            "conntrack_entries": 20480, "conntrack_limit": 131072, "iptables_rules": 384, "iptables_kube_rules": 0,
            "service_addresses": 31, "xtables_lock_waiters": 0, "xtables_lock_wait_seconds": 0,
            "kube_proxy_sync_age_seconds": 300.9, "kube_proxy_change_wait_seconds": 0}


def test_a_number_that_is_not_known_has_no_sample():
    text = report_runs.text_of("prometheus", *report_runs.run(dict(report_runs.report_of("a"), numbers=dict.fromkeys(
        report_runs.report_of("a")["numbers"]))))
    assert "conntrack_entries" not in text and "conntrack_peak_entries" in text
