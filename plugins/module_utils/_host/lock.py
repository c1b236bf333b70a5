# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time: a lock that the kernel releases with its process and that records its holder. PRIVATE to the
collection."""

import contextlib
import fcntl
import os

from .. import _errors
from . import detached

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def held(path):
    """Hold the lock file `path` while the block runs; gives None, or the present holder if the lock is not free. Raises
    ChangeFailed."""
    try:
        handle = _locked(path)
    except OSError as error:
        raise _errors.ChangeFailed("%s cannot be written: %s. Nothing was changed" % (path, error.strerror)) from error
    if handle is None:
        yield holder(path) or "another process"
        return
    try:
        yield None
    finally:
        try:
            os.unlink(path)
        except OSError:
            pass  # The next run takes the file over: it is not locked.
        os.close(handle)


def holder(path):
    """The holder of the lock, as `process PID`, or None where it is free. Never takes the lock, not even for a
    moment."""
    try:
        with open(path, "rb") as stream:
            pid, started = stream.read(200).decode("ascii").split()
    except (OSError, ValueError):
        return None
    alive = pid.isdigit() and detached.start_time_of(int(pid)) == started
    return "process %s" % pid if alive else None


def _locked(path):
    """A handle on the locked file, or None where another process holds the lock."""
    while True:
        handle = os.open(path, _FLAGS, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file after it was opened here.
            if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(handle)):
                os.ftruncate(handle, 0)
                os.write(handle, ("%d %s\n" % (os.getpid(), detached.start_time_of(os.getpid()))).encode("ascii"))
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            os.close(handle)
            raise
        os.close(handle)
