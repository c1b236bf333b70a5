# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of the tree of a bundle: the links of the node, and the marks of files which were not read. PRIVATE to the
collection."""

import errno
import os

from ...module_utils._names import BUNDLE_UNREAD

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
