# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user who runs this. PRIVATE to the collection."""

import os
import pwd

_LOGIN = "/proc/self/loginuid"
# The loginuid of a process that no login started, such as a job of cron (proc_pid_loginuid(5)).
_UNSET = 0xFFFFFFFF


def caller():
    """Name of the user who logged in (the audit loginuid, which sudo does not change), otherwise the user of this
    process."""
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
