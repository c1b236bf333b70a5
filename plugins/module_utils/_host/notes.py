# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look could not see, and the user it runs as."""

import collections
import contextlib
import io
import os

# At most so many unseen paths are noted in one block of a look; the first ones are enough to explain it.
NOTES_LIMIT = 1000
_PASSWD_LIMIT = 4 * 1024 * 1024
# Statuses of paths that were seen.
_SEEN = ("ok", "absent")


class Notes:
    """A Host calls `note` for what it could not see; a collector collects the notes with `noting`."""

    def __init__(self):
        self._notes = []

    @contextlib.contextmanager
    def noting(self):
        """`{path: why}` of everything that could not be seen inside the block, by whichever method: `why` is a status
        (denied, unparsed) or half a sentence. A path that does not exist counts as seen; a path below a folder that may
        not be entered does not."""
        notes = collections.OrderedDict()
        self._notes.append(notes)
        try:
            yield notes
        finally:
            self._notes.pop()

    def note(self, path, why):
        """Record in the open blocks that `path` could not be seen, unless `why` means that it was; returns `why`."""
        if why not in _SEEN:
            for notes in self._notes:
                if len(notes) < NOTES_LIMIT:
                    notes.setdefault(path, why)
        return why


def user_name():
    """Name of the user this look runs as, from /etc/passwd alone: LDAP and the like may be on another machine."""
    uid = str(os.geteuid())
    try:
        with io.open("/etc/passwd", encoding="utf-8", errors="replace") as stream:
            fields = [line.split(":") for line in stream.read(_PASSWD_LIMIT).splitlines()]
    except (IOError, OSError):
        fields = []
    return next((row[0] for row in fields if row[2:3] == [uid]), "uid " + uid)
