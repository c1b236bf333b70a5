# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's own limit, against what kernels were seen to have."""

from hypothesis import given
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.kernel_default import (default_buckets,
                                                                                                   default_limit,
                                                                                                   rounded_buckets)

MB, GB = 1 << 20, 1 << 30


@cases
def test_by_memory_and_kernel(megabytes, release, limit, buckets):
    assert default_limit(megabytes and megabytes * MB, release, None) == limit
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
