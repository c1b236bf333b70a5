# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value of one sysctl: a later write overrides an earlier one, and an unknown value stays unknown."""

import pytest
from case_rows import cases
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack import predict
from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.keys import BUCKETS, MAX
from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.predict import (
    Assignment, Stage, Write, default_buckets, default_limit, rounded_buckets)

DEFAULT = Stage(262144, None)
LINE = Assignment("524288", "/etc/sysctl.d/90.conf:3")
UFW = Write(MAX, "ufw (/etc/ufw/sysctl.conf:1)", lambda before: 65536, True)
TUNED = Write(MAX, "tuned (x:1)", lambda before: None if before is None else max(before, 131072), False)


@pytest.mark.parametrize(
    "early, assignment, writes, stage", [
        (True, None, [], DEFAULT), (True, LINE, [], Stage(524288, LINE.where)), (False, LINE, [], DEFAULT),
        (None, LINE, [], Stage(None, LINE.where)), (None, None, [], DEFAULT), (True, LINE, [UFW], Stage(65536, UFW.by)),
        (False, LINE, [UFW], Stage(65536, UFW.by)), (True, LINE, [UFW, TUNED], Stage(131072, TUNED.by)),
        (True, LINE, [TUNED], Stage(524288, TUNED.by)), (False, LINE, [TUNED], Stage(None, TUNED.by)),
        (None, None, [TUNED], Stage(None, TUNED.by)),
        (True, None, [Write(BUCKETS, "other", lambda before: 1, True)], DEFAULT),
    ])
def test_at_boot(early, assignment, writes, stage):
    assert predict.at_boot(MAX, early, assignment, DEFAULT, writes) == stage


def test_buckets_are_rounded_as_the_kernel_rounds_them():
    assert predict.at_boot(BUCKETS, True, Assignment("100000", "a:1"), Stage(None, None), []).value == 100352
    assert predict.overruled(Assignment("100000", "a:1"), BUCKETS, Stage(100352, "a:1")) is False
    assert predict.overruled(Assignment("100000", "a:1"), MAX, Stage(100352, "a:1")) is True


@cases
def test_values(text, value):
    assert predict.number(text) == value


# The kernel's own limit, against what kernels were seen to have.

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
