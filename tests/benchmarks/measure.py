# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benchmarks share: paths, ansible on this machine, contenders that take turns, and results."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from results import BUILD, TOP, VENV, clean_env

CACHE = TOP / ".cache" / "benchmarks"
# A node has the Python of its distribution, whatever Python the controller has.
NODE_PYTHON = next(python for python in ("/usr/bin/python3", sys.executable) if os.path.exists(python))
SSH_OPTIONS = "-F /dev/null -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"


class CannotRun(Exception):
    """A benchmark cannot run on this machine; the message is the reason."""


@dataclasses.dataclass
class Outcome:
    """One comparison. `seconds` holds the times of both contenders by name; `ours` is compared with `other`."""

    name: str
    what: str
    ours: str
    other: str
    seconds: dict
    limit: float
    # True: ours may take at most `limit` times as long. False: the other must take at least `limit` times as long.
    at_most: bool
    notes: list

    def median(self, contender):
        return statistics.median(self.seconds[contender])

    @property
    def ratio(self):
        ours, other = self.median(self.ours), self.median(self.other)
        return ours / other if self.at_most else other / ours

    @property
    def target(self):
        return "at most %g" % self.limit if self.at_most else "at least %g" % self.limit

    @property
    def verdict(self):
        return "met" if (self.ratio <= self.limit if self.at_most else self.ratio >= self.limit) else "missed"


def quiet(command, **options):
    """Run a command and return its output; if it fails, the error has the output. An interrupt also kills the processes
    of the command."""
    command = [str(word) for word in command]
    options.setdefault("env", clean_env())
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               universal_newlines=True, start_new_session=True, **options)
    try:
        output, _none = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode != 0:
        raise CannotRun("%s ended with status %d:\n%s" % (" ".join(command), process.returncode, output[-3000:]))
    return output


def need_packages(*packages):
    quiet([TOP / "tests" / "tools" / "need_packages.sh"] + list(packages))


def take_turns(contenders, rounds, before=None):
    """{name: [seconds]}: each contender runs once a round, so a temporary load slows all of them."""
    seconds = {name: [] for name in contenders}
    for _round in range(rounds):
        for name, run in contenders.items():
            if before:
                before()
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


@contextlib.contextmanager
def busy_core():
    """A process keeps one core busy during the block."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL)
    try:
        os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def workplace():
    """A folder for one benchmark, removed afterwards. It is below /tmp because the path of an ssh control socket must
    be short."""
    with tempfile.TemporaryDirectory(prefix="kubenode-bench-", dir="/tmp") as folder:
        yield pathlib.Path(folder)


class Ansible:
    """ansible-core of the checkout's virtual environment, kept away from the user's settings and folders."""

    def __init__(self, folder, forks=5, collections=(), prefix=()):
        self.folder = folder
        # Words before each command.
        self.prefix = prefix
        self.sockets = folder / "ssh"
        config = folder / "ansible.cfg"
        config.write_text(
            "[defaults]\nhome = %s/home\nremote_tmp = %s/remote\nforks = %d\nhost_key_checking = false\n"
            "[ssh_connection]\ncontrol_path_dir = %s\n" % (folder, folder, forks, self.sockets), encoding="utf-8")
        paths = [str(BUILD)] + [str(path) for path in collections]
        self.env = clean_env(ANSIBLE_CONFIG=str(config), ANSIBLE_COLLECTIONS_PATH=":".join(paths))
        # pip compiles ansible-core when it installs it, and the first run compiles the collection. A container image
        # may forbid that with this variable.
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(self, program, *arguments, **env):
        return quiet([*self.prefix, VENV / "bin" / program, *arguments], cwd=str(self.folder),
                     env=dict(self.env, **env))

    def close_connections(self):
        """End the ssh processes that wait in the background for the next task."""
        for link in self.sockets.glob("*"):
            with contextlib.suppress(CannotRun):
                quiet(["ssh", "-F", "/dev/null", "-o", "ControlPath=%s" % link, "-O", "exit", "localhost"])
