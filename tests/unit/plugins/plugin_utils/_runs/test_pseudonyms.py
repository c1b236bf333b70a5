# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports without names and addresses: every name and address is replaced, and the rest is unchanged."""


import pytest
import work
from case_rows import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._runs.pseudonyms import Pseudonyms

HOSTS = ["gw", "10.1.2.3", "worker-1.k8s.example.com", "worker-2.k8s.example.com", "odd name<b>"]
# In the order of their names.
NAMES = {"10.1.2.3": "node-001", "gw": "node-002", "odd name<b>": "node-003", "worker-1.k8s.example.com": "node-004",
         "worker-2.k8s.example.com": "node-005"}


@cases
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


@cases
def test_names_of_hosts(hosts, known, text, shared):
    assert Pseudonyms(hosts, known).text(text) == shared


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


def test_keys_that_are_hosts_and_hosts_of_waivers():
    names = Pseudonyms(["db", "counts", "web-1"])
    part = {"others": {"db": "tcp 10.0.0.1:80", "counts": "x"}, "counts": {"db": 2}}
    assert names.of(part) == {"others": {"node-002": "tcp ip-001:80", "node-001": "x"}, "counts": {"node-002": 2}}
    rows = [{"check": "KMOD001", "host": host} for host in ("*", "web-1", "old-9", "old-*")]
    assert [row["host"] for row in names.of(rows)] == ["*", "node-003", "node-004", "node-005"]


def test_titles_of_the_users_checks():
    names = Pseudonyms(["kubelet", "web-1"])
    rows = [{"check": "KMOD001", "title": "kubelet is there"}, {"check": "SITE-MTU001", "title": "web-1 has its MTU"}]
    assert [row["title"] for row in names.of(rows)] == ["kubelet is there", "node-002 has its MTU"]


def test_a_host_that_is_called_as_a_pseudonym_or_as_a_word_of_ours():
    names = Pseudonyms(["node-002", "node-001", "alpha", "fail", "host"])
    assert (names.host("alpha"), names.host("node-001")) == ("node-001", "node-004")
    assert names.text("alpha, node-001") == "node-001, node-004"
    row = {"host": "fail", "status": "fail", "severity": "high", "fail": ["fail", "host"], "counts": {"fail": 2}}
    assert names.of(row) == {"host": "node-002", "status": "fail", "severity": "high", "fail": ["node-002", "node-003"],
                             "counts": {"node-002": 2}}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab1.-: <\u4e16\0"), min_size=1, max_size=6), min_size=1, max_size=5,
                unique=True),
       st.text(st.sampled_from("ab1.-:/@[] \n"), max_size=30))
def test_each_name_by_itself_has_its_pseudonym_whatever_it_is(hosts, text):
    names = Pseudonyms(hosts)
    assert len({names.host(host) for host in hosts}) == len(hosts)
    assert [names.text(host) for host in hosts] == [names.host(host) for host in hosts]
    assert names.text(text) == names.text(text)
