# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_xtables_lock on this machine: real holders, waiters and namespaces, a lock file of the test."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from case_rows import cases
import node_tree
from node_processes import (
    Sleeper, as_nobody, dead_file_system, enter, needs_mounts, needs_root, private_mounts, python_path)
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock import agents, hung_restores
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import collect_xtables_lock

LEGACY = shutil.which("iptables-legacy-restore", path="/usr/sbin:/sbin")
needs_legacy = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
RULES = "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"


@pytest.fixture(autouse=True)
def others_do_not_crowd_out(monkeypatch):
    """Other tests' processes may run on this machine at the same time."""
    monkeypatch.setattr(hung_restores, "HUNG_LIMIT", 1000)
    monkeypatch.setattr(agents, "AGENTS_LIMIT", 1000)


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


def named(comm):
    with open("/proc/self/comm", "w") as stream:
        stream.write(comm)


def agent_of(section, process):
    return next(row for row in section["agents"] if row["pid"] == process.pid)


def test_nobody_holds_it(lock):
    section = look(lock)
    assert section["collected"]["lock_file"] == "ok"
    assert (section["kind"], section["inode"]) == ("file", os.stat(lock).st_ino)
    assert (section["holder"], section["waiters"], section["waiter_count"]) == (None, [], 0)


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


def test_a_holder_that_is_no_program_of_a_moment_is_watched(lock):
    with Sleeper(lambda: held(lock)):
        holder = look(lock)["holder"]
    assert holder["age_is"] == "at_least" and holder["age_seconds"] > 0


def test_flock_tells_by_its_own_age(lock):
    with subprocess.Popen(["flock", lock, "sleep", "60"], start_new_session=True) as process:
        holder = until(lambda: look(lock)["holder"])
        os.killpg(process.pid, signal.SIGKILL)
    assert (holder["pid"], holder["comm"], holder["age_is"]) == (process.pid, "flock", "at_most")


def test_a_parent_that_died_while_its_child_holds_on(lock):
    receiver, sender = os.pipe()
    parent = os.fork()
    if parent == 0:
        stream = held(lock)
        child = os.fork()
        if child == 0:
            os.close(receiver)
            os.close(sender)
            while stream:
                signal.pause()
        os.write(sender, str(child).encode("ascii"))
        os._exit(0)
    child = int(os.read(receiver, 20).decode("ascii"))
    os.waitpid(parent, 0)
    os.close(receiver)
    os.close(sender)
    try:
        holder = look(lock)["holder"]
        with open("/proc/%d/comm" % child) as stream:
            comm = stream.read().strip()
    finally:
        os.kill(child, signal.SIGKILL)
    assert (holder["pid"], holder["alive"], holder["held_through_pid"], holder["comm"]) == (parent, False, child, comm)
    assert holder["started_seconds_ago"] >= 0
    until(lambda: look(lock)["holder"] is None)


def test_another_user_sees_the_lock_and_does_not_say_who_has_it_open(tmp_path):
    path = os.path.join(node_tree.open_folder(), "lock")
    with open(path, "w"):
        os.chmod(path, 0o644)
    with Sleeper(lambda: held(path)) as process:
        holder = as_nobody(lambda: look(path))["holder"]
    assert (holder["pid"], holder["alive"], holder["held_through_pid"]) == (process.pid, None, None)


SCRIPT = """\
import json, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock import hung_restores as _hung_restores
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock import agents as _lock_agents
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import collect_xtables_lock
found = collect_xtables_lock(_host.Host("/"), {"place": "live"}, sys.argv[1] or None, **json.loads(sys.argv[2]))
json.dump(found, sys.stdout)
"""


def look_from(wrapper, path, environ=None, **options):
    argv = list(wrapper) + [sys.executable, "-c", SCRIPT, path or "", json.dumps(options)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, env=dict(environ or os.environ, PYTHONPATH=python_path()))
    return json.loads(process.communicate()[0].decode("utf-8"))


@needs_mounts
def test_from_another_pid_namespace_a_lock_is_not_called_free(lock):
    with Sleeper(lambda: held(lock)):
        section = look_from(["unshare", "-pf", "--mount-proc"], lock)
    assert (section["holder"], section["collected"]["locks"]) == (None, "denied")


@needs_mounts
def test_in_a_pid_namespace_its_own_holder_is_seen(lock):
    section = look_from(["unshare", "-pf", "--mount-proc", "flock", lock], lock)
    assert (section["holder"]["comm"], section["collected"]["locks"]) == ("flock", "ok")


@needs_mounts
def test_a_holder_in_a_pid_namespace_of_its_own(lock):
    with subprocess.Popen(["unshare", "-pf", "--mount-proc", "flock", lock, "sleep", "60"],
                          start_new_session=True) as process:
        holder = until(lambda: look(lock)["holder"])
        os.killpg(process.pid, signal.SIGKILL)
    assert holder["comm"] == "flock" and holder["pid"] == holder["held_through_pid"] > 2


def hung(lock, pid):
    """(section, row) once the section lists this hung restore, before that None; other tests may have some too."""
    found = look(lock, hung_after_seconds=1)
    return next(((found, row) for row in found["hung"] if row["pid"] == pid), None)


@needs_legacy
def test_a_restore_of_iptables_that_waits(lock):
    with Sleeper(lambda: held(lock)) as holder:
        restore = subprocess.Popen(["unshare", "-n", LEGACY, "-w", "60"], stdin=subprocess.PIPE,
                                   env={"XTABLES_LOCKFILE": lock})
        try:
            restore.stdin.write(RULES.encode("ascii"))
            restore.stdin.flush()
            until(lambda: look(lock)["waiter_count"])
            section, row = until(lambda: hung(lock, restore.pid))
        finally:
            restore.kill()
            restore.communicate()
    waiter = section["waiters"][0]
    assert (section["holder"]["pid"], waiter["pid"]) == (holder.pid, restore.pid)
    assert (waiter["comm"], waiter["command"]) == ("iptables-legacy", "iptables-legacy-restore -w 60")
    assert row["waits_for_lock"] is True and row["state"] == "S" and row["age_seconds"] > 1


