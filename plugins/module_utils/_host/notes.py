# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look could not see, and who it looks as. PRIVATE to the collection."""

import collections
import contextlib
import io
import os

# What one block of a look could not see; more than that is told by the first ones.
NOTES_LIMIT = 1000
_PASSWD_LIMIT = 4 * 1024 * 1024
# Statuses of what was seen.
_SEEN = ("ok", "absent")


class Notes:
    """A Host says `note` of what it could not see, and a collector asks with `noting`."""

    def __init__(self):
        self._notes = []

    @contextlib.contextmanager
    def noting(self):
        """`{path: why}` of all that could not be seen while the block lasted, however it was asked for: a status
        (denied, unparsed) or half a sentence. What is not there was seen; what lies below a folder that may not be
        entered was not."""
        notes = collections.OrderedDict()
        self._notes.append(notes)
        try:
            yield notes
        finally:
            self._notes.pop()

    def note(self, path, why):
        """Tell the blocks that `path` could not be seen, unless `why` is the status of something that was; returns
        `why`."""
        if why not in _SEEN:
            for notes in self._notes:
                if len(notes) < NOTES_LIMIT:
                    notes.setdefault(path, why)
        return why


def user_name():
    """Name of the user this look runs as, by /etc/passwd alone: a directory of users may be on another machine."""
    uid = str(os.geteuid())
    try:
        with io.open("/etc/passwd", encoding="utf-8", errors="replace") as stream:
            fields = [line.split(":") for line in stream.read(_PASSWD_LIMIT).splitlines()]
    except (IOError, OSError):
        fields = []
    return next((row[0] for row in fields if row[2:3] == [uid]), "uid " + uid)
