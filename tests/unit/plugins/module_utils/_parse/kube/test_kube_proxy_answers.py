# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of /healthz, /livez and /configz of real kube-proxies."""

import pytest

import kube_proxy_captures
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_answers import (
    parse_configz, parse_healthz, split_answer)


def answer(source, directory, snapshot=""):
    text = kube_proxy_captures.texts()[kube_proxy_captures.capture(directory, snapshot)][source]
    return split_answer(text.decode("utf-8"))


def test_health():
    code, body = answer("healthz", "iptables-mode/kube-proxy-1.36.3/nft/small")
    assert (code, parse_healthz(body)) == (
        200, {"node_eligible": True, "healthy": {"ipv4": True, "ipv6": True}, "now": 1795329529})
    code, body = answer("healthz", "restore-hangs/kube-proxy-1.36.3-iptables-nft", "2-70s-hanging")
    assert (code, parse_healthz(body)["healthy"]) == (503, {"ipv4": False, "ipv6": True})
    code, body = answer("healthz", "unknown-node/kube-proxy-1.36.3-iptables-nft", "2-40s")
    assert (code, parse_healthz(body)["node_eligible"]) == (503, False)


def test_health_before_1_33():
    code, body = answer("healthz", "iptables-mode/kube-proxy-1.30.5/nft/small")
    assert (code, parse_healthz(body)) == (200, {"node_eligible": True, "healthy": {}, "now": 1795329591})
    assert parse_healthz(answer("livez", "iptables-mode/kube-proxy-1.30.5/nft/small")[1])["node_eligible"] is None
    old = ('{"lastUpdated": "2026-11-22 06:39:51.6 +0000 UTC m=+7.9","currentTime": "2026-11-22 06:39:51.6 +0100 CET '
           'm=+7.9"}')
    assert parse_healthz(old) == {"node_eligible": None, "healthy": {}, "now": None}


@pytest.mark.parametrize("version", ["1.30.5", "1.34.9", "1.36.3"])
def test_configuration(version):
    assert parse_configz(answer("configz", "iptables-mode/kube-proxy-%s/nft/small" % version)[1]) == {
        "mode": "iptables", "sync_period_seconds": 30}


def test_a_configuration_of_other_types():
    assert parse_configz('{"kubeproxy.config.k8s.io": {"mode": 5, "iptables": []}}') == {
        "mode": None, "sync_period_seconds": None}


@pytest.mark.parametrize("text",
                         ["", "ok", "[]", "5", "null", "{}", "[" * 100000, '{"healthy": true}', "\x00", '{"a":'])
def test_what_is_no_body(text):
    assert parse_healthz(text) is None and parse_configz(text) is None


@pytest.mark.parametrize(
    "text, found", [
        ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\nmore", (200, "body\n\nmore")),
        ("HTTP/1.0 503 X\n\nbody", (503, "body")), ("body\n\nHTTP/1.1 200 OK", (None, "body\n\nHTTP/1.1 200 OK")),
        ("HTTP/1.1 2000 OK\n\nbody", (None, "HTTP/1.1 2000 OK\n\nbody")),
    ])
def test_the_head_of_a_saved_answer(text, found):
    assert split_answer(text) == found


@pytest.mark.parametrize("time", ["9999-99-99T99:99:99Z", "x", 5, None, "2026-11-22T06:38:49+05:00"])
def test_times_that_are_none(time):
    body = '{"currentTime": %s}' % ('"%s"' % time if isinstance(time, str) else "null" if time is None else time)
    assert parse_healthz(body)["now"] is None
