# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formula for the size of the conntrack table: examples from 512 MB to 2 TB and 1 to 512 processors, and rules that
hold for all values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack import size
from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.size import conntrack_size
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput

MB, GB, TB = 1 << 20, 1 << 30, 1 << 40


def written(cpus):
    """What kube-proxy before 1.36 writes with its defaults."""
    return max(131072, 32768 * cpus)


# What kube-proxy writes is a number, `default` (by its own defaults) or nothing.
@cases
def test_the_table(megabytes, cpus, peak, kube_proxy, limit, limited_by):
    value = written(cpus) if kube_proxy == "default" else kube_proxy
    answer = conntrack_size(megabytes * MB, cpus, peak, kube_proxy_value=value)
    assert (answer["max"], answer["limited_by"]) == (limit, limited_by)
    assert answer["buckets"] == limit and answer["table_bytes"] == limit * 408


def test_the_policy_moves_it():
    assert conntrack_size(8 * GB, 4, 100000)["max"] == 262144
    assert conntrack_size(8 * GB, 4, 100000, used_percent=30)["max"] == 524288
    assert conntrack_size(8 * GB, 4, 100000, used_percent=100)["max"] == 131072
    assert conntrack_size(8 * GB, 4, 500000, ceiling=600000)["max"] == 524288
    assert conntrack_size(512 * MB, 4, memory_percent=50)["max"] == 131072
    assert conntrack_size(64 * GB, 4, 3000000, ceiling=8388608)["max"] == 8388608


@cases
def test_it_says_why(more, words):
    assert words in conntrack_size(**dict({"memory_bytes": 8 * GB, "cpus": 4}, **more))["because"]


MEMORIES, CPUS, PEAKS = st.integers(512 * MB, 2 * TB), st.integers(1, 512), st.integers(0, 50000000)
WRITTEN = st.none() | st.integers(1, 20000000)
SHARES, CEILINGS = st.integers(1, 100), st.integers(1024, 1 << 25)


@given(MEMORIES, CPUS, PEAKS, SHARES, CEILINGS, WRITTEN)
def test_what_holds_everywhere(memory, cpus, peak, share, ceiling, kube_proxy):
    answer = conntrack_size(memory, cpus, peak, used_percent=share, ceiling=ceiling, kube_proxy_value=kube_proxy)
    limit, budget = answer["max"], memory * 5 // 100 // 400
    # No less than the value that kube-proxy writes, and no more than memory and ceiling allow, except that value.
    assert limit >= (kube_proxy or 0)
    assert limit == kube_proxy or limit <= max(min(budget, ceiling), size.LEAST)
    assert limit == kube_proxy or limit & (limit - 1) == 0
    # Without a bound the peak fills no more than its share; a bound is reported only where the answer is less than the
    # wanted value.
    if answer["limited_by"] is None:
        assert peak * 100 <= limit * share
    else:
        assert min(budget, ceiling) == (budget if answer["limited_by"] == "memory" else ceiling)
    assert answer["needed"] * share >= peak * 100 > (answer["needed"] - 1) * share


@given(MEMORIES, CPUS, PEAKS, PEAKS, WRITTEN)
def test_more_connections_never_get_a_smaller_table(memory, cpus, one, other, kube_proxy):
    smaller, larger = sorted((one, other))
    assert conntrack_size(memory, cpus, smaller, kube_proxy_value=kube_proxy)["max"] <= conntrack_size(
        memory, cpus, larger, kube_proxy_value=kube_proxy)["max"]


@given(MEMORIES, MEMORIES, CPUS, PEAKS)
def test_more_memory_never_gets_a_smaller_table(one, other, cpus, peak):
    assert conntrack_size(min(one, other), cpus, peak)["max"] <= conntrack_size(max(one, other), cpus, peak)["max"]


@given(MEMORIES, CPUS, PEAKS)
def test_what_it_wants_is_enough_for_itself(memory, cpus, peak):
    """Asked again with the same peak on a node that has what it wanted, it wants the same."""
    limit = conntrack_size(memory, cpus, peak)["max"]
    assert conntrack_size(memory, cpus, peak, ceiling=max(limit, 1024))["max"] == limit


@cases
def test_bad_numbers_are_refused_by_name(wrong):
    with pytest.raises(BadInput, match="^%s is " % list(wrong)[0]):
        conntrack_size(**dict({"memory_bytes": GB, "cpus": 1}, **wrong))
