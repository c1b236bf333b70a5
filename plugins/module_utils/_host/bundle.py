# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A support bundle, laid out as the tree of a node. PRIVATE to the collection.

A file that the bundle lacks was not collected, and the node may have it. A command returns the output that the bundle
holds; no program is run.
"""

import json
import posixpath

from .._names import BUNDLE_COMMANDS, BUNDLE_DECLARED, BUNDLE_UNREAD, BUNDLE_WHOLE, UNCOLLECTED
from .host import ABSENT, Completed, DENIED, Host, OK, UNPARSED

_ANSWER_LIMIT = 64 * 1024 * 1024


class BundleHost(Host):
    """A `Host` that answers `absent` only where the bundle proves it: in a folder that was collected as a whole."""

    def __init__(self, root):
        super().__init__(root, False)
        self._whole = ()
        self._whole = tuple(self.read_text(BUNDLE_WHOLE).text.split())

    def declared(self):
        """{name: value} of the variables of node_policy that a bundle may not show."""
        try:
            return json.loads(self.read_text(BUNDLE_DECLARED).text or "{}")
        except ValueError:
            return {}

    def note(self, path, why):
        """As in Notes, but a path that was not collected is not noted: it could be read on the node."""
        return why if why == UNCOLLECTED else super().note(path, why)

    def _read_through(self, path, consume, limit):
        return self._proven(path, super()._read_through(path, consume, limit))

    def list_dir(self, path):
        """(status, sorted names) of a directory."""
        status, names = super().list_dir(path)
        return self._proven(path, status), names

    def _proven(self, path, status):
        if status == UNPARSED and BUNDLE_UNREAD in self.real_path(path):
            return DENIED  # The node may be able to read it.
        below = posixpath.normpath(path)
        return UNCOLLECTED if status == ABSENT and not any(below.startswith(folder + "/")
                                                           for folder in self._whole) else status

    def stream(self, argv, consume, timeout, limit, while_waiting=None):
        """The output of the command as the bundle holds it; `uncollected` where it holds none."""
        name = " ".join(argv).replace("/", "_")
        status = self.stream_file("%s/%s" % (BUNDLE_COMMANDS, name), consume, min(limit, _ANSWER_LIMIT), packed=False)
        return Completed(status, 0 if status == OK else None)
