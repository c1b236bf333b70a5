# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports without names and addresses: nothing of them is left, and all else stays."""

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
    ("worker-10 and myworker-1", "worker-10 and myworker-1"), ("the gw is a word", "the gw is a word"),
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


def test_names_stay_the_same_in_later_runs():
    first = Pseudonyms(["b", "d"])
    assert first.text("10.9.9.9 is up") == "ip-001 is up"
    later = Pseudonyms(["a", "b"], json.loads(json.dumps(first.known)))
    assert (later.host("b"), later.host("d"), later.host("a")) == ("node-001", "node-002", "node-003")
    assert later.text("10.8.8.8, 10.9.9.9") == "ip-002, ip-001"


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
    # Rolled up from what is shared it is the same.
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
