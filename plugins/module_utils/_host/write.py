# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changing files of a machine: the only code that writes.

A file is replaced as a whole by a rename, so that readers see the old or the new one, even after a crash; the new file
gets mode, owner, ACL and security label of the old one."""

import contextlib
import errno
import hashlib
import os
import stat

from .. import _errors
from . import apart as host_apart
from .host import ABSENT, OK, TEXT_LIMIT

_NEW = "new"
# A new version of a file gets all other extended attributes, such as ACLs (system.posix_acl_*) and labels (security.*).
_NOT_COPIED = ("security.ima", "security.evm")  # Signatures of the old content.
_GONE, _KEPT = (errno.ENOENT, errno.ENOTDIR), (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY)
HARD_LINK = "%s cannot be changed: it has a hard link, which would keep the old text"


def digest(text):
    """SHA-256 of a text as it is written to the file."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def read_exactly(host, path, limit=TEXT_LIMIT):
    """Content of a file, every byte kept (surrogateescape), None where it does not exist. Raises ChangeFailed
    for any other reason."""
    status, data = host.read_bytes(path, limit)
    if status == ABSENT:
        return None
    if status != OK:
        raise _errors.ChangeFailed("%s cannot be read (%s), so it is not changed" % (path, status))
    return data.decode("utf-8", "surrogateescape")


def state_of(host, path):
    """Metadata of a file: `{"mode": "0644", "uid", "gid", "xattrs": {name: hex}}`, None where it does not exist. Raises
    ChangeFailed."""
    with _failing(path, "looked at"):
        real = host.real_path(path)
        try:
            seen = os.stat(real)
        except FileNotFoundError:
            return None
        return {"mode": "%04o" % stat.S_IMODE(seen.st_mode), "uid": seen.st_uid, "gid": seen.st_gid,
                "xattrs": {name: os.getxattr(real, name).hex() for name in sorted(_xattrs_of(real))}}


def replace(host, path, text, mode=0o644, state=None):
    """Write `text` to `path` of the tree. A new file gets `state`, a result of state_of(), otherwise `mode` and root as
    owner. Raises ChangeFailed."""
    with _failing(path, "written") as done:
        real = host.real_path(path)
        if host.root == "/":
            real = os.path.realpath(real)
        if _names_of(real) > 1:
            raise _errors.ChangeFailed(HARD_LINK % path)
        folder = os.path.dirname(real)
        _make_folders(folder)
        with host_apart.apart(folder) as apart:
            new = os.path.join(apart, _NEW)
            _write(new, text.encode("utf-8", "surrogateescape"), real, mode, state)
            os.rename(new, real)
            done.append(path)
        _sync_folder(folder)


def make_link(host, path, target):
    """Make the link `path` of the tree, which must not exist yet. Raises ChangeFailed."""
    with _failing(path, "made") as done:
        folder, name = os.path.split(path)
        real = host.real_path(folder)
        _make_folders(real)
        os.symlink(target, os.path.join(real, name))
        done.append(path)
        _sync_folder(real)


def replace_link(host, path, target):
    """Make `path` of the tree a link to `target`, in place of the link or file that is there now. Raises
    ChangeFailed."""
    with _failing(path, "linked") as done:
        folder, name = os.path.split(path)
        real = host.real_path(folder)
        _make_folders(real)
        with host_apart.apart(real) as apart:
            os.symlink(target, os.path.join(apart, _NEW))
            os.rename(os.path.join(apart, _NEW), os.path.join(real, name))
            done.append(path)
        _sync_folder(real)


def remove(host, path):
    """Remove a file of the tree; the directory stays. Raises ChangeFailed."""
    with _failing(path, "removed") as done:
        folder, name = os.path.split(path)
        real = host.real_path(folder)
        try:
            os.unlink(os.path.join(real, name))
        except OSError as error:
            if error.errno in _GONE:
                return
            raise
        done.append(path)
        _sync_folder(real)


def missing_folders(host, paths):
    """The directories of the tree that writing `paths` has to create, parents first."""
    missing = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in missing and not host.exists(folder):
            missing.add(folder)
            folder = os.path.dirname(folder)
    return sorted(missing)


def remove_empty_folders(host, folders):
    """Remove the empty ones of these directories, children first. Raises ChangeFailed where one cannot be removed."""
    for path in sorted(folders, reverse=True):
        with _failing(path, "removed"):
            try:
                os.rmdir(host.real_path(path))
            except OSError as error:
                if error.errno not in _GONE + _KEPT:
                    raise


