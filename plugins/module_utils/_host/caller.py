# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user who runs this, and files that only this user or root can have written."""

import os
import pwd
import stat

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
