# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Directories in which new files wait for their rename, and what killed runs leave behind in them.

Such a directory lies beside the place of the file (the same file system), and only this user may enter it: no program
runs or reads what a killed run leaves there. It is locked while a run works in it, and the kernel drops the lock with
the process, so that the next run can distinguish leftovers from work in progress.

Temporary copies of files that a program of the node checks before the real ones are written.

They lie in a directory of their own that only this user may enter and that is removed afterwards.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile

from .. import _errors
from .host import TEMPORARY

# Another run may take a new directory for a left-over before it is locked; then a further one is made.
_ATTEMPTS = 100
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER = -1


@contextlib.contextmanager
def apart(folder):
    """A new directory in `folder`, locked, that only this user may enter; removed with its content. Raises OSError."""
    path, handle = _new_locked(folder)
    try:
        yield path
    finally:
        try:
            _empty(handle)
            os.rmdir(path)
        except OSError:
            pass  # The next run removes it.
        os.close(handle)


def _new_locked(folder):
    for _attempt in range(_ATTEMPTS):
        path = tempfile.mkdtemp(prefix=TEMPORARY, dir=folder)
        try:
            handle = os.open(path, _FLAGS)
        except FileNotFoundError:
            continue
        _lock(handle, fcntl.LOCK_EX)
        if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(handle)):
            return path, handle
        os.close(handle)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), folder)


def _lock(handle, how):
    """Whether the directory could be locked; some network file systems cannot lock directories."""
    try:
        fcntl.flock(handle, how)
    except OSError:
        return False
    return True


def _empty(handle):
    for name in os.listdir(handle):
        os.unlink(name, dir_fd=handle)


def leftovers(host, folders):
    """Paths below these directories of the tree that killed runs left behind, but none in which a run works."""
    found = []
    for folder in sorted(set(folders)):
        for name in host.list_dir(folder)[1]:
            if name.startswith(TEMPORARY):
                with _entered(os.path.join(host.real_path(folder), name)) as handle:
                    found += [folder + "/" + name] if handle is not None else []
    return found


def remove(host, path):
    """Remove a left-over, unless a run is working in it. Raises OSError."""
    folder, name = os.path.split(path)
    real = os.path.join(host.real_path(folder), name)
    with _entered(real) as handle:
        if handle == _NO_FOLDER:
            os.unlink(real)
        elif handle is not None:
            _empty(handle)
            os.rmdir(real)


@contextlib.contextmanager
def _entered(path):
    """A handle on a left-over directory, locked; _NO_FOLDER for a file or a link; None where a run works in it or it
    is gone."""
    if os.path.islink(path) or os.path.isfile(path):
        yield _NO_FOLDER
        return
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        yield None
        return
    try:
        yield handle if _lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB) else None
    finally:
        os.close(handle)


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
