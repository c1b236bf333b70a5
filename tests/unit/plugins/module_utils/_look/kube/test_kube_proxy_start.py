# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kube-proxy that has just started has no rules yet; they are not reported as missing."""

import pytest

import loopback
from fake_tools import LIVE, LOADED, tools, unpacked
from node_manifests import DEBIAN, merged, process
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains)

# Of kube-proxy 1.30.5, 75 s after its start, without an API server yet, and of kube-proxy 1.36.3 in operation.
NAME = "kubeproxy_sync_proxy_rules_last_timestamp_seconds"
HELP = "# HELP %s [ALPHA] The last time proxy rules were successfully synced\n# TYPE %s gauge\n" % (NAME, NAME)
AFTER = "# HELP kubeproxy_sync_proxy_rules_no_local_endpoints_total [ALPHA] Number of services\n"
FRESH = HELP + NAME + " 0\n" + AFTER
SYNCED = HELP + NAME + " 1.795329629561939e+09\n" + AFTER
BOTH = HELP + NAME + '{ip_family="IPv4"} 1.795329629561939e+09\n' + NAME + '{ip_family="IPv6"} %s\n' + AFTER
DURATION = """\
# TYPE kubeproxy_sync_proxy_rules_duration_seconds histogram
kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="+Inf"} %d
kubeproxy_sync_proxy_rules_duration_seconds_sum 1.9
kubeproxy_sync_proxy_rules_duration_seconds_count %d
"""
CANARIES = "".join("*%s\n:KUBE-PROXY-CANARY - [0:0]\nCOMMIT\n" % table for table in ("mangle", "filter", "nat"))
AGE = 75


def started(port, age=AGE, comm="kube-proxy"):
    proxy = process(500, comm, ("kube-proxy", "--metrics-bind-address=127.0.0.1:%d" % port),
                    start_time=str(100000 - age * 100))
    return merged(proxy, {"proc/uptime": "1000.00 1.00\n"})


def looked(tmp_path, port, rules=CANARIES, **fields):
    """(section node_kube_proxy, section node_iptables_chains) of a live node whose tools print `rules`."""
    print_them = tools('case $name in *tables*save) cat "${0%/*}/dump";; esac')
    host = unpacked(tmp_path, DEBIAN, LOADED, print_them, {"usr/sbin/dump": rules}, started(port, **fields))
    proxy = collect_kube_proxy(host, LIVE)
    return proxy, collect_iptables_chains(host, LIVE, {}, proxy, {"running": False, "version": None})


@pytest.mark.parametrize(
    "metrics, why", [
        (FRESH, "kube-proxy has run for only 75 seconds and has not written its rules yet"), (SYNCED, None),
        (BOTH % "0", "kube-proxy has run for only 75 seconds and has not written its rules yet"),
        # Before 1.33 one series counts both families, and the second family syncs after the first.
        (SYNCED + DURATION % (1, 1), "kube-proxy has run for only 75 seconds and has written the rules of one family "
                                     "so far"),
        (SYNCED + DURATION % (2, 2), None),
        (BOTH % "1.795329629561939e+09", None),
        ("# nothing\n", "kube-proxy has run for only 75 seconds, and its metrics do not show whether it has written "
                        "its rules")])
def test_its_metrics_tell_whether_it_has_synced(metrics, why, tmp_path):
    with loopback.serving("HTTP/1.0 200 OK\r\n\r\n", metrics) as server:
        proxy, chains = looked(tmp_path, server.port)
    assert (proxy["starting"], proxy["started_seconds_ago"], chains["starting"]) == (why, 75.0, why)
    assert ("anchor_missing" in chains["observed"]) == (why is None)
    assert any(row["kind"] == "anchor_missing" for row in chains["observations"]) == (why is None)


@pytest.mark.parametrize("metrics, lost", [(FRESH, False), (SYNCED, True)])
def test_one_that_never_wrote_its_rules_has_lost_none(metrics, lost, tmp_path):
    """Its first syncs failed: it is not starting but failing."""
    failed = metrics + "kubeproxy_sync_proxy_rules_iptables_restore_failures_total 3\n"
    with loopback.serving("HTTP/1.0 200 OK\r\n\r\n", failed) as server:
        proxy, chains = looked(tmp_path, server.port)
    assert proxy["starting"] is None and ("anchor_missing" in chains["observed"]) == lost
    assert chains["starting"] == (None if lost else "kube-proxy has never written its rules since its start: each of 3 "
                                                    "syncs failed")


def test_it_does_not_listen_before_it_has_reached_the_api_server(tmp_path):
    port = loopback.free_port()
    proxy, chains = looked(tmp_path / "a", port)
    assert proxy["starting"] == chains["starting"] and "do not show" in chains["starting"] and chains["observed"] == {}
    # After two minutes it is not starting but failing.
    proxy, chains = looked(tmp_path / "b", port, age=120)
    assert (proxy["starting"], chains["starting"]) == (None, None) and chains["observed"]["anchor_missing"]
    assert looked(tmp_path / "c", port, age=75,
                  rules=CANARIES.replace(":KUBE-PROXY-CANARY - [0:0]\n", ""))[1]["observed"] == {}


@pytest.mark.parametrize("metrics, observed", [(FRESH, False), (SYNCED, True)])
def test_its_own_chains_are_empty_until_its_first_sync(metrics, observed, tmp_path):
    """kube-proxy makes the chains that the built-in ones jump to one by one, then writes all rules at once (seen with
    1.36.2 and 5000 Services: five seconds)."""
    made = CANARIES.replace("*nat\n", "*nat\n:KUBE-POSTROUTING - [0:0]\n")
    with loopback.serving("HTTP/1.0 200 OK\r\n\r\n", metrics) as server:
        chains = looked(tmp_path, server.port, rules=made)[1]
    assert made != CANARIES and ("emptied_chain" in chains["observed"]) == observed == (chains["starting"] is None)


def test_what_is_there_already_is_told(tmp_path):
    """The rules of the previous kube-proxy exist, so their defects are reported."""
    dropped = ("*filter\n:FORWARD DROP [0:0]\n:KUBE-FORWARD - [0:0]\n:KUBE-PROXY-CANARY - [0:0]\n-A KUBE-FORWARD -j "
               "GONE\nCOMMIT\n")
    chains = looked(tmp_path, loopback.free_port(), rules=dropped + CANARIES.partition("*filter")[0])[1]
    assert chains["starting"] and chains["observed"] and not {"anchor_missing",
                                                              "canary_missing"} & set(chains["observed"])


def test_a_program_that_contains_it(tmp_path):
    proxy = looked(tmp_path, loopback.free_port(), comm="k3s-server", age=3)[0]
    assert proxy["starting"].startswith("kube-proxy has run for only 3 seconds")


def test_nobody_tells_since_when_it_runs(tmp_path):
    host = unpacked(tmp_path, DEBIAN, process(500, "kube-proxy", ("kube-proxy",), start_time="?"),
                    {"proc/uptime": "1000.00 1.00\n"})
    proxy = collect_kube_proxy(host, LIVE)
    assert (proxy["started_seconds_ago"], proxy["starting"]) == (None, None)
