# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors the collection's own code raises. PRIVATE to the collection."""

from . import _compile_once

# Every module imports this file first.
_compile_once.install(__loader__)


class BadInput(Exception):
    """The user's input is wrong; the text is one sentence: what, where, what to do."""

    def result(self):
        """The result of a module that fails."""
        return {"msg": str(self)}


class ChangeFailed(Exception):
    """A change to the node could not be made or not be verified; no file is half-written.

    `files` are paths that were changed all the same, in order; `changed` is whether there are any.
    """

    def __init__(self, message, files=(), changed=False):
        super(ChangeFailed, self).__init__(message)
        self.files = list(files)
        self.changed = changed or bool(self.files)

    def result(self):
        """The result of a module that fails."""
        return {"msg": str(self), "changed": self.changed, "files": self.files}
