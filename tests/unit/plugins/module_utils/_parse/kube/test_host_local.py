# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranges of host-local. The expected numbers are those of its allocator: the gateway and the broadcast address of
IPv4 are not given to pods."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.host_local import (
    addresses_of, is_in, parse_range_sets)


def sets_of(ipam):
    return [problem or addresses_of(ranges) for ranges, problem in parse_range_sets(ipam, {"usePodCidr": "10.3.0.0/24",
                                                                                           "usePodCidrIPv6": None})]


@pytest.mark.parametrize("ipam, found", [
    ({"subnet": "10.1.2.0/24"}, [253]), ({"subnet": "10.1.2.0/30"}, [1]), ({"subnet": "fd00::/64"}, [2 ** 64 - 2]),
    ({"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.10", "rangeEnd": "10.1.2.19"}, [10]),
    ({"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.10", "rangeEnd": "10.1.2.19", "gateway": "10.1.2.12"}, [9]),
    ({"subnet": "10.1.2.0/29", "gateway": "10.1.9.1"}, [6]), ({"subnet": "10.1.2.0/28", "gateway": "10.1.2.14"}, [13]),
    ({"subnet": "10.1.2.0/29", "rangeStart": "10.1.2.0", "rangeEnd": "10.1.2.7"}, [7]),
    ({"subnet": "10.1.2.0/24", "ranges": [[{"subnet": "10.2.0.0/30"}, {"subnet": "10.3.0.0/30"}],
                                          [{"subnet": "fd00::/126"}]]}, [253, 2, 2]),
    ({"ranges": [[{"subnet": "usePodCidr"}]]}, [253]),
    ({"ranges": [[{"subnet": "usePodCidrIPv6"}]]},
     ["usePodCidrIPv6 is the podCIDR of the node, which the API server knows"]),
    ({}, []), ({"ranges": {}}, []), ({"ranges": "x"}, ["ranges is not a list"]),
    ({"ranges": [[]]}, ["a range set is not a list of ranges"]),
    ({"ranges": [[5]]}, ["host-local refuses the range of None"]),
    ({"ranges": [[{"subnet": "10.2.0.0/30"}, {"subnet": "fd00::/126"}]]}, ["a range set has both families"]),
])
def test_addresses_of_a_range_set(ipam, found):
    assert sets_of(ipam) == found


@pytest.mark.parametrize("row", [
    {"subnet": "10.1.2.0/31"}, {"subnet": "10.1.2.1/24"}, {"subnet": "10.1.2.0"}, {"subnet": 5}, {"subnet": "x"},
    {"subnet": "10.1.2.0/24", "rangeStart": "10.1.3.1"}, {"subnet": "10.1.2.0/24", "rangeStart": "fd00::1"},
    {"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.9", "rangeEnd": "10.1.2.8"},
    {"subnet": "10.1.2.0/24", "gateway": 7}, {"subnet": "10.1.2.0/29", "rangeEnd": "10.1.2.8"},
])
def test_ranges_that_host_local_refuses(row):
    assert sets_of({"ranges": [[row]]}) == ["host-local refuses the range of %s" % row["subnet"]]


def test_an_address_is_of_its_own_family():
    ranges = parse_range_sets({"subnet": "0.0.0.0/24"}, {})[0][0]
    assert [is_in(ranges, ipaddress.ip_address(text)) for text in ("0.0.0.9", "::9", "0.0.1.1", "0.0.0.255")] == [
        True, False, False, False]


JSON = st.recursive(st.none() | st.integers() | st.text(max_size=4) | st.sampled_from(["10.0.0.0/24", "usePodCidr"]),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(["ranges", "subnet", "rangeStart", "gateway"]), inner), max_leaves=8)


@given(st.dictionaries(st.sampled_from(["ranges", "subnet", "rangeEnd"]), JSON))
def test_any_setting_is_read_without_an_exception(ipam):
    assert all((ranges is None) == bool(problem) for ranges, problem in parse_range_sets(ipam, {}))
