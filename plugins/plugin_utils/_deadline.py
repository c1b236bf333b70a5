# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A time limit for code that waits for a node. PRIVATE to the collection."""

import contextlib
import signal


class Overdue(BaseException):
    """There was no answer in time. No plugin in between catches it: it is not derived from the errors that they
    handle."""


@contextlib.contextmanager
def deadline(seconds):
    """Raises Overdue in the code inside after `seconds`; 0 means never, and a shorter limit of the task stays in
    force."""

    def overdue(_signal, _frame):
        raise Overdue

    remaining = signal.getitimer(signal.ITIMER_REAL)[0]
    if not seconds or 0 < remaining <= seconds:
        yield
        return
    previous = signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, remaining)
        signal.signal(signal.SIGALRM, previous)
