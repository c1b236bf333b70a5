# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors the collection's own code raises. PRIVATE to the collection."""

from . import _compile_once

# Whatever a module imports, this file comes first.
_compile_once.install(__loader__)


class BadInput(Exception):
    """Something the user gave is wrong; the text is one sentence: what, where, what to do."""

    def result(self):
        """What a module that fails returns."""
        return {"msg": str(self)}


class ChangeFailed(Exception):
    """A change to the node could not be made or could not be proved; nothing is left half-written.

    `files` are paths that are changed all the same, in the order in which they were; `changed` is whether anything is.
    """

    def __init__(self, message, files=(), changed=False):
        super(ChangeFailed, self).__init__(message)
        self.files = list(files)
        self.changed = changed or bool(self.files)

    def result(self):
        """What a module that fails returns."""
        return {"msg": str(self), "changed": self.changed, "files": self.files}
