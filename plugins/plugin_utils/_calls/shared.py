# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of one worker of a run, shared with the workers of all other hosts. PRIVATE to the collection.

Ansible forks a worker for each task of each host; its memory is lost when it ends. The folder of Ansible's local files
belongs to one run and one user (mode 0700, deleted at its end), so its content is as trustworthy as memory.
"""

import contextlib
import fcntl
import json
import os
import pathlib

from ansible import constants


def folder():
    """The folder of Ansible's local files."""
    return pathlib.Path(constants.DEFAULT_LOCAL_TMP)


def remembered(key, make, wait=True):
    """The result of `make()`, a JSON value. The first worker that asks for `key`, a file name, makes it; the others
    wait and read it. Without `wait`: None while another worker makes it. If the folder is not writable, each worker
    makes its own."""
    path = _path(key)
    with _locked(path.with_suffix(".lock"), wait) as locked:
        if locked is None:
            return None
        found = _read(path)
        if found is None:
            found = make()
            if locked:
                _write(path, found)
    return found


def note(key):
    """Makes `is_noted(key)` return true in all workers of this run."""
    _write(_path(key), True)


def is_noted(key):
    return _path(key).exists()


def _path(key):
    return folder() / ("kubenode-netfilter-" + key)


@contextlib.contextmanager
def _locked(path, wait):
    """Whether the lock is held; the end of the process also releases it. None if another process holds it and this one
    does not `wait`."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
            return
        yield True
    finally:
        os.close(descriptor)


def _read(path):
    with contextlib.suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def _write(path, value):
    """Writes a file; a killed worker leaves no half-written file under this name."""
    with contextlib.suppress(OSError):
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(value), encoding="utf-8")
        unfinished.replace(path)
