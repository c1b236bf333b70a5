# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One copy for all checkouts of a user of the things that take minutes to make: images, QEMU, wheels, virtual
environments.

Each entry is a folder NAME-KEY below FOLDER. KEY is a hash of the recipe, so a changed recipe gets a folder of its own
and an unchanged one is never made twice. `make clean-cache` removes them all.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import time

FOLDER = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kubenode-netfilter"
# Another checkout may be at an older commit, so an older recipe keeps its entry for some days after its last use.
UNUSED_DAYS = 7


def entry(name, *recipe):
    """Return the folder of an entry; `recipe` is all that decides about its content, as JSON can write it."""
    return FOLDER / ("%s-%s" % (name, hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:12]))


@contextlib.contextmanager
def locked(name):
    """Hold the lock of that name, so that two checkouts do not make one entry at the same time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(str(FOLDER / (name + ".lock")), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made(folder, make):
    """Return the folder of an entry; where it is missing, `make(work)` fills a new folder that then gets this name.

    An interrupted `make` leaves no entry. Entries of older recipes, and folders of a `make` that was killed, go after
    UNUSED_DAYS.
    """
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = pathlib.Path(tempfile.mkdtemp(prefix=".making-", dir=str(folder.parent)))
        try:
            make(work)
            work.chmod(0o755)
            work.rename(folder)
        finally:
            shutil.rmtree(str(work), ignore_errors=True)
    os.utime(str(folder))  # The time of its last use.
    for older in [*folder.parent.glob(folder.name.rpartition("-")[0] + "-*"), *folder.parent.glob(".making-*")]:
        if older.stat().st_mtime < time.time() - UNUSED_DAYS * 86400:
            shutil.rmtree(str(older), ignore_errors=True)
    return folder
