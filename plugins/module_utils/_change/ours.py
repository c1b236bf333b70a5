# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where all records lie, and files there that only root or this user can have written. PRIVATE to the collection."""

from .. import _errors
from .._host import write
from .._host.caller import why_not_ours
from .._host.host import TEXT_LIMIT

STATE = "/var/lib/kubenode-netfilter"


def refuse_of_others(host, path):
    """Raises ChangeFailed where another user may have written `path` below STATE, or a directory above it."""
    while (path + "/").startswith(STATE + "/"):
        seen = host.stat(path)
        problem = why_not_ours(path, seen) if seen is not None else None
        if problem:
            raise _errors.ChangeFailed(problem)
        path = path.rpartition("/")[0]


def read_ours(host, path, limit=TEXT_LIMIT):
    """As read_exactly(), for a file below STATE that an undo or a later run obeys."""
    refuse_of_others(host, path)
    return write.read_exactly(host, path, limit)
