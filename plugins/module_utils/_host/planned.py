# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree as it will be once a plan is applied, for checks before anything is written. PRIVATE to the collection."""

import os
import posixpath
import stat

from .host import ABSENT, OK, TEXT_LIMIT, Host


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
