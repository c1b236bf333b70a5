# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running kube-proxy answers, from a stand-in on the loopback interface that behaves and misbehaves."""

import itertools
import json
import time

import pytest
import kube_proxy_captures
import loopback
import node_tree
from case_rows import cases
from fake_tools import LIVE, LOADED, ToolNode, tools, unpacked
from kube_proxy_captures import PATHS, replay
from node_manifests import DEBIAN, merged, process
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.local_http import Answer
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube import kube_proxy_running
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_running import (
    sync_row, window_of)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_answers import (
    parse_kube_proxy_metrics)

SMALL = "iptables-mode/kube-proxy-1.36.3/nft/small"


def look(tmp_path, answers, seconds=0, **fields):
    """The section of a node whose kube-proxy is a server with these answers."""
    with loopback.answering(answers) as server:
        place = "127.0.0.1:%d" % server.port
        proxy = process(500, "kube-proxy",
                        ("kube-proxy", "--metrics-bind-address=" + place, "--healthz-bind-address=" + place), **fields)
        tree = node_tree.unpack(merged(DEBIAN, proxy, {"proc/uptime": "9000.00 1.00\n"}), tmp_path)
        section = collect_kube_proxy(ToolNode(tree), LIVE, seconds)
    section["asked"] = server.asked
    return section


def test_a_healthy_one(tmp_path):
    section = look(tmp_path, replay(SMALL))
    assert {source: section["collected"][source] for source in PATHS} == dict.fromkeys(PATHS, "ok")
    assert (section["effective_mode"], section["version"], section["sync_period_seconds"]) == ("iptables", "1.36.3", 30)
    assert section["health"] == {"healthz_code": 200, "livez_code": 200, "node_eligible": True,
                                 "unhealthy_families": []}
    assert [(row["family"], row["waiting"], row["waiting_seconds"], row["never_synced"])
            for row in section["sync"]] == [
                ("ipv4", False, 0.0, False), ("ipv6", False, 0.0, False)]
    assert section["api_watch"]["state"] == "unknown" and "window_seconds" in section["api_watch"]["because"]
    assert (section["pid"], section["program"], section["found_by"]) == (500, "kube-proxy", "the name of its process")
    assert sorted(section["asked"]) == sorted(PATHS.values())
    assert len(json.dumps(section)) < 6000


def test_before_1_28(tmp_path):
    answers = replay("iptables-mode/kube-proxy-1.30.5/nft/small")
    del answers["/livez"], answers["/configz"]
    section = look(tmp_path, answers)
    assert (section["collected"]["livez"], section["collected"]["configz"]) == ("absent", "absent")
    assert [row["family"] for row in section["sync"]] == ["all"] and section["health"]["livez_code"] is None


HUGE = itertools.chain([b"HTTP/1.0 200 OK\r\n\r\n"], itertools.repeat(b"kubeproxy_x 1\n" * 5000, 150000))


