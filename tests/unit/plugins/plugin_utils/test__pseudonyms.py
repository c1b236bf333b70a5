# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports without names and addresses: every name and address is replaced, and the rest is unchanged."""

import json

import golden_run
import pytest
import report_runs
import work
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._pseudonyms import Pseudonyms
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.json_text import render_json

HOSTS = ["gw", "10.1.2.3", "worker-1.k8s.example.com", "worker-2.k8s.example.com", "odd name<b>"]
# In the order of their names.
NAMES = {"10.1.2.3": "node-001", "gw": "node-002", "odd name<b>": "node-003", "worker-1.k8s.example.com": "node-004",
         "worker-2.k8s.example.com": "node-005"}


@pytest.mark.parametrize("text, shared", [
    ("worker-1.k8s.example.com", "node-004"), ("worker-1", "node-004"), ("gw", "node-002"), ("10.1.2.3", "node-001"),
    ("pod etcd-worker-1 of worker-2.", "pod etcd-node-004 of node-005."),
    ("/var/log/worker-1.log, kube-proxy-worker-1.k8s.example.com.log",
     "/var/log/node-004.log, kube-proxy-node-004.log"),
    ("worker-10, myworker-1, xWorker-2y", "worker-10, mynode-004, xnode-005y"),
    ("the gw is a word", "the gw is a word"),
    ("api.k8s.example.com answers.", "node-006 answers."), ("on odd name<b>: odd name<b>!", "on node-003: node-003!"),
    ("https://master.internal:6443/healthz", "https://node-006:6443/healthz"),
    ("https://user@gw:6443", "https://user@node-002:6443"), ("http://127.0.0.1:10249/metrics",
                                                             "http://127.0.0.1:10249/metrics"),
    ("(https://master.internal), containerd://abc, https://, https://worker-1.",
     "(https://node-006), containerd://abc, https://, https://node-004."),
    ("https://[fd00::1]:6443", "https://[ip-001]:6443"), ("http://localhost/", "http://localhost/"),
    ("a.b.k8s.example.com, x-api.k8s.example.com:80", "node-006, node-007:80"),
    ("-worker-1-.worker-2", "-node-004-.node-005"),
    ("10.1.2.4:53, 10.1.2.3 and 10.1.2.4/24", "ip-001:53, node-001 and ip-001/24"),
    ("fd00:10::1, FD00:10::1: no route; ::1, ::, 0.0.0.0/0", "ip-001, ip-001: no route; ::1, ::, 0.0.0.0/0"),
    ("at 10:00:00 on 52:54:00:12:34:56, kernel 6.1.0-49-amd64, 1.2.3.4.5, 999.1.1.1",
     "at 10:00:00 on 52:54:00:12:34:56, kernel 6.1.0-49-amd64, 1.2.3.4.5, 999.1.1.1"),
    ("net.ipv4.ip_forward in /etc/sysctl.d/10-a.conf", "net.ipv4.ip_forward in /etc/sysctl.d/10-a.conf"),
    ("/var/log/pods/kube-system_etcd-worker-1_0c1d/etcd/0.log",
     "/var/log/pods/kube-system_etcd-node-004_0c1d/etcd/0.log"),
    ("kube-proxy-worker-1_kube-system_kube-proxy-a1.log", "kube-proxy-node-004_kube-system_kube-proxy-a1.log"),
    ("10.1.2.4-10.1.2.5, 10.1.2.3-10.1.2.4", "ip-001-ip-002, node-001-ip-001"),
    ("10.1.2.4-worker-1.log, kube-system_etcd-10.1.2.4_0c1d, 10.1.2.4.json",
     "ip-001-node-004.log, kube-system_etcd-ip-001_0c1d, ip-001.json"),
    ("ip-10-1-2-4.ec2.internal, ip-10-1-2-3, zip-10-1-2-4, ip-10-1-2-4-5, ip-999-1-1-1",
     "ip-001.ec2.internal, node-001, zip-ip-001, ip-001-5, ip-999-1-1-1"),
    ("10-1-2-4.default.pod.cluster.local, ip_10_1_2_4, addr10.1.2.4, 10.1.2.4x, 10_1-2_4, 10-1-2, 1-1-1-256",
     "ip-001.default.pod.cluster.local, ip-001, addrip-001, ip-001x, 10_1-2_4, 10-1-2, 1-1-1-256"),
    ("fd00-20--40.default.pod, x-fd00-20--40, 2001-db8-0-0-0-0-0-1, fe80--, add--bad, cafd00--1, fd00-20-40",
     "ip-001.default.pod, x-ip-001, ip-002, ip-003, add--bad, cafd00--1, fd00-20-40"),
    ("etcd-fd00::1, etcd_fd00::1_x, at-10:00:00, a-b:c", "etcd-ip-001, etcd_ip-001_x, at-10:00:00, a-b:c"),
    ("search k8s.example.com example.com; git.example.com, com, example.community",
     "search domain-001 domain-002; node-006, com, example.community"),
    ("addr:fd00::1, node:fd00::1:, fd00::1-fd00::2", "addr:ip-001, node:ip-001:, ip-001-ip-002"),
    ("10:20:10.1.2.4 and a1:b2:worker-1", "10:20:ip-001 and a1:b2:node-004"),
    ("fe80::1%eth0, https://[fe80::1%25eth0]:443, ::ffff:10.1.2.3",
     "ip-001%eth0, https://[ip-001%25eth0]:443, node-001"),
    ("Worker-1, WORKER-2.K8s.example.com", "node-004, node-005"),
    ("HTTPS://master.internal and https://MASTER.internal", "HTTPS://node-006 and https://node-006"),
    ("https://[worker-1]:443", "https://[node-004]:443"),
    ("k8s.example.com, bob@K8S.example.com, *.k8s.example.com, https://k8s.example.com, dns-k8s.example.com.zone",
     "domain-001, bob@domain-001, *.domain-001, https://domain-001, dns-domain-001.zone"),
    ("xk8s.example.com, k8s.example.community", "node-006, k8s.example.community"),
    ("\u4e16 \x1b[2J {{ 7 * 7 }}", "\u4e16 \x1b[2J {{ 7 * 7 }}"), ("", "")])
