# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report files on the controller. PRIVATE to the collection.

Whoever may write to the report folder may forge reports, and make this process write elsewhere by a link. So the folder
and `nodes` are opened once, are no symbolic links, belong to the user who runs Ansible and are writable by that user
alone; files are made below what was opened.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import stat
import urllib.parse
from typing import NamedTuple

from ..module_utils._conntrack.size import MOST
from ..module_utils._errors import BadInput
from ._render.files import FILES

# With all evidence a report is far below that.
_READ_LIMIT = 4 * 1024 * 1024
# File systems take names of 255 bytes. What is longer gets a digest, which makes it longer than any name without one.
_NAME_LIMIT = 200
_NAME_PART = 150
FLEET = "fleet.json"
_NODES = "nodes"


class Folder(NamedTuple):
    """A report folder that is open: its path, and descriptors of it and of `nodes` below it."""

    path: str
    handle: int
    nodes: int


def file_name(host):
    """A name any inventory name can be stored under: no path, no hidden file, not too long, no two hosts the same."""
    quoted = urllib.parse.quote(host, safe="", errors="surrogatepass") or "%"
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    if len(quoted) > _NAME_LIMIT:
        quoted = "%s~%s" % (quoted[:_NAME_PART], hashlib.sha256(quoted.encode("ascii")).hexdigest())
    return quoted + ".json"


def node_path(folder, host):
    """Where the report of a host is kept."""
    return os.path.join(os.path.abspath(os.path.expanduser(folder)), _NODES, file_name(host))


def earlier_peak(folder, host):
    """Connections that an earlier report of a host knew of, 0 where there is none; a report that says anything else
    says nothing."""
    try:
        handle = os.open(node_path(folder, host), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            found = os.fstat(handle)
            text = stream.read(_READ_LIMIT) if stat.S_ISREG(found.st_mode) and found.st_size <= _READ_LIMIT else b""
        peak = json.loads(text)["conntrack_peak"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
    return peak if isinstance(peak, int) and not isinstance(peak, bool) and 0 <= peak <= MOST else 0


@contextlib.contextmanager
def opened(folder):
    """The Folder at a path, made where it is missing, for writing to. Raises BadInput where that is not possible or not
    safe."""
    with contextlib.ExitStack() as stack:
        _make_parents(folder)
        handle = _held(stack, folder, folder, None)
        if _writable_by_others(handle):
            # What holds anything else is somebody's folder, such as /tmp: no place to change the mode of.
            _make_safe(handle, folder,
                       set(os.listdir(handle)) <= {FLEET, _NODES, *(name for name, _render in FILES.values())})
        path = os.path.join(folder, _NODES)
        nodes = _held(stack, path, _NODES, handle)
        if _writable_by_others(nodes):
            _make_safe(nodes, path, True)
        yield Folder(folder, handle, nodes)


def _make_parents(folder):
    """The folders above it that are missing, writable by their owner alone whatever the umask says."""
    missing, path = [], os.path.dirname(folder)
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    try:
        for path in reversed(missing):
            os.mkdir(path, 0o755)
    except OSError as error:
        raise BadInput("The report folder %s cannot be made: %s" % (folder, error.strerror)) from None


def _held(stack, path, name, around):
    """A descriptor of a folder that is no link and belongs to this user, made where it is missing."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=around)
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=around)
    except OSError as error:
        if os.path.islink(path):
            raise BadInput("The report folder %s is a symbolic link; set node_report_folder to a real folder"
                           % path) from None
        raise BadInput("The report folder %s cannot be made: %s" % (path, error.strerror)) from None
    stack.callback(os.close, handle)
    owner = os.fstat(handle).st_uid
    if owner != os.geteuid():
        raise BadInput("The report folder %s belongs to the user with id %d, who could change reports; set "
                       "node_report_folder to a folder of your own" % (path, owner))
    return handle


def _writable_by_others(handle):
    return bool(os.fstat(handle).st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _make_safe(handle, path, ours):
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    if not ours or mode & stat.S_ISVTX:
        raise BadInput("The report folder %s is writable by other users, who could change reports; set "
                       "node_report_folder to a folder of your own, or run: chmod go-w %s" % (path, path))
    try:
        os.fchmod(handle, mode & ~(stat.S_IWGRP | stat.S_IWOTH))
    except OSError as error:
        raise BadInput("The report folder %s is writable by other users, and its mode cannot be changed: %s"
                       % (path, error.strerror)) from None


def write_fleet(folder, fleet, texts, newer=True):
    """Writes `texts`, the files of the run by name with `fleet` as fleet.json among them, into a Folder; returns their
    paths, that of the roll-up first, and whether it is the first roll-up of its run without a pending host.

    Where hosts report one by one each writes what it saw when its task began. Then (`newer` is false) a roll-up of the
    same run with fewer pending hosts stays. Raises BadInput.
    """
    paths, pending = [os.path.join(folder.path, name) for name in texts], fleet["totals"]["pending"]
    # Other workers of the run wait; the lock goes with the descriptor.
    fcntl.flock(folder.handle, fcntl.LOCK_EX)
    try:
        before = None if newer else _earlier_pending(folder, fleet["run"])
        if before is not None and before < pending:
            return paths, False
        for path, text in zip(paths, texts.values()):
            _write(folder.handle, path, text)
        return paths, not pending and before != 0
    finally:
        fcntl.flock(folder.handle, fcntl.LOCK_UN)


def _earlier_pending(folder, run):
    """How many hosts were pending in the roll-up of the same run, None where there is none."""
    try:
        handle = os.open(FLEET, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.handle)
        with os.fdopen(handle, encoding="ascii") as stream:
            fleet = json.loads(stream.read())
        return fleet["totals"]["pending"] if fleet["run"] == run else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_node(folder, host, text):
    """Writes the report of a host into a Folder; its path. Raises BadInput."""
    return _write(folder.nodes, os.path.join(folder.path, _NODES, file_name(host)), text)


def _write(handle, path, text):
    """Replaces a file as a whole, readable by its owner only; a half-written file never stays."""
    name, temporary = os.path.basename(path), ".report-" + secrets.token_hex(8)
    try:
        target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600,
                         dir_fd=handle)
        try:
            with os.fdopen(target, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            os.replace(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:
            os.unlink(temporary, dir_fd=handle)
            raise
    except OSError as error:
        raise BadInput("The report %s cannot be written: %s" % (path, error.strerror)) from None
    return path
