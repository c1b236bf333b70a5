# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that undoes a change unless the change is confirmed in time."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from node_processes import python_path

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import detached
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host

TOKEN = "0123456789abcdef"


@pytest.fixture
def place(tmp_path):
    """A host whose tree is this machine, and a folder of its own for the states."""
    folder = tmp_path / "states"
    folder.mkdir()
    return Host(), str(folder)


@pytest.fixture
def clock(tmp_path, monkeypatch):
    """The time is up as soon as the file exists."""
    up = tmp_path / "time-is-up"

    class Clock:
        @staticmethod
        def monotonic():
            return time.monotonic() + (1e6 if os.path.exists(str(up)) else 0)

        @staticmethod
        def sleep(_seconds):
            time.sleep(0.02)
    monkeypatch.setattr(detached, "time", Clock)
    return up


def states(folder):
    return sorted(name.partition(".")[2] for name in os.listdir(folder))


def wait(question):
    while not question():
        time.sleep(0.02)


def gone(pid):
    """The process has ended, even if process 1 of this machine has not reaped it yet."""
    try:
        return open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_it_acts_when_time_is_up_and_tells_what_it_did(place, clock):
    host, folder = place
    pid = detached.arm(host, folder, TOKEN, {"boot_id": "x"}, 3600, lambda: {"restored": ["all"], "failed": False})
    armed = json.load(open(detached.path_of(folder, TOKEN, "armed")))
    assert armed == {"boot_id": "x", "pid": pid, "started": detached.start_time_of(pid)}
    assert os.stat(detached.path_of(folder, TOKEN, "armed")).st_mode & 0o777 == 0o600
    clock.write_text("")
    wait(lambda: gone(pid))
    assert states(folder) == ["restored"]
    assert json.load(open(detached.path_of(folder, TOKEN, "restored"))) == dict(armed, restored=["all"], failed=False)


def test_what_it_runs_into_is_told(place, clock):
    host, folder = place

    def fails():
        raise OSError(5, "Input/output error")
    pid = detached.arm(host, folder, TOKEN, {}, 3600, fails)
    clock.write_text("")
    wait(lambda: gone(pid))
    told = json.load(open(detached.path_of(folder, TOKEN, "restored")))
    assert told["failed"] and "Input/output error" in told["msg"]


def test_who_confirms_ends_it(place, clock):
    host, folder = place
    pid = detached.arm(host, folder, TOKEN, {}, 3600, lambda: 1 / 0)
    assert detached.claim(folder, TOKEN, "confirmed") and not detached.claim(folder, TOKEN, "confirmed")
    clock.write_text("")
    wait(lambda: gone(pid))
    assert states(folder) == ["confirmed"]


def test_of_both_one_wins(place, clock):
    """Confirmation and process decide at the same moment; the state file names the one that wins."""
    host, folder = place
    for number in range(40):
        token = "%016x" % number
        pid = detached.arm(host, folder, token, {}, 3600, lambda: {"restored": []})
        clock.write_text("")
        time.sleep(0.001 * number)
        confirmed = detached.claim(folder, token, "confirmed")
        wait(lambda pid=pid: gone(pid))
        clock.unlink()
        found = [name.partition(".")[2] for name in os.listdir(folder) if name.startswith(token)]
        assert found == ["confirmed" if confirmed else "restored"]


def test_a_disk_that_takes_nothing_arms_nothing(place):
    host, folder = place
    os.rmdir(folder)
    os.symlink("/proc/1/nothing", folder)
    with pytest.raises(_errors.ChangeFailed, match="rollback process could not be started on .*cannot be written"):
        detached.arm(host, folder, TOKEN, {}, 3600, dict)


MODULE = """\
import atexit, os, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import detached as _host_detached
atexit.register(lambda: print("the end"))
opened = os.open("/etc/hostname", os.O_RDONLY)
print(_host_detached.arm(_host.Host(), sys.argv[1], sys.argv[2], {}, 3600, dict), flush=True)
"""


def test_it_outlives_the_module_its_session_and_its_pipes(place):
    _host_, folder = place
    module = subprocess.Popen([sys.executable, "-c", MODULE, folder, TOKEN], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=python_path()),
                              start_new_session=True)
    # The pipes are closed although the process still runs; otherwise Ansible would wait for it.
    out, err = module.communicate()
    pid, _newline, end = out.decode().partition("\n")
    assert (end, err) == ("the end\n", b"")
    try:
        with pytest.raises(ProcessLookupError):
            os.killpg(module.pid, signal.SIGKILL)  # Nothing is left in the session of the module.
        assert int(open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()[3]) != module.pid
        handles = [os.readlink("/proc/%s/fd/%s" % (pid, name)) for name in os.listdir("/proc/%s/fd" % pid)]
        assert set(handles) == {"/dev/null"} and os.readlink("/proc/%s/cwd" % pid) == "/"
        os.kill(int(pid), signal.SIGHUP)
        assert states(folder) == ["armed"]
    finally:
        detached.claim(folder, TOKEN, "confirmed")
    wait(lambda: gone(int(pid)))


def test_tokens_are_new_each_time_and_a_pid_is_told_from_a_later_one():
    assert len({detached.new_token() for _each in range(100)}) == 100
    assert detached.TOKEN.match(detached.new_token()) and not detached.TOKEN.match("../../etc/passwd")
    assert detached.start_time_of(os.getpid()).isdigit() and detached.start_time_of(2 ** 22 + 1) is None
