# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A time limit for a look, and the end of a process."""

import contextlib
import os
import signal


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
