# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Directories that a user names for the search for scripts. PRIVATE to the collection."""

import posixpath

from .._errors import BadInput

LIMIT = 50
# A search of these would never end, or find only what the kernel generates.
_NEVER = ("/", "/proc", "/sys", "/dev")


def checked_directories(directories, name="hook_directories"):
    """The given directories. Raises BadInput for one that cannot be searched; `name` is the name of the option."""
    for folder in directories:
        if not folder.startswith("/") or "/" + posixpath.normpath(folder).lstrip("/") in _NEVER:
            raise BadInput("%s: %r cannot be searched; name a directory with scripts by its whole path, such as "
                           "/opt/maintenance" % (name, folder))
    if len(directories) > LIMIT:
        raise BadInput("%s names %d directories; give at most %d" % (name, len(directories), LIMIT))
    return directories
