# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who runs this. PRIVATE to the collection."""

import os
import pwd

_LOGIN = "/proc/self/loginuid"
# Of a process that nobody's login started, such as one of cron (proc_pid_loginuid(5)).
_UNSET = 0xFFFFFFFF


def caller():
    """Name of the user who logged in, as audit knows it, which sudo does not change; else that of this process."""
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