def remove_leftovers(host, folders):
    """Remove the leftovers of killed runs in these directories. Raises ChangeFailed."""
    for path in host_apart.leftovers(host, folders):
        with _failing(path, "removed"):
            host_apart.remove(host, path)


def folder_of(host, path):
    """The directory of the tree in which `path` is written: for a link, the directory of the file it leads to."""
    return os.path.dirname(host.tree_path(path) or path)


def may_write(host, path):
    """Why `path` could not be written, as a sentence, or None. Changes nothing: check mode calls this too."""
    folder = os.path.dirname(path)
    while not host.exists(folder) and folder != "/":
        folder = os.path.dirname(folder)
    try:
        real = host.real_path(folder)
    except OSError as error:
        return "%s cannot be written: %s" % (path, error.strerror)
    if os.statvfs(real).f_flag & os.ST_RDONLY:
        return "%s cannot be written: the file system is mounted read-only" % path
    if not os.access(real, os.W_OK | os.X_OK):
        return "%s cannot be written by this user; become root" % path
    if host.exists(path) and not host.is_file(path):
        return "%s cannot be written: it is not a regular file" % path
    found = host.stat(path)
    return HARD_LINK % path if found is not None and found.st_nlink > 1 else None


def may_set(host, path):
    """Why the value `path` below /proc/sys could not be set, as a sentence, or None. Changes nothing."""
    if host.exists(path) and os.access(host.real_path(path), os.W_OK):
        return None
    # The kernel checks the mode for root as well (fs/proc/proc_sysctl.c test_perm()): 0444 are values that other
    # network namespaces may not set.
    if not host.is_root():
        return "%s cannot be set by this user; become root" % path
    return "%s cannot be set: %s" % (path, "it is read-only here, as in containers and other network namespaces"
                                     if host.exists(path) else "it does not exist")


def set_value(host, path, value):
    """Set the value `path` below /proc/sys. Raises ChangeFailed where the kernel refuses it."""
    try:
        handle = os.open(host.real_path(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            # The kernel takes a value in a single write (fs/proc/proc_sysctl.c proc_sys_call_handler()).
            os.write(handle, ("%d\n" % value).encode("ascii"))
        finally:
            os.close(handle)
    except OSError as error:
        raise _errors.ChangeFailed("%s cannot be set to %d: %s" % (path, value, error.strerror)) from error


@contextlib.contextmanager
def _failing(path, what):
    """Turns an OSError into a ChangeFailed. Paths that the block appends to the list are changed already: only their
    durability is in doubt."""
    done = []
    try:
        yield done
    except OSError as error:
        if not done:
            raise _errors.ChangeFailed("%s cannot be %s: %s" % (path, what, error.strerror)) from error
        raise _errors.ChangeFailed("%s was %s, but a power failure may undo that: its directory cannot be written to "
                                   "the disk: %s" % (path, what, error.strerror), done) from error


def _make_folders(folder):
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for new in reversed(missing):
        os.mkdir(new, 0o755)
        _sync_folder(os.path.dirname(new))


def _write(path, data, old, mode, state):
    """Write the whole new file first; then it gets the mode of the old one, which may be executable or set-uid."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left):]
        _take_over(old, handle, mode, state)
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_over(old, new, mode, state):
    try:
        before = os.stat(old)
    except FileNotFoundError:
        _give(new, mode, state)
        return
    os.fchown(new, before.st_uid, before.st_gid)
    os.fchmod(new, stat.S_IMODE(before.st_mode))
    for name in _xattrs_of(old):
        os.setxattr(new, name, os.getxattr(old, name))


def _give(new, mode, state):
    if state is not None:
        # chown(2) clears set-uid, so the mode is set after the owner.
        os.fchown(new, state["uid"], state["gid"])
        mode = int(state["mode"], 8)
    os.fchmod(new, mode)
    for name, value in state["xattrs"].items() if state is not None else ():
        os.setxattr(new, name, bytes.fromhex(value))


def _xattrs_of(path):
    """Names of the extended attributes that a new version of a file keeps."""
    try:
        return [name for name in os.listxattr(path) if name not in _NOT_COPIED]
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []  # A file system without extended attributes has neither ACLs nor labels.
        raise


def _names_of(real):
    """How many hard links a file has; 0 where it does not exist."""
    try:
        return os.stat(real).st_nlink
    except FileNotFoundError:
        return 0


def _sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
