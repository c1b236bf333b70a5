# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A time limit for a look that follows a change in the same process. PRIVATE to the collection."""

import contextlib
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
