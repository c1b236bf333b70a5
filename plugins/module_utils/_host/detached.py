# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A detached process on the node that undoes a change unless the change is confirmed in time. PRIVATE to the
collection.

It needs neither systemd nor the connection that started it: it leaves the session, the terminal and the control group
of the module (systemd-logind kills the rest of a session where KillUserProcesses is set, and stopping a unit kills its
group). It holds everything that it needs in memory, since the module's own files are gone by then. A reboot ends it.

The pending undo is a file, `TOKEN.armed`. The first rename decides: a confirmation renames it to `TOKEN.confirmed`, the
process itself to `TOKEN.restoring`, which becomes `TOKEN.restored` with a record of the outcome.
"""

import binascii
import json
import os
import re
import select
import signal
import time

from .. import _errors
from . import write

ARMED, CONFIRMED, RESTORING, RESTORED = "armed", "confirmed", "restoring", "restored"
STATES = (ARMED, CONFIRMED, RESTORING, RESTORED)
TOKEN = re.compile(r"[0-9a-f]{16}\Z")
_READY_SECONDS = 15.0
_LOOK_SECONDS = 1.0
# The OOM killer kills every process except the connection itself before this one.
_OOM_SCORE = "-900"
# The root group of both hierarchies may hold processes (kernel cgroup-v2.rst), and no program kills the processes in
# it.
_GROUPS = ("/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/systemd/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs")


def new_token():
    return binascii.hexlify(os.urandom(8)).decode("ascii")


def path_of(folder, token, state):
    return "%s/%s.%s" % (folder, token, state)


def arm(host, folder, token, record, seconds, restore):
    """Start the process; returns its pid once it waits. `record` is written to its file, with `pid` and `started`
    added.

    After `seconds` it calls `restore()`, which must not import anything and returns the keys to add to the record.
    Raises ChangeFailed.
    """
    ours, theirs = os.pipe()
    first = os.fork()
    if first == 0:
        _fork_again(host, folder, token, record, seconds, restore, theirs)
    os.close(theirs)
    try:
        os.waitpid(first, 0)
        ready = select.select([ours], [], [], _READY_SECONDS)[0]
        answer = (os.read(ours, 1000).decode("utf-8", "replace")
                  if ready else "it did not start within %d seconds" % _READY_SECONDS)
    finally:
        os.close(ours)
    if not answer.isdigit():
        raise _errors.ChangeFailed("the rollback process could not be started on the node: %s"
                                   % (answer or "it ended at once"))
    return int(answer)


def _fork_again(host, folder, token, record, seconds, restore, pipe):
    """The child. It never returns into the module, because the end of the module would then run a second time."""
    try:
        os.setsid()
        if os.fork() == 0:
            _wait(host, folder, token, record, seconds, restore, pipe)
    finally:
        os._exit(0)


def _wait(host, folder, token, record, seconds, restore, pipe):
    deadline = time.monotonic() + seconds
    try:
        _leave(pipe)
        record = dict(record, pid=os.getpid(), started=start_time_of(os.getpid()))
        write.replace(host, path_of(folder, token, ARMED), _text(record), 0o600)
        os.write(pipe, str(os.getpid()).encode("ascii"))
    except BaseException as error:  # pylint: disable=broad-except
        os.write(pipe, (str(error) or "it failed").encode("utf-8")[:1000])
        os._exit(1)
    os.close(pipe)
    while time.monotonic() < deadline:
        if _gone(path_of(folder, token, ARMED)):
            os._exit(0)
        time.sleep(max(0.0, min(_LOOK_SECONDS, deadline - time.monotonic())))
    if claim(folder, token, RESTORING):
        _restore(host, folder, token, record, restore)
    os._exit(0)


def _leave(pipe):
    """Detach from everything the module has: working directory, open files, signal handlers, control group."""
    os.chdir("/")
    os.umask(0o077)
    for name in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(name, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nothing, handle)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != pipe:
            try:
                os.close(int(name))
            except OSError:
                pass  # The descriptor through which the list itself was read.
    for path, text in (("/proc/self/oom_score_adj", _OOM_SCORE),) + tuple((path, "0") for path in _GROUPS):
        try:
            with open(path, "w") as stream:
                stream.write(text)
        except OSError:
            pass  # The hierarchy does not exist or is not writable: the process stays in its group.


def _gone(path):
    """True only where the file is certainly not there: in doubt the change is undone."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False


def claim(folder, token, state):
    """Whether this process is the first to decide. Where the rename fails (a disk gone read-only), the change is undone
    and a confirmation fails."""
    try:
        os.rename(path_of(folder, token, ARMED), path_of(folder, token, state))
    except FileNotFoundError:
        return False
    except OSError:
        return state == RESTORING
    return True


def _restore(host, folder, token, record, restore):
    try:
        outcome = restore()
    except BaseException as error:  # pylint: disable=broad-except
        outcome = {"failed": True, "msg": str(error)[:300]}
    record_outcome(host, folder, token, dict(record, **outcome))


def record_outcome(host, folder, token, record):
    """Record the outcome; a failure to write is ignored, since the rules are restored already."""
    try:
        write.replace(host, path_of(folder, token, RESTORING), _text(record), 0o600)
        os.rename(path_of(folder, token, RESTORING), path_of(folder, token, RESTORED))
    except (_errors.ChangeFailed, OSError):
        pass


def start_time_of(pid):
    """When a process started, in ticks since boot (man 5 proc); None where it does not exist. It distinguishes
    processes that had the same pid."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stream:
            return stream.read(4096).rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError):
        return None


def _text(record):
    return json.dumps(record, indent=1, sort_keys=True) + "\n"