def test_names_and_addresses_in_texts(text, shared):
    names = Pseudonyms(HOSTS)
    assert names.known["hosts"] == NAMES
    assert names.text(text) == names.text(text) == shared


@pytest.mark.parametrize("part, shared", [("worker-1-", "node-004-"), ("a-", "a-"), ("a.", "a."), (":", ":"),
                                          ("odd name<b>", "node-003"), ("1.", "1."), ("x://", "x://")])
def test_a_long_text_is_read_in_steps_that_grow_with_its_length(part, shared):
    names = Pseudonyms(HOSTS)
    assert names.text(part * 600) == shared * 600

    def calls(times):
        return work.calls_of(Pseudonyms(HOSTS).text, part * times)
    assert calls(1200) < 3 * calls(600)


def test_a_host_has_the_same_name_in_the_small_letters_of_kubernetes_and_as_the_same_address():
    names = Pseudonyms(["WEB-7", "fd00::5", "Web", "web"])
    assert names.text("node web-7, WEB-7, Web, web, WEB") == "node node-001, node-001, node-002, node-004, node-004"
    assert names.text("[fd00:0::5]:443, FD00::5") == "[node-003]:443, node-003"


def test_the_host_of_a_url_has_its_pseudonym_in_other_texts_too_and_in_later_runs():
    text = 'Get "https://api.corp.internal:6443/": lookup api.corp.internal. on 10.0.0.2; the api of corp.internal'
    shared = 'Get "https://node-002:6443/": lookup node-002. on ip-001; the api of corp.internal'
    for known in (None, {"hosts": {"w1": "node-001", "api.corp.internal": "node-002"}, "addresses": {}}):
        names = Pseudonyms(["w1"], known)
        names.learn([{"a": ("lookup", {"b": text})}, None, 3])
        assert names.of(["lookup api.corp.internal", text]) == ["lookup node-002", shared]
    # These names were only met in a text, so their first part alone is not replaced.
    assert Pseudonyms(["w1"], names.known).text("the api server, x.corp.internal") == "the api server, x.corp.internal"


def test_hosts_that_are_not_in_the_play_are_numbered_where_they_are_met():
    names = Pseudonyms(["w1", "w2"], None, {"w1": "w1", "db-9": "db-9", "real-1.corp.net": "w1", "a b": "a b"})
    assert names.known["hosts"] == {"w1": "node-001", "w2": "node-002"}
    assert names.text("etcd-db-9 on a b, ssh real-1.corp.net, real-1") == (
        "etcd-node-004 on node-003, ssh node-001, node-001")
    assert names.text("www.corp.net") == "node-005"


def test_names_stay_the_same_in_later_runs():
    first = Pseudonyms(["b", "d"])
    assert first.text("10.9.9.9 is up") == "ip-001 is up"
    later = Pseudonyms(["a", "b"], json.loads(json.dumps(first.known)))
    assert (later.host("b"), later.host("d"), later.host("a")) == ("node-001", "node-002", "node-003")
    assert later.text("10.8.8.8, 10.9.9.9") == "ip-002, ip-001"


