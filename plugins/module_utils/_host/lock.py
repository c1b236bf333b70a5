# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run at a time for each tree: a lock that the kernel releases with its process and that names its holder.

The lock file lies in /run of the tree (on a live node that is no disk, and a boot empties it), or in its root directory
where there is no /run. Only its owner can open it, so that no other user can hold it."""

import contextlib
import fcntl
import os
import stat

from .. import _errors
from .notes import why_not_ours

NAME = "kubenode-netfilter.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# A holder that ends between open() and flock() has removed the file; then it is made again.
_ATTEMPTS = 100
# The locks of this call, {real path: handle, or the error where it could not be taken}, and the open blocks.
_TAKEN, _BLOCKS = {}, []


class Busy(_errors.ChangeFailed):
    """Another run holds the lock."""


@contextlib.contextmanager
def one_call():
    """Locks that are taken in this block are held until its end, so that several subjects of one call lock once."""
    _BLOCKS.append(None)
    try:
        yield
    finally:
        _BLOCKS.pop()
        while _TAKEN and not _BLOCKS:
            _release(*_TAKEN.popitem())


@contextlib.contextmanager
def one_run(host, check_mode):
    """Hold the lock of a tree while the block runs, except in check mode. Raises Busy, and ChangeFailed where the lock
    file cannot be trusted. Where it cannot be written the block runs, but must_be_held() refuses any change."""
    with one_call():
        if not check_mode:
            shown, real = _paths(host)
            if real not in _TAKEN:
                try:
                    _TAKEN[real] = _locked(real, shown)
                except (OSError, _errors.ChangeFailed) as error:
                    _TAKEN[real] = error
            if isinstance(_TAKEN[real], _errors.ChangeFailed):
                raise _TAKEN[real]
        yield


def must_be_held(host):
    """Raises ChangeFailed where this process does not hold the lock of the tree."""
    shown, real = _paths(host)
    taken = _TAKEN.get(real)
    if not isinstance(taken, int):
        raise _errors.ChangeFailed("the lock %s cannot be taken: %s. Nothing was changed" % (
            shown, getattr(taken, "strerror", None) or "this run did not ask for it"))


def _paths(host):
    """The path of the lock in the tree, and on this machine."""
    folder = "/run" if host.is_dir("/run") else "/"
    return os.path.join(folder, NAME), os.path.join(host.real_path(folder), NAME)


def _busy(real, shown):
    return Busy("%s is changing this node and holds %s. Run this again when that process has ended, and end it if it "
                "hangs. Nothing was changed" % (_holder(real) or "another process", shown))


def _holder(real):
    """The holder of the lock, as `process PID`, or None where it is free or unknown."""
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            pid, started = os.read(handle, 200).decode("ascii").split()
        finally:
            os.close(handle)
    except (OSError, ValueError):
        return None
    alive = pid.isdigit() and start_time_of(int(pid)) == started
    return "process %s" % pid if alive else None


def _locked(real, shown):
    """A handle on the locked file. Raises OSError, Busy and ChangeFailed."""
    for _attempt in range(_ATTEMPTS):
        if os.path.lexists(real):
            _refuse_unsound(shown, os.lstat(real))
        handle = os.open(real, _FLAGS, 0o600)
        try:
            _refuse_unsound(shown, os.fstat(handle))
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file after it was opened here.
            if os.path.exists(real) and os.path.samestat(os.stat(real), os.fstat(handle)):
                _write_holder(handle)
                return handle
        except BlockingIOError as error:
            os.close(handle)
            raise _busy(real, shown) from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise _busy(real, shown)


def _refuse_unsound(shown, seen):
    problem = why_not_ours(shown, seen)
    if not stat.S_ISREG(seen.st_mode) or seen.st_nlink > 1:
        problem = "%s is a link or no regular file; remove it" % shown
    if problem:
        raise _errors.ChangeFailed(problem + ". Nothing was changed")


def _write_holder(handle):
    try:
        os.ftruncate(handle, 0)
        os.write(handle, ("%d %s\n" % (os.getpid(), start_time_of(os.getpid()))).encode("ascii"))
    except OSError:
        pass  # The disk is full. The lock is held all the same, by a process that the file does not name.


def _release(real, taken):
    if isinstance(taken, int):
        try:
            os.unlink(real)
        except OSError:
            pass  # The next run takes the file over: it is not locked.
        os.close(taken)


def start_time_of(pid):
    """When a process started, in ticks since boot (man 5 proc); None where it does not exist. It distinguishes
    processes that had the same pid."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stream:
            return stream.read(4096).rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError):
        return None
