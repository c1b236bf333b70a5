# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranges of addresses: overlaps and addresses outside, compared with the networks of the standard library; and texts
that are no ranges."""

import ipaddress
import os
import random

import pytest
from case_rows import cases
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._needs import cluster_ranges
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies


def rows(named):
    return [(row["first"], row["first_range"], row["second"], row["second_range"], row["range"])
            for row in cluster_ranges.overlapping(named)]


def test_overlapping():
    assert rows({"pods": ["10.0.0.0/8"], "Services": ["10.96.0.0/12"],
                 "nodes": ["192.168.0.0/24", "10.96.7.0/24"]}) == [
                     ("pods", "10.0.0.0/8", "Services", "10.96.0.0/12", "10.96.0.0/12"),
                     ("pods", "10.0.0.0/8", "nodes", "10.96.7.0/24", "10.96.7.0/24"),
                     ("Services", "10.96.0.0/12", "nodes", "10.96.7.0/24", "10.96.7.0/24")]
    assert [row["family"] for row in cluster_ranges.overlapping({"a": ["fd00::/16", "10.0.0.0/8"],
                                                                 "b": ["fd00:1::/32", "::/0"]})] == ["ipv6", "ipv6"]


@cases
def test_nothing_overlaps(named):
    assert cluster_ranges.overlapping(named) == []


def test_outside():
    given_texts = ["10.244.1.7", "10.244.0.0/15", "10.244.128.0/17", "192.0.2.1", "fd00:10:244::9", "fd00:10:245::/64"]
    assert cluster_ranges.outside(given_texts, ["10.244.0.0/16", "fd00:10:244::/56"]) == [
        "10.244.0.0/15", "192.0.2.1", "fd00:10:245::/64"]
    assert cluster_ranges.outside(given_texts, []) == given_texts and cluster_ranges.outside([], ["10.0.0.0/8"]) == []


def test_against_the_standard_library():
    number = int(os.environ.get("KUBENODE_SEED") or random.SystemRandom().randrange(1 << 32))
    print("KUBENODE_SEED=%d" % number)
    chance = random.Random(number)

    def network():
        kind, bits = chance.choice([(ipaddress.IPv4Network, 32), (ipaddress.IPv6Network, 128)])
        return kind((chance.getrandbits(6) << (bits - 6), chance.randrange(0, 9)), strict=False)

    for _round in range(300):
        one, other = network(), network()
        alike = one.version == other.version
        assert bool(cluster_ranges.overlapping({"a": [str(one)], "b": [str(other)]})) == (alike and one.overlaps(other))
        assert (cluster_ranges.outside([str(one)], [str(other)]) == []) == (alike and one.subnet_of(other))


@cases
def test_what_is_no_range_is_refused_in_one_sentence(text):
    with pytest.raises(BadInput) as caught:
        policies.policy_of({"node_policy_pod_ranges": ["10.0.0.0/8", text]})
    assert str(caught.value).startswith("node_policy_pod_ranges: %r is not an address range; write it as "
                                        % text) and "\n" not in str(caught.value)


@pytest.mark.parametrize("call, words", [
    (lambda: cluster_ranges.overlapping(["10.0.0.0/8"]), "needs a dictionary of lists of ranges, not list"),
    (lambda: cluster_ranges.overlapping({"pods": 3}), "pods must be a list, not 3"),
    (lambda: cluster_ranges.outside("10.0.0.1", []), "needs a list of addresses or ranges, not str"),
    (lambda: cluster_ranges.outside(["node-1"], []), "input: 'node-1' is not an address range"),
    (lambda: cluster_ranges.outside(["10.0.0.1"], ["10.0.0.0"]), "ranges: '10.0.0.0' is not an address range"),
])
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(BadInput) as caught:
        call()
    assert str(caught.value).startswith(words)


@given(st.text())
def test_any_text_is_a_range_or_none(text):
    found = cluster_ranges.range_of(text)
    assert found is None or ipaddress.ip_network(text, strict=False) == ipaddress.ip_network(str(found))


def test_a_list_in_one_text_as_extra_variables_have_it():
    assert policies.policy_of({"node_policy_pod_ranges": "10.244.0.0/16,fd00:10:244::/56"}).values["pod_ranges"] == [
        "10.244.0.0/16", "fd00:10:244::/56"]


def test_without_netaddr_it_says_so(monkeypatch):
    monkeypatch.setattr(cluster_ranges, "netaddr", None)
    with pytest.raises(BadInput, match="The Python package netaddr is missing on the controller"):
        policies.policy_of({"node_policy_pod_ranges": ["10.244.0.0/16"]})
