# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What processes have open, signals for them, and a time limit of which nothing is left."""

import fcntl
import os
import signal
import subprocess
import sys
import time

import pytest
from node_processes import as_nobody, needs_mounts, python_path, Sleeper

from ansible_collections.kubenode.netfilter.plugins.module_utils._host import walk
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import DENIED, OK, TIMEOUT, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.run import Overdue, within

REUSE = """\
import os, re, signal
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.run import terminate
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
def forked():
    child = os.fork()
    if not child:
        signal.pause()
    return child
first, others = forked(), []
def reuse():
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(first - 1))
    others.append(forked())
    return True
answer = terminate(first, reuse)
waiting = re.search("ShdPnd:.([0-9a-f]+)", open("/proc/%d/status" % others[0]).read()).group(1)
print(others[0] == first, answer, int(waiting, 16))
os.kill(others[0], signal.SIGKILL)
"""


def open_file(path):
    stream = open(str(path), "w")
    fcntl.flock(stream, fcntl.LOCK_EX)
    return stream


def test_descriptors_by_the_name_of_their_file_of_own_vanished_and_other_processes(tmp_path):
    with Sleeper(lambda: (open_file(tmp_path / "x.lock"), open_file(tmp_path / "y.lock"))) as process:
        descriptors = walk.Descriptors(Host("/"))
        found = list(descriptors.of(process.pid, "x.lock"))
        assert len(found) == 1 and "lock:" in found[0] and descriptors.status == OK
        everything = list(descriptors.of(process.pid))
        assert found[0] in everything and len(everything) >= 5
    with Sleeper(lambda: None) as process:
        pid = process.pid
    descriptors = walk.Descriptors(Host("/"))
    assert list(descriptors.of(pid)) == [] and descriptors.status == OK

    def look():
        descriptors = walk.Descriptors(Host("/"))
        return list(descriptors.of(1)), descriptors.status
    assert as_nobody(look) == [[], DENIED]


def test_neither_more_than_the_limit_nor_more_time(monkeypatch):
    monkeypatch.setattr(walk, "LINKS_LIMIT", 2)
    descriptors = walk.Descriptors(Host("/"))
    assert len(list(descriptors.of(os.getpid()))) == 2 and descriptors.status == TIMEOUT
    assert list(descriptors.of(os.getpid())) == []
    monkeypatch.setattr(walk, "LINKS_SECONDS", -1)
    descriptors = walk.Descriptors(Host("/"))
    assert list(descriptors.of(os.getpid())) == [] and descriptors.status == TIMEOUT


def test_what_takes_longer_or_fails_leaves_no_alarm():
    with pytest.raises(Overdue, match="longer than 1 seconds"):
        with within(1):
            time.sleep(60)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.alarm(0) == 0
    with pytest.raises(KeyError):
        with within(60):
            raise KeyError("x")
    assert signal.alarm(0) == 0


@pytest.mark.parametrize("seconds", [0, 60])
def test_what_is_in_time_leaves_no_alarm(seconds):
    with within(seconds):
        assert bool(signal.alarm(seconds)) == bool(seconds)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.alarm(0) == 0


@needs_mounts
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this Python has no handle of a process")
def test_the_next_process_of_that_number_gets_no_signal(tmp_path):
    (tmp_path / "reuse.py").write_text(REUSE, encoding="utf-8")
    out = subprocess.check_output(["unshare", "-pfm", "--mount-proc", sys.executable, str(tmp_path / "reuse.py")],
                                  env=dict(os.environ, PYTHONPATH=python_path()), universal_newlines=True)
    assert out == "True (True, None) 0\n"
