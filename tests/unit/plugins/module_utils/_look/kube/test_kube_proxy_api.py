# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kube-proxy without a connection to the API server, and the rule or route that stops its packets."""

import pytest
import loopback
from case_rows import cases
from fake_tools import LIVE, LOADED, script, tools, unpacked
from kube_proxy_captures import replay
from node_manifests import DEBIAN, process
from node_tree import link
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube import kube_proxy_process
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import collect_from

SMALL = "iptables-mode/kube-proxy-1.36.3/nft/small"
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LINE = "   0: 0200000A:9C40 01004D0A:192B %s 00000000:00000000 00:00000000 00000000     0        0 11 1 0 0\n"
SERVICES = """\
*nat
:KUBE-MARK-MASQ - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-NPX46M4PTMTKRN6Y - [0:0]
:KUBE-SEP-AAAAAAAAAAAAAAAA - [0:0]
-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 \
-j KUBE-SVC-NPX46M4PTMTKRN6Y
-A KUBE-SVC-NPX46M4PTMTKRN6Y -m comment --comment "default/kubernetes:https -> 10.77.0.1:6443" \
-j KUBE-SEP-AAAAAAAAAAAAAAAA
-A KUBE-SEP-AAAAAAAAAAAAAAAA -s 10.77.0.1/32 -m comment --comment "default/kubernetes:https" -j KUBE-MARK-MASQ
-A KUBE-SEP-AAAAAAAAAAAAAAAA -p tcp -m comment --comment "default/kubernetes:https" -m tcp -j DNAT \
--to-destination 10.77.0.1:6443
COMMIT
"""
IP = """case "$*" in
*"route get"*) test -z "%s" || { echo "RTNETLINK answers: %s" >&2; exit 2; };;
*"route show"*) echo "default via 10.0.0.1 dev eth0"; echo "blackhole 10.244.0.0/24 proto bird"; echo "%s";;
esac"""
KUBECONFIG = "apiVersion: v1\nclusters:\n- cluster:\n    server: https://%s\nusers: [{user: {token: secret}}]\n"


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(kube_proxy_process, "_PAUSE", 0.01)
    monkeypatch.setattr(kube_proxy_process, "APART_SECONDS", 0.05)


def look(tmp_path, state=None, rules="", routes=("", "", ""), server=None, age=9000, answers=None, config=KUBECONFIG):
    """The section of a node; `state` is that of its only socket in /proc/net/tcp."""
    ipv4 = "*filter\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n%s\nCOMMIT\n%s" % (rules, SERVICES)
    print_them = tools('case $name in iptables*save) cat "${0%/*}/dump";; ip6tables*save) ;; esac')
    with loopback.answering(replay(SMALL) if answers is None else answers) as served:
        place = "127.0.0.1:%d" % served.port
        proxy = process(500, "kube-proxy", (
            "kube-proxy", "--metrics-bind-address=" + place, "--healthz-bind-address=" + place, "--kubeconfig=/k"),
            start_time=str(1000000 - age * 100))
        host = unpacked(tmp_path, DEBIAN, LOADED, print_them, proxy, {
            "usr/sbin/dump": ipv4, "usr/sbin/ip": script(IP % (routes[0], routes[1], routes[2])),
            "k": config % server if server else "", "proc/uptime": "10000.00 1.00\n",
            "proc/500/fd/3": link("socket:[11]"), "proc/500/status": "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n",
            "proc/500/cgroup": "0::/kubepods.slice/kube-proxy.scope\n", "etc/hosts": "10.77.0.1 api.example.org\n",
            "proc/500/net/tcp": HEAD + (LINE % state if state else "")})
        return collect_from(host, LIVE, ["kube_proxy"])["node_kube_proxy"]


def test_a_connection_is_read_once(tmp_path):
    section = look(tmp_path, "01")
    assert section["api_sockets"] == {"established": 1, "connecting": 0, "other": 0, "connecting_to": [], "readings": 1,
                                      "seconds": 0.0}
    assert section["api_server"] is None and section["api_watch"]["state"] == "unknown"


def test_an_attempt_shows_the_address(tmp_path):
    section = look(tmp_path, "02")
    sockets = section["api_sockets"]
    assert (sockets["established"], sockets["connecting"], sockets["connecting_to"]) == (0, 1, ["10.77.0.1:6443"])
    assert sockets["readings"] > 1 and section["api_watch"]["state"] == "disconnected"
    found = section["api_server"]
    assert (found["addresses"], found["blocked_by"]) == (["10.77.0.1:6443"], [])
    assert found["because"].startswith("no rule and no route of this node stops its packets to 10.77.0.1:6443")


def test_a_reconnect_ends_the_readings(tmp_path, monkeypatch):
    real, readings = kube_proxy_process.api_sockets, []

    def read(*arguments):
        readings.append(1)
        status, found = real(*arguments)
        return status, dict(found, established=int(len(readings) > 2))
    monkeypatch.setattr(kube_proxy_process, "api_sockets", read)
    section = look(tmp_path)
    assert section["api_sockets"]["readings"] == 3 and section["api_server"] is None


@pytest.mark.parametrize("fields", [{"age": 20, "answers": {}}, {"answers": {}}])
def test_one_that_starts_or_answers_nothing_is_read_once(fields, tmp_path):
    section = look(tmp_path, **fields)
    assert (section["api_sockets"]["readings"], section["api_server"]) == (1, None)


@cases
def test_what_stops_its_packets(rules, server, routes, found, tmp_path):
    section = look(tmp_path, None, rules, routes, server)
    rows = section["api_server"]["blocked_by"]
    assert [[row["text"], row["certain"], row["undo"]] for row in rows] == found, section["api_server"]
    assert "secret" not in repr(section)
