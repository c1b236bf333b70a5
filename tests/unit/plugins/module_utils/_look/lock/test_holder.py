# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For how long a lock is held, and whose descriptor has it."""

import collections

import pytest

from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.holder import has_lock, hold_time

Reading = collections.namedtuple("Reading", "holders")
Held = collections.namedtuple("Held", "pid")


def time_of(comm, pids=(7,), waiters=(), started=900.0):
    """`pids`: who holds it at the first look, the second, ...; the last one goes on."""
    left = list(pids)
    return hold_time({"pid": 7, "comm": comm, "started_seconds_ago": started},
                     [dict(zip(("comm", "age_seconds"), row)) for row in waiters],
                     lambda: Reading([Held(pid) for pid in [left.pop(0) if len(left) > 1 else left[0]] if pid]))


@pytest.mark.parametrize("comm",
                         ["iptables", "ip6tables", "iptables-restor", "ip6tables-legac", "xtables-legacy-", "flock"])
def test_a_program_of_a_moment_tells_by_its_age(comm):
    assert time_of(comm, (None,)) == (900.0, "at_most")


@pytest.mark.parametrize("comm", ["calico-node", "flockd", "bash", "", None])
@pytest.mark.parametrize("pids", [(None,), (7, None), (7, 8)])
def test_an_agent_that_lets_go(comm, pids):
    seconds, word = time_of(comm, pids)
    assert word == "over" and 0 < seconds < 900


def test_an_agent_that_does_not():
    seconds, word = time_of("calico-node")
    assert word == "at_least" and 0 < seconds < 900


def test_an_old_program_of_which_nothing_is_known():
    assert time_of("iptables", started=None)[1] == "at_least"


def test_who_waits_tells_for_how_long_at_least():
    waiters = [("iptables", 40.0), ("iptables-restor", 61.5), ("bash", 90000.0), ("iptables", None), (None, 70000.0)]
    assert time_of("calico-node", waiters=waiters) == (61.5, "at_least")


@cases
def test_locks_of_a_descriptor(fdinfo, has):
    assert has_lock(fdinfo, 1467) is has
