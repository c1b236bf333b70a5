# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ending a process of the node that a user asked to restart. PRIVATE to the collection."""

import os
import signal


def terminate(pid):
    """Sends SIGTERM to a process. Returns None, also where it has ended by itself, or why it could not be sent."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    except OSError as error:
        return error.strerror
    return None