@needs_legacy
def test_a_restore_that_waits_for_its_input_does_not_wait_for_the_lock(lock):
    restore = subprocess.Popen(["unshare", "-n", LEGACY], stdin=subprocess.PIPE, env={"XTABLES_LOCKFILE": lock})
    try:
        section, row = until(lambda: hung(lock, restore.pid))
    finally:
        restore.kill()
        restore.communicate()
    assert row["waits_for_lock"] is False and section["holder"] is None


@needs_root
@cases
def test_the_lock_of_an_agent_in_a_container(content, verdict, reason, lock, tmp_path):
    if isinstance(content, dict) and "target" in content:
        content = node_tree.link(content["target"].format(lock))
    root = node_tree.unpack({lock.lstrip("/"): content, "etc/x": ""}, tmp_path / "root")

    def prepare():
        named("kube-proxy")
        enter(root)
    with Sleeper(prepare) as process:
        row = agent_of(look(lock), process)
    assert (row["lock"], row["reason"], row["path"]) == (verdict, reason.format(lock), lock)
    assert (row["container"], row["who"]) == (None, "kube-proxy")


@needs_root
def test_an_agent_that_shares_the_file_of_the_node(lock):
    """A hard link stands for the mount: the same device and inode by another path."""
    root = os.path.dirname(lock) + "/root"
    os.makedirs(root + os.path.dirname(lock))
    os.link(lock, root + lock)

    def prepare():
        named("calico-node")
        enter(root)
    with Sleeper(prepare) as inside, Sleeper(lambda: named("kubelet")) as outside:
        section = look(lock)
        assert [agent_of(section, process)["lock"] for process in (inside, outside)] == ["shared", "shared"]


@needs_mounts
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse: a mount that never answers cannot be made")
def test_an_agent_whose_run_never_answers(tmp_path):
    root = node_tree.unpack({"mnt/x": ""}, tmp_path)

    def prepare():
        named("kube-router")
        private_mounts()
        handle = dead_file_system(root + "/mnt")
        enter(root)
        return handle
    with Sleeper(prepare) as process:
        row = agent_of(look("/mnt/xtables.lock"), process)
    assert (row["lock"], row["reason"]) == ("unknown", "/mnt/xtables.lock in its root could not be read: timeout")


@needs_mounts
def test_an_agent_in_a_network_of_its_own_is_nobodys_business(lock):
    with Sleeper(lambda: named("flanneld")) as ours:
        theirs = subprocess.Popen(["unshare", "-n", "sh", "-c",
                                   "echo flanneld >/proc/self/comm; echo flanneld >/proc/$$/comm; echo; read x"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        theirs.stdout.readline()
        pids = [row["pid"] for row in look(lock)["agents"]]
        theirs.communicate()
    assert ours.pid in pids and theirs.pid not in pids


@needs_mounts
def test_the_environment_of_the_agents_names_the_file(lock):
    """In a pid namespace of its own, where no other agent runs."""
    agent = "echo kube-proxy >/proc/self/comm; echo kube-proxy >/proc/$$/comm; \"$@\""
    section = look_from(["unshare", "-pf", "--mount-proc", "sh", "-c", agent, "sh"], None,
                        dict(os.environ, XTABLES_LOCKFILE=lock))
    assert (section["path"], section["path_source"],
            section["inode"]) == (lock, "XTABLES_LOCKFILE of kube-proxy", os.stat(lock).st_ino)
    assert [(row["comm"], row["lock"]) for row in section["agents"]] == [("kube-proxy", "shared")]


@needs_legacy
def test_whether_the_lock_matters_where_legacy_tables_exist(lock):
    section = look_from(["unshare", "-n", "sh", "-c", "iptables-legacy -t nat -L -n >/dev/null; \"$@\"", "sh"], lock,
                        dict(os.environ, XTABLES_LOCKFILE=lock))
    assert section["matters"] is True and "legacy tables exist (nat)" in section["matters_because"]


def test_a_sample(lock):
    with Sleeper(lambda: held(lock)) as process:
        section = look(lock, window_seconds=1)
    sample = section["sample"]
    assert sample["held_percent"] == 100.0 and sample["holders"][0]["pid"] == process.pid
    assert sample["readings"] >= 2 and sample["longest_hold_seconds"] == sample["seconds"] >= 1


STRACE = shutil.which("strace")


@needs_root
@pytest.mark.skipif(STRACE is None, reason="no strace: the calls cannot be watched")
def test_looking_takes_no_lock_and_opens_no_lock_file(lock, tmp_path):
    trace = str(tmp_path / "trace")
    root = node_tree.unpack({lock.lstrip("/"): ""}, tmp_path / "root")

    def prepare():
        named("kube-proxy")
        enter(root)
    with Sleeper(lambda: held(lock)), Sleeper(prepare) as inside:
        before = os.stat(lock)
        watched = "trace=flock,fcntl,fcntl64,open,openat,openat2,creat,execve"
        section = look_from([STRACE, "-f", "-qq", "-s", "300", "-e", watched, "-o", trace], lock, window_seconds=1)
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


def test_a_lock_file_that_is_not_there_is_not_made(tmp_path):
    section = look(str(tmp_path / "none"))
    assert (section["kind"], section["collected"]["lock_file"], section["holder"]) == ("absent", "absent", None)
    assert os.listdir(str(tmp_path)) == []
