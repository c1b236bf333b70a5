# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_xtables_lock: samples and ages with readings of the test, and real holders, waiters and namespaces
with a lock file of the test."""

import collections
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import time

import node_tree
import pytest
from case_rows import cases
from node_processes import (
    Sleeper, answer_of, as_nobody, dead_file_system, enter, needs_fuse, needs_root, private_mounts)

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock import holder as lock_holder, xtables_lock
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.holder import has_lock, hold_time
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import (
    INTERVAL, collect_xtables_lock, sample,
)

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


def time_of(comm, pids=(7,), waiters=(), started=900.0):
    """`pids`: who holds it at the first look, the second, ...; the last one goes on."""
    left = list(pids)
    return hold_time({"pid": 7, "comm": comm, "started_seconds_ago": started},
                     [dict(zip(("comm", "age_seconds"), row)) for row in waiters],
                     lambda: Reading("ok", [Holder(pid) for pid in [left.pop(0) if left[1:] else left[0]] if pid]))


@pytest.mark.parametrize("comm", ["iptables", "ip6tables-legac", "xtables-legacy-", "flock"])
def test_a_program_of_a_moment_tells_by_its_age(comm):
    assert time_of(comm, (None,)) == (900.0, "at_most")


@pytest.mark.parametrize("comm", ["calico-node", "flockd", "bash", "", None])
@pytest.mark.parametrize("pids", [(None,), (7, None), (7, 8)])
def test_an_agent_that_lets_go(comm, pids):
    seconds, word = time_of(comm, pids)
    assert word == "over" and 0 < seconds < 900


@pytest.mark.parametrize("comm, started", [("calico-node", 900.0), ("iptables", None)])
def test_an_agent_that_does_not_and_a_program_whose_age_is_not_known(comm, started):
    seconds, word = time_of(comm, started=started)
    assert word == "at_least" and 0 < seconds < 900


def test_who_waits_tells_for_how_long_at_least():
    waiters = [("iptables", 40.0), ("iptables-restor", 61.5), ("bash", 90000.0), ("iptables", None), (None, 70000.0)]
    assert time_of("calico-node", waiters=waiters) == (61.5, "at_least")


@cases
def test_locks_of_a_descriptor(fdinfo, has):
    assert has_lock(fdinfo, 1467) is has


@pytest.fixture(autouse=True)
def others_do_not_crowd_out(monkeypatch):
    """Other tests' processes may run on this machine at the same time."""
    monkeypatch.setattr(lock_holder, "HUNG_LIMIT", 1000)
    monkeypatch.setattr(xtables_lock, "AGENTS_LIMIT", 1000)


@pytest.fixture
def lock(tmp_path):
    path = tmp_path / "test-xtables.lock"
    path.write_text("")
    return str(path)


def look(path, **options):
    return collect_xtables_lock(Host("/"), {"place": "live"}, path, **options)


def until(condition):
    """Wait for what another process is about to do, for minutes on a machine under load."""
    for _time in range(12000):
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def held(path):
    stream = open(path)
    fcntl.flock(stream, fcntl.LOCK_EX)
    return stream


def named(comm, root=None):
    """A process of that name, in a root directory of its own."""
    def prepare():
        pathlib.Path("/proc/self/comm").write_text(comm)
        if root:
            enter(root)
    return Sleeper(prepare)


def agent_of(section, process):
    return next(row for row in section["agents"] if row["pid"] == process.pid)


