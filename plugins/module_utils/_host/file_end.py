# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a file that grows. PRIVATE to the collection."""

import os
import stat

from .host import _PATH_ERRORS, BLOCK, OK, UNPARSED, status_of


def stream_end(host, path, consume, limit):
    """(status, bytes that were left out at the beginning) of a regular file whose last `limit` bytes went to
    `consume(bytes)` block by block.

    The last part of `path` may not be a link: the caller resolves it and decides. A file that is renamed or cut
    meanwhile is read as far as it is there. Never waits: FIFOs and devices are `unparsed`.
    """
    try:
        handle = os.open(host.real_path(path),
                         os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
    except _PATH_ERRORS as error:
        return host.note(path, status_of(error)), 0
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            return host.note(path, UNPARSED), 0
        skipped = os.lseek(handle, max(0, seen.st_size - limit), os.SEEK_SET)
        left = limit
        while left > 0:
            chunk = os.read(handle, min(left, BLOCK))
            if not chunk:
                break
            consume(chunk)
            left -= len(chunk)
        return OK, skipped
    except OSError as error:
        return host.note(path, status_of(error)), 0
    finally:
        os.close(handle)
