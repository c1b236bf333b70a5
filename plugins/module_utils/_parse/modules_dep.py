# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""modules.dep: the index of a modules tree, as depmod writes it. PRIVATE to the collection.

Sample: C(kernel/net/netfilter/nf_nat.ko.xz: kernel/net/netfilter/nf_conntrack.ko.xz kernel/lib/libcrc32c.ko.xz)
Format: kmod tools/depmod.c; paths are relative to the tree, absolute ones lie outside of it (weak-updates).
"""

import re

from .. import _names

# Found in garbage only, and what no system call takes (a zero byte) or not every locale (anything but ASCII).
_NO_PATH = re.compile("[^ -~\n]")


def parse_modules_dep(text):
    """({name: (path, [name of each hard dependency])}, [lines that could not be read])."""
    modules, unread, names = {}, [], {}
    clean = not _NO_PATH.search(text)

    def name_of(path):
        # Thousands of lines name the same few hundred dependencies.
        if path not in names:
            names[path] = _names.of_file(path)
        return names[path]

    for line in text.splitlines():
        path, colon, needs = line.partition(":")
        name = name_of(path)
        if colon and name and (clean or not _NO_PATH.search(path)):
            modules[name] = (path, [dependency for dependency in map(name_of, needs.split()) if dependency])
        elif line.strip():
            unread.append(line)
    return modules, unread
