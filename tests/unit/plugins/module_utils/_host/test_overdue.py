# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A time limit, and that nothing is left of it."""

import signal
import time

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.overdue import Overdue, within


def test_what_takes_longer_ends():
    with pytest.raises(Overdue, match="longer than 1 seconds"):
        with within(1):
            time.sleep(60)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.alarm(0) == 0


@pytest.mark.parametrize("seconds", [0, 60])
def test_what_is_in_time_leaves_no_alarm(seconds):
    with within(seconds):
        assert bool(signal.alarm(seconds)) == bool(seconds)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.alarm(0) == 0


def test_an_error_inside_leaves_no_alarm():
    with pytest.raises(KeyError):
        with within(60):
            raise KeyError("x")
    assert signal.alarm(0) == 0
