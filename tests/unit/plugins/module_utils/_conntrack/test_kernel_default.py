# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's own limit, against what kernels were seen to have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.kernel_default import (default_buckets,
                                                                                                   default_limit,
                                                                                                   rounded_buckets)

MB, GB = 1 << 20, 1 << 30


@pytest.mark.parametrize("memory, release, limit, buckets",
                         [
                             (24 * GB, "6.18.44", 262144, 262144),  # Seen.
                             (8 * GB, "5.10.0-28-amd64", 262144, 65536), (8 * GB, "6.1.0-49-amd64", 262144, 262144),
                             (8 * GB, "5.15.0-91-generic", 262144, None),
                             (2 * GB, "6.12.9", 65536, 65536), (2 * GB, "5.10.1", 65536, 16384),
                             (968 * MB, "6.1.0-49-cloud-amd64", 8192, 8192),  # Seen in a machine of 1 GiB.
                             (700 * MB, "6.12.9", 5632, 5632), (100 * MB, "6.12.9", 1024, 1024),
                             (700 * MB, "5.10.1", 22528, 5632), (700 * MB, "5.15.0", None, None),
                             (4 * GB, "6.12.9", None, None), (GB + MB, "6.12.9", None, None),
                             (None, "6.12.9", None, None), (0, "6.12.9", None, None),
                             (2 * GB, None, 65536, None), (700 * MB, None, None, None),
                         ])
def test_by_memory_and_kernel(memory, release, limit, buckets):
    assert default_limit(memory, release, None) == limit
    assert default_buckets(limit, release) == buckets


def test_a_limit_that_is_as_good_as_the_default_is_the_default():
    """The total of memory that is read later differs a little from the one the module saw."""
    assert default_limit(968 * MB, "6.1.0", 7680) == 7680 and default_limit(968 * MB, "6.1.0", 131072) == 8192


def test_where_more_than_one_default_comes_into_question_that_of_now_is_it():
    assert default_limit(4 * GB, "6.12.9", 65536) == 65536 and default_limit(4 * GB, "6.12.9", 262144) == 262144
    assert default_limit(4 * GB, "6.12.9", 131072) is None
    # Kernels between the old and the new kind.
    assert default_limit(700 * MB, "5.15.0", 5632) == 5632 and default_limit(700 * MB, "5.15.0", 22528) == 22528
    assert default_limit(700 * MB, "5.15.0", 131072) is None


@given(st.integers(1, 1 << 24))
def test_buckets_come_in_pages(size):
    assert 0 <= rounded_buckets(size) - size < 512 and rounded_buckets(size) % 512 == 0
