# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look could not see, and the user it runs as.

The user who runs this, and files that only this user or root can have written.
"""

import collections
import contextlib
import io
import os
import pwd
import stat

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


# Where all records lie.
STATE = "/var/lib/kubenode-netfilter"
_LOGIN = "/proc/self/loginuid"
# The loginuid of a process that no login started, such as a job of cron (proc_pid_loginuid(5)).
_UNSET = 0xFFFFFFFF


def caller():
    """Name of the user who logged in (the audit loginuid, which sudo does not change), or of this process."""
    try:
        with open(_LOGIN, encoding="ascii") as file:
            uid = int(file.read())
    except (OSError, ValueError):
        uid = _UNSET
    uid = os.geteuid() if uid == _UNSET else uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def written_by_others(host, path):
    """Why `path` below STATE is not used, as a sentence, or None: another user may have written it or one above it."""
    problem = None
    while not problem and (path + "/").startswith(STATE + "/"):
        seen = host.stat(path)
        problem = why_not_ours(path, seen) if seen is not None else None
        path = path.rpartition("/")[0]
    return problem


def why_not_ours(path, seen):
    """Why a file or directory of ours is not used, as a sentence, or None: another user may have written it."""
    if seen.st_uid not in (0, os.geteuid()):
        return ("%s belongs to the user with the ID %d, so it is not used; check it, then remove it or give it to root"
                % (path, seen.st_uid))
    if seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return ("%s can be written by other users (mode %04o), so it is not used; check it, then remove it or run "
                "chmod go-w on it" % (path, stat.S_IMODE(seen.st_mode)))
    return None
