# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kube-proxy of each version leaves of the limit is what the report said it would leave."""

import pytest

MAX, BUCKETS = "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_buckets"
ESTABLISHED = "net.netfilter.nf_conntrack_tcp_timeout_established"
LIMIT = 65536
# Version -> limit afterwards. Those with .1 want 1200000 for their only processor, the others 8192.
LEFT = {
    "1.22.17": 8192, "1.28.15": LIMIT, "1.30.14": 8192, "1.35.0": 8192, "1.35.1": 1200000, "1.36.0": 8192,
    "1.36.1": 1048576, "1.38.0": LIMIT, "1.38.1": 1048576,
}


@pytest.fixture(params=sorted(LEFT))
def turn(request, turn_of):
    return dict(turn_of(request.param), version=request.param)


def test_the_limit_is_what_such_a_version_leaves(turn):
    assert turn["seen"][MAX] == LEFT[turn["version"]]


def test_each_value_is_what_was_told(turn):
    known = {key: row["after_kube_proxy"] for key, row in turn["told"].items() if row["after_kube_proxy"] is not None}
    assert {MAX, BUCKETS, ESTABLISHED} <= set(known)
    assert {key: turn["seen"].get(key) for key in known} == known


def test_a_limit_that_does_not_survive_is_a_finding(turn):
    assert ("CTRACK007" in turn["failed"]) == (LEFT[turn["version"]] < LIMIT)


def test_a_version_that_only_raises_leaves_higher_timeouts(turn):
    raises = turn["version"].startswith("1.28")
    assert turn["seen"][ESTABLISHED] == (432000 if raises else 86400)
