# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the plugins of a CNI configuration are installed where the runtime looks. PRIVATE to the collection.

The files are inspected and never run.
"""

import stat

from ..._host.host import ABSENT
from .files import NETWORKS

PROGRAMS_LIMIT = 16
# Plugins that the pods of agents install besides the plugins of their networks.
_INSTALLED_WITH = ("calico-ipam", "azure-vnet-ipam", "egress-cni", "multus", "multus-shim")


def program_rows(host, place, files, bin_dirs):
    """A row for each program that the files in use need. The pods of agents install their plugins at their first start,
    so an image need not have these."""
    names = []
    for row in files:
        names += [name for name in row.config.programs if name not in names] if row.config else []
    if place != "live":
        names = [name for name in names if name not in NETWORKS and name not in _INSTALLED_WITH]
    return [_program(host, name, bin_dirs) for name in names[:PROGRAMS_LIMIT]]


def _program(host, name, bin_dirs):
    """libcni FindInPath(): the first regular file of that name in the order of the directories."""
    row = {"name": name[:64], "path": None, "state": "missing", "reason": "it is in none of %s" % ", ".join(bin_dirs)}
    if "/" in name or "\0" in name:
        return dict(row, reason="a type with a slash is refused")
    for folder in bin_dirs:
        path = folder + "/" + name
        with host.noting() as notes:
            found = host.stat(path)
        if found is None and notes.get(path, ABSENT) != ABSENT:
            return dict(row, path=path, state="unknown", reason="%s could not be read: %s" % (path, notes[path]))
        if found is not None and stat.S_ISREG(found.st_mode):
            return dict(row, path=path, **_judged(path, found))
    return row


def _judged(path, found):
    if not found.st_mode & 0o111:
        return {"state": "not_executable", "reason": "%s has no execute permission" % path}
    if not found.st_size:
        return {"state": "empty", "reason": "%s is empty" % path}
    return {"state": "present", "reason": path}
