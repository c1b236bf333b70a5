# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last runs below a report folder: `runs/<run>` holds the files of each, `latest` is a link to the last one.
PRIVATE to the collection.

A run writes into its own folder, so a killed run leaves earlier runs intact. A folder without fleet.json belongs to a
run that was killed before its first roll-up, or that is being removed. The file `order` has the number of a run,
because names alone sort wrongly after the clock was set back, and within one second.
"""

import contextlib
import fcntl
import os
import re
import secrets
import stat

RUNS, LATEST = "runs", "latest"
FLEET, ORDER = "fleet.json", "order"
_RUN = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9]+\Z")
_NUMBER = re.compile(r"[0-9]{1,15}\n?\Z")


def is_run(name):
    """Whether it is the name of a run."""
    return isinstance(name, str) and bool(_RUN.match(name))


def names_in(handle):
    """The runs in the folder `runs`, a descriptor or a path, the oldest first."""
    return sorted(filter(is_run, os.listdir(handle)), key=lambda name: _key(handle, name))


def _key(handle, name):
    started, _dash, process = name.partition("-")
    return number_of(handle, name) or 0, started, int(process)


def number_of(handle, name):
    """The number of a run in the folder `runs`, a descriptor or a path; None if the run has no number, as a run of an
    earlier version, or if it cannot be read."""
    path, around = (os.path.join(name, ORDER), handle) if isinstance(handle, int) else (
        os.path.join(handle, name, ORDER), None)
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=around)
        with os.fdopen(opened, "rb") as stream:
            text = stream.read(20).decode("ascii", "replace")
    except OSError:
        return None
    return int(text) if _NUMBER.match(text) else None


def next_number(handle):
    """One more than the number of any run in the folder `runs`."""
    return 1 + max([number_of(handle, name) or 0 for name in os.listdir(handle) if is_run(name)], default=0)


def point_latest(handle, run):
    """Makes the link `latest` in the report folder point to a run."""
    target, temporary = os.path.join(RUNS, run), ".report-" + secrets.token_hex(8)
    with contextlib.suppress(OSError):
        if os.readlink(LATEST, dir_fd=handle) == target:
            return
    # Some remote file systems do not support links (EPERM); there the order of the runs shows which run is the last.
    with contextlib.suppress(PermissionError):
        os.symlink(target, temporary, dir_fd=handle)
        try:
            os.replace(temporary, LATEST, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:
            os.unlink(temporary, dir_fd=handle)
            raise


def prune(handle, run, keep):
    """Removes all but the last `keep` runs, of which `run` is one. A run that cannot be removed, or is being written,
    is left to the next run."""
    others = [name for name in names_in(handle) if name != run]
    for name in others[:max(0, len(others) - (keep - 1))]:
        with contextlib.suppress(OSError):
            _remove(handle, name)


def _remove(around, name):
    """Removes a folder that is not a link, fleet.json first: without fleet.json the rest does not count as a run."""
    handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=around)
    try:
        # A process that writes the run holds a shared lock on its folder.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for entry in sorted(os.listdir(handle), key=lambda entry: entry != FLEET):
            if stat.S_ISDIR(os.stat(entry, dir_fd=handle, follow_symlinks=False).st_mode):
                _remove(handle, entry)
            else:
                os.unlink(entry, dir_fd=handle)
        os.rmdir(name, dir_fd=around)
    finally:
        os.close(handle)
