# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of records that only root or this user can have written. PRIVATE to the collection."""

from .. import _errors
from .._host import write
from .._host.caller import written_by_others
from .._host.host import TEXT_LIMIT


def refuse_of_others(host, path):
    """Raises ChangeFailed where another user may have written `path` below STATE, or a directory above it."""
    problem = written_by_others(host, path)
    if problem:
        raise _errors.ChangeFailed(problem)


def read_ours(host, path, limit=TEXT_LIMIT):
    """As read_exactly(), for a file below STATE that an undo or a later run obeys."""
    refuse_of_others(host, path)
    return write.read_exactly(host, path, limit)
