# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""modules.dep: the index of a modules tree, as depmod writes it. PRIVATE to the collection.

Sample: `kernel/net/netfilter/nf_nat.ko.xz: kernel/net/netfilter/nf_conntrack.ko.xz kernel/lib/libcrc32c.ko.xz`
Format: kmod tools/depmod.c; paths are relative to the tree, absolute ones lie outside of it (weak-updates).
"""

import re

from ... import _names

# Characters that occur only in garbage, or that system calls (NUL) or some locales (anything but ASCII) do not accept.
_NO_PATH = re.compile("[^ -~\n]")
# A valid index has thousands of such lines and every look reads it, so one expression parses all of them.
_LINE = re.compile(r"^([^:\n]*?([^:/\n]+)\.ko(?:\.gz|\.xz|\.zst)?):(.*)$", re.M)


def parse_modules_dep(text):
    """({name: (path, paths of the hard dependencies in one text, see dependencies_of)}, [lines that could not be
    read])."""
    found = _LINE.findall(text)
    if len(found) == len(text.splitlines()) and not _NO_PATH.search(text):
        return {_names.normalise(name): (path, needs) for path, name, needs in found}, []
    modules, unread = {}, []
    for line in text.splitlines():
        path, colon, needs = line.partition(":")
        name = _names.of_file(path)
        if colon and name and not _NO_PATH.search(path):
            modules[name] = (path, needs)
        elif line.strip():
            unread.append(line)
    return modules, unread


def dependencies_of(needs):
    """Names of the hard dependencies that the index lists after the colon, in its order."""
    return [name for name in map(_names.of_file, needs.split()) if name]
