# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/lock, which show what no test can make, and the evidence of each."""

import os
import pathlib

import looks
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.holder import device_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import collect_xtables_lock


def look(tree, place, locks=None, device=None, mounted=True, **options):
    """The section; `locks`: lines of /proc/locks with %s for device and inode of the lock file of the tree. INODE in an
    fdinfo is that inode."""
    numbers = device_of(os.stat(tree).st_dev)
    if mounted:
        os.makedirs(tree + "/proc/self", exist_ok=True)
        pathlib.Path(tree, "proc/self/mountinfo").write_text("24 1 %d:%d / / rw - ext4 /dev/x rw\n" % numbers)
    path = tree + "/run/xtables.lock"
    inode = os.stat(path).st_ino if os.path.exists(path) else 0
    if locks is not None:
        name = "%02x:%02x:%d" % (tuple(device or numbers) + (inode,))
        pathlib.Path(tree, "proc/locks").write_text("".join(line.replace("%s", name) + "\n" for line in locks))
    for info in pathlib.Path(tree).glob("proc/*/fdinfo/*"):
        info.write_text(info.read_text().replace("INODE", str(inode)))
    return collect_xtables_lock(Host(tree), {"place": place}, **options)


@pytest.mark.parametrize("case", looks.cases("lock"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, {"lock": look})
