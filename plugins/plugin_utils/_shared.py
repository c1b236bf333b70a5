# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one worker of a run made, for the workers of all other hosts. PRIVATE to the collection.

Ansible forks a worker for each task of each host, which takes what it learned with it. The folder of Ansible's local
files belongs to one run and one user (mode 0700, deleted at its end), so its content is as good as memory.
"""

import contextlib
import fcntl
import json
import os
import pathlib

from ansible import constants


def remembered(key, make):
    """What `make()` returns, which is JSON: made by the first worker that asks for `key`, a file name, and read by the
    others, which wait for it. Where the folder cannot be written each makes its own."""
    path = pathlib.Path(constants.DEFAULT_LOCAL_TMP) / ("kubenode-netfilter-" + key)
    with _locked(path.with_suffix(".lock")) as locked:
        found = _read(path)
        if found is None:
            found = make()
            if locked:
                _write(path, found)
    return found


@contextlib.contextmanager
def _locked(path):
    """Whether the lock is held, which the end of the process frees too."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield True
    finally:
        os.close(descriptor)


def _read(path):
    with contextlib.suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def _write(path, value):
    """Without a half file where the worker is killed."""
    with contextlib.suppress(OSError):
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(value), encoding="utf-8")
        unfinished.replace(path)
