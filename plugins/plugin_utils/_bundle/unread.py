# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was not read of a support bundle. PRIVATE to the collection.

Links of the tree of a bundle: the links of the node, and the marks of files which were not read.
"""

import errno
import os
import posixpath

from ...module_utils import _names
from ...module_utils._names import BUNDLE_UNREAD
from . import file_kinds, source

# So many files that were not read are named, each with so many characters of its path.
_UNREAD_LIMIT, _NAME_LIMIT = 20, 200
_PASSED_LIMIT, _TEXT_HEAD = 3, 4096
_NO_FORM = "no form of evidence is known in the text"
_HELD = "archives in a bundle and binary journals are not read; unpack them, or add the output of journalctl"
# What a file of unknown content may be.
_ANY = (_names.BUNDLE_RULES + "/unread-%d", "/etc/sysctl.d/unread-%d.conf", "/etc/modprobe.d/unread-%d.conf",
        "/etc/modules-load.d/unread-%d.conf", "/etc/systemd/system/unread-%d.service", "/usr/local/sbin/unread-%d.sh")


class Unread:
    """`paths`: {path of the tree that could not be read: None}."""

    def __init__(self):
        self.paths = {}
        self._named, self._left_out = [], 0
        # {why nothing was read of some files: [the first paths, how many there are]}.
        self._passed = {}

    def name(self, item, reason):
        """Records that a file was not read."""
        if len(self._named) < _UNREAD_LIMIT:
            self._named.append({"subject": item.path[:_NAME_LIMIT], "evidence": reason})
        else:
            self._left_out += 1

    def add(self, item):
        """A file, or with a slash at its end a folder, that was not read. Unless its path shows what it is, it may be
        any evidence."""
        if file_kinds.is_secret(item.path):
            return
        if item.unread:
            self.name(item, item.unread)
        inside = item.path + "x" if item.path.endswith("/") else item.path
        kind, path = file_kinds.kind_of(source.Item(inside))
        number = len(self._named) + self._left_out
        paths = [posixpath.normpath(path[:-1]) if inside != item.path else path] if kind == "system" else [
            each % number for each in _ANY[:None if number <= _UNREAD_LIMIT else 0]]
        self.paths.update(dict.fromkeys(paths))

    def pass_over(self, item):
        """A file of no known form. There is one row for all of them that are texts, and one for archives and binary
        journals."""
        if item.link is not None or not item.data or file_kinds.is_secret(item.path):
            return
        is_packed = file_kinds.is_packed(item.path)
        if is_packed or b"\0" not in item.data[:_TEXT_HEAD]:
            row = self._passed.setdefault(_HELD if is_packed else _NO_FORM, [[], 0])
            row[0] = (row[0] + [item.path[:_NAME_LIMIT]])[:_PASSED_LIMIT]
            row[1] += 1

    def rows(self):
        """[{subject, evidence}], one for each file that is named."""
        rows = list(self._named)
        if self._left_out:
            rows.append({"subject": "%d more files" % self._left_out, "evidence": "they were not read, either"})
        for why, (paths, count) in sorted(self._passed.items()):
            more = count - len(paths)
            rows.append({"subject": ", ".join(paths) + (" and %d more files" % more if more else ""), "evidence": why})
        return rows


# Errors that the path of a member causes, and not the file system.
OF_PATH = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.EINVAL, errno.EILSEQ, errno.ELOOP)


def make_link(root, place, target):
    """Makes a link of the tree, which BundleHost follows only inside the tree; no link is made below another link.
    False if something different is in its place."""
    if _is_below_a_link(root, place) or os.path.lexists(place):
        return place.is_symlink() and os.readlink(place) == target
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.symlink_to(target)
    return True


def make_unread(root, place):
    """Puts a link that cannot be read in the place of a file, or beside the files of a folder."""
    while _is_below_a_link(root, place):
        place = place.parent
    try:
        if place.is_dir() and not place.is_symlink():
            place = place / "unread"
        if os.path.lexists(place):
            place.unlink()
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.symlink_to(BUNDLE_UNREAD)
    except OSError as error:
        if error.errno not in OF_PATH:
            raise
        if place.parent != root:
            make_unread(root, place.parent)


def _is_below_a_link(root, place):
    # From the top down: below a link to a name that is too long the kernel refuses each question.
    return any(folder.is_symlink() for folder in reversed(place.parents) if root in folder.parents)