def test_no_pseudonym_is_given_twice_where_lines_of_the_mapping_were_removed():
    names = Pseudonyms(["a", "b", "c"], {"hosts": {"b": "node-002"}, "addresses": {"10.0.0.1": "ip-002"}})
    assert [names.host(name) for name in "abc"] == ["node-003", "node-002", "node-004"]
    assert names.text("10.0.0.2 10.0.0.1") == "ip-003 ip-002"


def test_keys_that_are_hosts_and_hosts_of_waivers():
    names = Pseudonyms(["db", "counts", "web-1"])
    part = {"which": {"db": {"missing": ["tcp 10.0.0.1:80"]}, "counts": {"missing": []}}, "others": {"db": "x"}}
    assert names.of(part) == {"which": {"node-002": {"missing": ["tcp ip-001:80"]}, "node-001": {"missing": []}},
                              "others": {"node-002": "x"}}
    rows = [{"check": "KMOD001", "host": host} for host in ("*", "web-1", "old-9", "old-*")]
    assert [row["host"] for row in names.of(rows)] == ["*", "node-003", "node-004", "node-005"]


def test_titles_of_the_users_checks_and_not_those_of_the_collection():
    names = Pseudonyms(["kubelet", "web-1"])
    rows = [{"check": "KMOD001", "title": "kubelet is there"}, {"check": "SITE-MTU001", "title": "web-1 has its MTU"}]
    assert [row["title"] for row in names.of(rows)] == ["kubelet is there", "node-002 has its MTU"]


def test_the_sketch_of_services_has_their_addresses_and_is_left_out():
    names = Pseudonyms(["w1"])
    assert names.of({"digest": {"services": "ab12", "sketch": "eAAAA"}}) == {
        "digest": {"services": "ab12", "sketch": None}}


def test_a_host_that_is_called_as_a_pseudonym_or_as_a_word_of_ours():
    names = Pseudonyms(["node-002", "node-001", "alpha", "fail", "host"])
    assert (names.host("alpha"), names.host("node-001")) == ("node-001", "node-004")
    assert names.text("alpha, node-001") == "node-001, node-004"
    row = {"host": "fail", "status": "fail", "severity": "high", "fail": ["fail", "host"], "counts": {"fail": 2}}
    assert names.of(row) == {"host": "node-002", "status": "fail", "severity": "high", "fail": ["node-002", "node-003"],
                             "counts": {"node-002": 2}}


def test_no_name_and_no_address_is_left_in_a_run():
    hosts = ["worker-%d.k8s.example.com" % number for number in range(4)]
    reports = {host: report_runs.report(host, report_runs.finding(
        "KMOD003", "10.3.2.%d" % number, "fail", reason="%s asks https://api.k8s.example.com" % host,
        remediation="ssh worker-%d" % number)) for number, host in enumerate(hosts)}
    reports[hosts[3]]["summary"]["kernel"] = "kernel 5.10"
    fleet = report_runs.roll_up(reports, lost=["gone-1.k8s.example.com"])
    names = Pseudonyms([row["host"] for row in fleet["hosts"]])
    shared = {names.host(host): names.of(report) for host, report in reports.items()}
    whole = names.of(fleet)
    texts = [report_runs.text_of(name, shared, whole) for name in ("csv", "html", "junit", "markdown", "prometheus",
                                                                   "sarif")]
    texts += [golden_run.readable(texts[1]), render_json(whole), *map(render_json, shared.values())]
    for text in texts:
        assert "worker" not in text.replace("workers", "") and "example.com" not in text and "10.3.2" not in text
    assert [row["host"] for row in whole["hosts"]] == ["node-001", "node-002", "node-003", "node-004", "node-005"]
    assert whole["totals"] == fleet["totals"] and "node-002 asks https://node-006" in texts[0]
    # A roll-up of the shared reports gives the same result.
    again = report_runs.roll_up(shared, lost=["node-001"])
    assert {key: whole[key] for key in ("checks", "outliers", "summary", "hosts")} == {
        key: again[key] for key in ("checks", "outliers", "summary", "hosts")}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab1.-: <\u4e16\0"), min_size=1, max_size=6), min_size=1, max_size=5,
                unique=True),
       st.text(st.sampled_from("ab1.-:/@[] \n"), max_size=30))
def test_each_name_by_itself_has_its_pseudonym_whatever_it_is(hosts, text):
    names = Pseudonyms(hosts)
    assert len({names.host(host) for host in hosts}) == len(hosts)
    assert [names.text(host) for host in hosts] == [names.host(host) for host in hosts]
    assert names.text(text) == names.text(text)
