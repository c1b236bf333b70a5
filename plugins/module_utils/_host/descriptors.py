# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open files of processes: the links of /proc/PID/fd and the text of /proc/PID/fdinfo.

Reading these does not touch the open file itself: a stat() of it could hang for ever on a FUSE mount of a container."""

import os
import time

from .host import ABSENT, DENIED, OK, TIMEOUT, status_of

LIMIT, SECONDS, _TEXT_LIMIT = 50000, 1.0, 65536


class Descriptors:
    """Reads descriptors, at most `LIMIT` of them and for at most `SECONDS` in total. `status` afterwards: ok, denied
    (the descriptors of some process are not readable) or timeout (a limit was reached)."""

    def __init__(self, host):
        self.status = OK
        self._host = host
        self._left = LIMIT
        self._deadline = time.monotonic() + SECONDS

    def of(self, pid, name=None):
        """A generator of the fdinfo texts of all descriptors of `pid`, or only of those whose link ends in `name`."""
        folder = "/proc/%d" % pid
        try:
            for entry in os.scandir(self._host.real_path(folder + "/fd")):
                self._left -= 1
                if self._left < 0 or time.monotonic() > self._deadline:
                    self.status = TIMEOUT
                    return
                if name is None or os.readlink(entry.path).rpartition("/")[2] == name:
                    yield self._host.read_text("%s/fdinfo/%s" % (folder, entry.name), _TEXT_LIMIT).text
        except OSError as error:
            # A process that ended in the meantime has no open files.
            if status_of(error) != ABSENT and self.status == OK:
                self.status = DENIED
