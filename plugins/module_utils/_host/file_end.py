# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading a growing file from its end."""

import os
import stat

from .host import _PATH_ERRORS, BLOCK, OK, UNPARSED, status_of


def stream_back(host, path, consume, limit):
    """(status, bytes read, bytes left out at the beginning) of a regular file. `consume(bytes, whether the block begins
    the file)` gets its blocks from the last one on, until it returns true or `limit` bytes are read. The last component
    of `path` may not be a link: the caller resolves links. A file that is renamed or truncated in the meantime is read
    as far as it goes. Never blocks: FIFOs and devices are `unparsed`."""
    try:
        handle = os.open(host.real_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
    except _PATH_ERRORS as error:
        return host.note(path, status_of(error)), 0, 0
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            return host.note(path, UNPARSED), 0, 0
        position, floor = seen.st_size, max(0, seen.st_size - limit)
        while position > floor:
            length = min(BLOCK, position - floor)
            position -= length
            if consume(os.pread(handle, length, position), position == 0):
                break
        return OK, seen.st_size - position, position
    except OSError as error:
        return host.note(path, status_of(error)), 0, 0
    finally:
        os.close(handle)