def test_a_holder_and_a_queue(lock):
    with Sleeper(lambda: held(lock)) as holder, open(lock) as stream:
        waiters = []
        for _time in range(2):
            waiters.append(subprocess.Popen(["flock", lock, "true"]))
            until(lambda: look(lock)["waiter_count"] == len(waiters))
        section = look(lock)
        found = section["holder"]
        assert (section["collected"]["locks"], found["alive"]) == ("ok", True)
        assert found["pid"] == found["held_through_pid"] == holder.pid
        assert sorted(row["pid"] for row in section["waiters"]) == sorted(process.pid for process in waiters)
        assert all(row["command"] == "flock %s true" % lock and row["age_seconds"] >= 0 for row in section["waiters"])
        # The look did not take the lock: the next process still has to wait, and gets it when the holder ends.
        with pytest.raises(OSError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert [process.wait() for process in waiters] == [0, 0]
    assert look(lock)["holder"] is None


def test_another_user_sees_the_lock_and_does_not_say_who_has_it_open(tmp_path):
    path = os.path.join(node_tree.open_folder(), "lock")
    with open(path, "w"):
        os.chmod(path, 0o644)
    with Sleeper(lambda: held(path)) as process:
        holder = as_nobody(lambda: look(path))["holder"]
    assert (holder["pid"], holder["alive"], holder["held_through_pid"]) == (process.pid, None, None)


SCRIPT = """\
import json, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import collect_xtables_lock
print(json.dumps(collect_xtables_lock(Host("/"), {"place": "live"}, sys.argv[1], window_seconds=int(sys.argv[2]))))
"""


@needs_root
@cases
def test_the_lock_of_an_agent_in_a_container(content, verdict, reason, lock, tmp_path):
    if isinstance(content, dict) and "target" in content:
        content = node_tree.link(content["target"].format(lock))
    root = node_tree.unpack({lock.lstrip("/"): content, "etc/x": ""}, tmp_path / "root")
    with named("kube-proxy", root) as process:
        row = agent_of(look(lock), process)
    assert (row["lock"], row["reason"], row["path"]) == (verdict, reason.format(lock), lock)
    assert (row["container"], row["who"]) == (None, "kube-proxy")


@needs_root
def test_an_agent_that_shares_the_file_of_the_node(lock):
    """A hard link stands for the mount: the same device and inode by another path."""
    root = os.path.dirname(lock) + "/root"
    os.makedirs(root + os.path.dirname(lock))
    os.link(lock, root + lock)
    with named("calico-node", root) as inside, named("kubelet") as outside:
        section = look(lock)
        assert [agent_of(section, process)["lock"] for process in (inside, outside)] == ["shared", "shared"]


@needs_fuse
def test_an_agent_whose_run_never_answers(tmp_path):
    root = node_tree.unpack({"mnt/x": ""}, tmp_path)

    def prepare():
        pathlib.Path("/proc/self/comm").write_text("kube-router")
        private_mounts()
        handle = dead_file_system(root + "/mnt")
        enter(root)
        return handle
    with Sleeper(prepare) as process:
        row = agent_of(look("/mnt/xtables.lock"), process)
    assert (row["lock"], row["reason"]) == ("unknown", "/mnt/xtables.lock in its root could not be read: timeout")


STRACE = shutil.which("strace")


@needs_root
@pytest.mark.skipif(STRACE is None, reason="no strace: the calls cannot be watched")
def test_looking_takes_no_lock_and_opens_no_lock_file(lock, tmp_path):
    trace = str(tmp_path / "trace")
    root = node_tree.unpack({lock.lstrip("/"): ""}, tmp_path / "root")
    with Sleeper(lambda: held(lock)), named("kube-proxy", root) as inside:
        before = os.stat(lock)
        watched = "trace=flock,fcntl,fcntl64,open,openat,openat2,creat,execve"
        section = answer_of([STRACE, "-f", "-qq", "-s", "300", "-e", watched, "-o", trace], SCRIPT, lock, "1")
        assert section["holder"] and agent_of(section, inside)["lock"] == "private"
    calls = pathlib.Path(trace).read_text(errors="replace").splitlines()
    assert [call for call in calls if re.search(r"\bflock\(|F_(OFD_)?SETLKW?\b|F_SETLEASE", call)] == []
    opened = [call for call in calls if os.path.basename(lock) in call and "execve(" not in call]
    # O_PATH opens nothing: it names the file for fstat(), in the root of the agent.
    assert opened and all("O_PATH" in call for call in opened)
    assert len([call for call in calls if "execve(" in call and " = 0" in call]) == 1
    after = os.stat(lock)
    for field in ("st_ino", "st_size", "st_mode", "st_mtime_ns", "st_ctime_ns", "st_atime_ns"):
        assert getattr(after, field) == getattr(before, field)