@pytest.mark.parametrize("pieces, status", [
    ((None,), "timeout"), ((b"HTTP/1.0 200 OK\r\n\r\nkubernetes_build_info 1\n", None), "timeout"),
    ((b"HTTP/1.0 200 OK\r\nContent-Length: 900\r\n\r\nkubernetes_build_info 1\n",), "unparsed"),
    (HUGE, "unparsed"), ((b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/metrics\r\n\r\n",), "unparsed"),
    # The alert of a server with TLS.
    ((b"\x15\x03\x01\x00\x02\x02\x16",), "unparsed"), ((b"HTTP/1.0 200 OK\r\n\r\n\xff\xfe<html>",), "unparsed"),
    ((b"HTTP/1.1 403 Forbidden\r\n\r\nkubernetes_build_info 1\n",), "unparsed"), ((), "unparsed"),
])
def test_metrics_that_are_none(pieces, status, tmp_path, monkeypatch):
    monkeypatch.setattr(kube_proxy_running, "SECONDS", 0.5)
    answers = replay(SMALL, metrics=pieces)
    section = look(tmp_path, answers)
    assert section["collected"]["metrics"] == section["collected"]["version"] == status
    assert (section["sync"], section["version"], section["pending"]) == ([], None, None)
    assert section["rules_because"] and section["running"] is True


@pytest.mark.parametrize("pieces", [(None,), (b"H", None)])
def test_one_that_is_stopped_does_not_delay_the_look(pieces, tmp_path, monkeypatch):
    monkeypatch.setattr(kube_proxy_running, "SECONDS", 0.2)
    begun = time.monotonic()
    section = look(tmp_path, dict.fromkeys(PATHS.values(), pieces), state="T")
    assert time.monotonic() - begun < 10
    assert {section["collected"][source] for source in PATHS} == {"timeout"}
    assert (section["state"], section["health"], section["effective_mode"]) == ("T", None, None)


def test_another_program_on_the_health_port(tmp_path):
    section = look(tmp_path,
                   replay(SMALL, healthz=(b"HTTP/1.0 200 OK\r\n\r\nok",), proxy_mode=(b"HTTP/1.0 200 OK\r\n\r\nx",)))
    assert (section["collected"]["healthz"], section["collected"]["proxy_mode"]) == ("unparsed", "unparsed")
    assert (section["health"], section["effective_mode"]) == (None, "iptables")


def test_two_readings(tmp_path):
    places = [kube_proxy_captures.capture("restore-fails/kube-proxy-1.36.3-iptables-nft", moment)
              for moment in ("1-20s-later", "2-70s-later")]
    texts = iter([kube_proxy_captures.texts()[place]["metrics"] for place in places])

    class Turns(dict):
        def get(self, path, default=None):
            return (b"HTTP/1.0 200 OK\r\n\r\n" + next(texts),) if path == "/metrics" else super().get(path, default)

    section = look(tmp_path, Turns(replay(SMALL)), seconds=0.01)
    window = section["window"]
    assert (window["failures"], window["restarted"], window["syncs"]) == (2, False, 2)
    assert window["seconds"] < 60 and "requests were answered" in section["api_watch"]["because"]


def metrics(started=100.0, syncs=4, failures=2, requests="", queued=5, synced=6):
    return parse_kube_proxy_metrics("""\
process_start_time_seconds %r
kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="1"} %d
kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="+Inf"} %d
kubeproxy_sync_proxy_rules_iptables_restore_failures_total %d
kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds %r
kubeproxy_sync_proxy_rules_last_timestamp_seconds %r
%s""" % (started, syncs, syncs, failures, queued, synced, "".join(
        'rest_client_requests_total{code="%s"} %d\n' % pair for pair in requests)))


def test_a_counter_that_went_back_is_no_negative_rate():
    window = window_of(metrics(requests=[("200", 90), ("<error>", 5)]),
                       metrics(started=200.0, syncs=1, failures=0, requests=[("200", 3)]), 30.0)
    assert window == {"seconds": 30.0, "restarted": True, "syncs": 1, "failures": 0, "syncs_per_minute": 2.0,
                      "api_requests": {"200": 3}}
    assert window_of(metrics(), metrics(), 0.0)["syncs_per_minute"] is None


@cases
def test_the_watch(requests, sockets, seconds, state):
    window = {"seconds": float(seconds), "api_requests": requests}
    found = kube_proxy_running.watch_of(window, sockets)
    assert found["state"] == state and found["because"]


@pytest.mark.parametrize("missed, because", [
    (1, "0 requests were answered and 0 failed in 1 s"), (2, "the second reading of its metrics got no answer")])
def test_a_second_reading_without_an_answer_is_tried_once_more(missed, because, tmp_path, monkeypatch):
    real, asked = kube_proxy_running.ask_metrics, []

    def ask(*arguments):
        asked.append(arguments)
        return real(*arguments) if len(asked) > missed else Answer("timeout", None, b"")
    monkeypatch.setattr(kube_proxy_running, "ask_metrics", ask)
    section = look(tmp_path, replay(SMALL), 1)
    assert section["api_watch"]["because"].startswith(because) and len(asked) == 2


@cases
def test_how_long_a_change_waits(now, queued, synced, waiting, seconds):
    row = sync_row("all", metrics(queued=queued, synced=synced)["families"]["all"], now)
    assert (row["waiting"], row["waiting_seconds"]) == (waiting, seconds)


# The addresses at which a running kube-proxy is asked, and the requests that are skipped after one slow answer.

FINE, SLOW = Answer("ok", 200, b"x"), Answer("timeout", None, b"")


def asked(monkeypatch, answers, bound=(), listening=()):
    """(the statuses of all answers, what was asked)."""
    requests = []

    def fetch(address, port, path, _seconds, _limit, _own):
        requests.append((address, port, path))
        return answers.get(path, FINE)

    monkeypatch.setattr(kube_proxy_running, "fetch_local", fetch)
    found = kube_proxy_running.ask_all(Host("/"), dict(bound), dict(listening))
    return {source: answer.status for source, answer in found.items()}, requests


@cases
def test_a_slow_answer_leaves_those_before_it(slow, timeouts, monkeypatch):
    statuses = asked(monkeypatch, {slow: SLOW})[0]
    assert sorted(source for source, status in statuses.items() if status == "timeout") == timeouts
    assert sorted(statuses) == sorted(kube_proxy_running.SOURCES)


@cases
def test_an_address_is_found_among_those_that_listen(bound, own, place, monkeypatch):
    """An address that is not among them is not asked (local_http.fetch_local)."""
    requests = asked(monkeypatch, {}, {10249: bound}, {10249: [own]})[1]
    assert requests[0] == (place, 10249, "/proxyMode")


# A kube-proxy that has just started has no rules yet; they are not reported as missing.

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
