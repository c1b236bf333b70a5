# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts besides a machine and its tree: a tree as planned changes will leave it, and a support bundle."""

import json
import os
import posixpath
import stat

from .._names import BUNDLE_COMMANDS, BUNDLE_DECLARED, BUNDLE_UNREAD, BUNDLE_WHOLE, UNCOLLECTED
from .host import ABSENT, Completed, DENIED, Host, OK, TEXT_LIMIT, UNPARSED


class PlannedHost(Host):
    """The tree of `host` with the planned `texts` in it: {path: text, or None for a file that is removed}."""

    def __init__(self, host, texts):
        super().__init__(host.root, host.commands)
        self._texts = texts

    def _planned(self, path):
        """(whether the plan holds the file, its planned text), by its own path or by the path its links lead to."""
        if path not in self._texts:
            path = self.tree_path(path)
        return path in self._texts, self._texts.get(path)

    def read_bytes(self, path, limit=TEXT_LIMIT):
        planned, text = self._planned(path)
        if not planned:
            return super().read_bytes(path, limit)
        return (ABSENT, b"") if text is None else (OK, text.encode("utf-8", "surrogateescape"))

    def list_dir(self, path):
        status, names = super().list_dir(path)
        come = {posixpath.basename(name) for name, text in self._texts.items()
                if text is not None and posixpath.dirname(name) == path}
        gone = {posixpath.basename(name) for name, text in self._texts.items()
                if text is None and posixpath.dirname(name) == path}
        return OK if come and status == ABSENT else status, sorted((set(names) | come) - gone)

    def stat(self, path):
        planned, text = self._planned(path)
        if not planned:
            return super().stat(path)
        return None if text is None else os.stat_result((stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, len(text), 0, 0, 0))

    def read_link(self, path):
        return None if path in self._texts else super().read_link(path)


# A support bundle, laid out as the tree of a node.
# A file that the bundle lacks was not collected, and the node may have it. A command returns the output that the bundle
# holds; no program is run.

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
