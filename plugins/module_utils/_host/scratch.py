# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary copies of files that a program of the node checks before the real ones are written.

They lie in a directory of their own that only this user may enter and that is removed afterwards."""

import contextlib
import os
import shutil
import tempfile

from .. import _errors


@contextlib.contextmanager
def scratch(texts):
    """Path of a directory that holds `{relative path: text}` while the block runs. Raises ChangeFailed."""
    folder = None
    try:
        try:
            folder = tempfile.mkdtemp(prefix="kubenode-netfilter-")
            for name, text in sorted(texts.items()):
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as stream:
                    stream.write(text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise _errors.ChangeFailed("no temporary file can be written for the check: %s" % error.strerror) from error
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
