# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a program of the node, watches it and always returns.

A time limit for a look, and the end of a process.
"""

import contextlib
import fcntl
import os
import resource
import select
import signal
import subprocess
import time

# The statuses of a program that ended by itself, and of one that was killed.
ENDED, SLOW, FLOOD = "ok", "timeout", "unparsed"

# The most a pipe of an unprivileged user may hold (fs.pipe-max-size, man 7 pipe): the program writes on while
# a parser works.
PIPE_SIZE = 1 << 20
# Output is read and passed on in pieces of this size, which stay in the processor's cache, unlike larger ones (a tenth
# of the time for 12 MB).
PIECE_SIZE = 1 << 17
# At most so much of stderr is kept.
MESSAGES_LIMIT = 64 * 1024
# A killed program that hangs in the kernel is abandoned after this time.
LAST_SECONDS = 2.0
# A program that has used this much processor time and printed nothing has much to read first, such as 100,000 rules.
PROMPT_SECONDS = 0.02

_F_SETPIPE_SZ = 1031  # linux/fcntl.h; the module fcntl has the name only since Python 3.10.


def start(program, arguments, path):
    """Start a process without input that writes into pipes. It gets a new session, so that its children can be killed
    with it. Raises OSError."""
    # AnsibleModule.run_command() has neither a timeout nor a limit of output. Without a preexec_fn Python need not copy
    # its own memory for the child (vfork since 3.10), which takes 0.5 ms instead of 3.
    process = subprocess.Popen(  # pylint: disable=ansible-bad-function
        [program] + list(arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        close_fds=True, start_new_session=True, env={"PATH": path, "LC_ALL": "C"})
    _step_back(process.pid)
    try:
        fcntl.fcntl(process.stdout.fileno(), _F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        pass  # The user's pipes hold too much already: the pipe keeps its default size.
    return process


def _step_back(pid):
    """Lower the priority of this process, for processor and memory: the node's own work goes first. It dumps no core:
    an old nft crashes where a newer one wrote sets, and each look would leave a dump on the disk."""
    try:
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        with open("/proc/%d/oom_score_adj" % pid, "w") as score:
            score.write("1000")
    except OSError:
        pass  # It has ended, or a hardened node refuses both; time and output of the look are limited all the same.


def attend(process, ending, consume, deadline, limit, while_waiting):
    """Fills in `ending`, a Completed; the output of the process is passed to `consume(bytes)` while it runs. An
    exception from `consume` kills the process too."""
    try:
        if while_waiting and _is_at_work(process, deadline):
            while_waiting()
        _read_on(process, consume, deadline, limit, ending)
        if ending.status == ENDED and not _ended(process, ending, deadline):
            ending.status = SLOW
    finally:
        if process.returncode is None:
            _kill(process, ending)
        process.stdout.close()
        process.stderr.close()
    ending.err = ending.err.decode("utf-8", "replace")
    return ending


def _is_at_work(process, deadline):
    """Whether the process works for long before it prints. Elapsed time does not show that: on a busy
    node the look runs last."""
    while not select.select([process.stdout, process.stderr], [], [],
                            PROMPT_SECONDS)[0] and time.monotonic() < deadline:
        if _worked_seconds(process.pid) >= PROMPT_SECONDS:
            return True
    return False


def _worked_seconds(pid):
    """Processor time of a process, in seconds."""
    try:
        # clock_getcpuclockid() as glibc makes it, with the CPUCLOCK_SCHED of linux/posix-timers.h: exact, unlike the
        # ticks of /proc/PID/stat.
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0  # It has ended.


def _read_on(process, consume, deadline, limit, ending):
    open_streams = {process.stdout.fileno(), process.stderr.fileno()}
    while open_streams and ending.status == ENDED:
        ready = select.select(list(open_streams), [], [], max(0.0, deadline - time.monotonic()))[0]
        if not ready:
            ending.status = SLOW
        for handle in ready:
            chunk = os.read(handle, min(PIECE_SIZE, max(1, limit + 1 - ending.size)))
            ending.size += len(chunk)
            if not chunk:
                open_streams.discard(handle)
            elif handle == process.stdout.fileno():
                consume(chunk)
            else:
                ending.err += chunk[:MESSAGES_LIMIT - len(ending.err)]
        if ending.size > limit:
            ending.status = FLOOD


def _kill(process, ending):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass  # It ended just before the kill.
    _ended(process, ending, time.monotonic() + LAST_SECONDS)


def _ended(process, ending, deadline):
    """Whether the process ends before that time. A process that closed its output usually ends at once, so the first
    checks follow each other closely."""
    pause = 0.0001
    while not _reaped(process, ending):
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    return True


def _reaped(process, ending):
    """Whether the process has ended; wait4 also returns its peak memory (with that of this process at the start)."""
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return False
    ending.rc = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    ending.peak_bytes = usage.ru_maxrss * 1024
    process.returncode = ending.rc
    return True


class Overdue(Exception):
    """It took longer than it may."""


@contextlib.contextmanager
def within(seconds):
    """Ends what runs inside with Overdue after whole `seconds`; 0 means never."""
    def overdue(_signal, _frame):
        raise Overdue("the look took longer than %d seconds" % seconds)

    before = signal.signal(signal.SIGALRM, overdue)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


_OPEN, _SEND = getattr(os, "pidfd_open", None), getattr(signal, "pidfd_send_signal", None)


def terminate(pid, is_the_same):
    """Sends SIGTERM to a process if `is_the_same()`. Returns whether it was the same, and why the signal could not be
    sent, or None; that the process has ended by itself is no reason."""
    handle = _opened(pid)
    try:
        if not is_the_same():
            return False, None
        if handle is None:
            os.kill(pid, signal.SIGTERM)
        else:
            _SEND(handle, signal.SIGTERM)
    except ProcessLookupError:
        pass
    except OSError as error:
        return True, error.strerror
    finally:
        if handle is not None:
            os.close(handle)
    return True, None


def _opened(pid):
    """A handle that stays with the process when its number is used again (man 2 pidfd_open, Linux 5.3); None without
    one, in Python before 3.9 and in older kernels."""
    try:
        return _OPEN(pid) if _OPEN and _SEND else None
    except OSError:
        return None
