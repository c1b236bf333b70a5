# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of the lock, with a clock that the test controls."""

import collections

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import INTERVAL, sample

Reading = collections.namedtuple("Reading", "status holders")
Holder = collections.namedtuple("Holder", "pid")


def sampled(pids, seconds, status="ok"):
    """A sample whose reading number n shows the pid (or None) at position n; the last one is repeated."""
    milliseconds, left = [0], list(pids)

    def read():
        pid = left.pop(0) if len(left) > 1 else left[0]
        return Reading(status, [Holder(pid)] if pid else [])

    def sleep(duration):
        milliseconds[0] += int(round(duration * 1000))
    return sample(seconds, read, lambda pid: "comm%d" % pid, lambda: milliseconds[0] / 1000.0, sleep)


def test_always_free():
    assert sampled([None], 1) == {"seconds": 1.0, "readings": 21, "held_percent": 0.0, "longest_hold_seconds": 0.0,
                                  "holders": []}


def test_always_held():
    found = sampled([7], 1)
    assert (found["held_percent"], found["longest_hold_seconds"]) == (100.0, 1.0)
    assert found["holders"] == [{"pid": 7, "comm": "comm7", "readings": 21}]


def test_hands_change():
    # 7 is seen twice and is gone at the third reading; 8 directly follows the next 7, for three readings.
    found = sampled([7, 7, None, 7, 8, 8, 8, None], 0.5)
    assert (found["readings"], found["held_percent"]) == (11, round(100 * 6 / 11.0, 1))
    assert found["longest_hold_seconds"] == pytest.approx(3 * INTERVAL)
    assert found["holders"] == [{"pid": 7, "comm": "comm7", "readings": 3}, {"pid": 8, "comm": "comm8", "readings": 3}]


def test_only_the_most_frequent_holders_are_named():
    found = sampled([pid for pid in range(1, 10) for _time in range(pid)] + [None], 60)
    assert [row["pid"] for row in found["holders"]] == [9, 8, 7, 6, 5]


def test_a_reading_that_fails_is_no_sample():
    assert sampled([7], 1, "unparsed") is None


def test_what_is_looked_at_for_an_instant():
    assert sampled([7], 0) == {"seconds": 0.0, "readings": 1, "held_percent": 100.0, "longest_hold_seconds": 0.0,
                               "holders": [{"pid": 7, "comm": "comm7", "readings": 1}]}
