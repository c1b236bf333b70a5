# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changing files of a machine: the only code that writes. PRIVATE to the collection.

A file is replaced as a whole by a rename, so that a reader and a crash see the old or the new one; mode, owner, ACL
and security label go over to the new file.
"""

import errno
import hashlib
import os
import stat
import tempfile

from . import _errors, _host

# Before the name of a file that is being written. Nobody reads a configuration or runs a script whose name begins with a dot.
TEMPORARY = ".kubenode-"
# Names of extended attributes that Linux file systems keep; ACLs (system.posix_acl_*) and labels (security.*) are among them.
_NOT_COPIED = ("security.ima", "security.evm")  # Signatures of the old content.


def digest(text):
    """SHA-256 of a text, as it will stand in the file."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def read_exactly(host, path, limit=_host.TEXT_LIMIT):
    """Content of a file, every byte kept (surrogateescape), or None where it does not exist. Raises ChangeFailed for any other reason."""
    status, data = host.read_bytes(path, limit)
    if status == _host.ABSENT:
        return None
    if status != _host.OK:
        raise _errors.ChangeFailed("%s cannot be read (%s), so it is not changed" % (path, status))
    return data.decode("utf-8", "surrogateescape")


def replace(host, path, text, mode=0o644):
    """Write C(text) to C(path) of the tree. A new file gets C(mode) and root as owner. Raises ChangeFailed; then nothing has changed."""
    try:
        real = host.real_path(path)
        if host.root == "/":
            real = os.path.realpath(real)
        folder = os.path.dirname(real)
        _make_folders(folder)
        handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(text.encode("utf-8", "surrogateescape"))
                stream.flush()
                _take_over(real, temporary, mode)
                os.fsync(stream.fileno())
            os.rename(temporary, real)
        except BaseException:
            os.unlink(temporary)
            raise
        _sync_folder(folder)
    except OSError as error:
        raise _errors.ChangeFailed("%s cannot be written: %s" % (path, error.strerror)) from error


def make_link(host, path, target):
    """Make the link C(path) of the tree, where nothing is. Raises ChangeFailed."""
    try:
        folder, name = os.path.split(path)
        real = host.real_path(folder)
        _make_folders(real)
        os.symlink(target, os.path.join(real, name))
        _sync_folder(real)
    except OSError as error:
        raise _errors.ChangeFailed("%s cannot be made: %s" % (path, error.strerror)) from error


def replace_link(host, path, target):
    """Make C(path) of the tree a link to C(target), whatever link or file is there now. Raises ChangeFailed; then nothing has changed."""
    try:
        folder, name = os.path.split(path)
        real = host.real_path(folder)
        _make_folders(real)
        temporary = os.path.join(real, TEMPORARY + name)
        if os.path.islink(temporary):
            os.unlink(temporary)  # A run was killed before it came to the rename.
        os.symlink(target, temporary)
        try:
            os.rename(temporary, os.path.join(real, name))
        except BaseException:
            os.unlink(temporary)
            raise
        _sync_folder(real)
    except OSError as error:
        raise _errors.ChangeFailed("%s cannot be linked: %s" % (path, error.strerror)) from error


def remove(host, path):
    """Remove a file of the tree; the directory stays. Raises ChangeFailed."""
    try:
        folder, name = os.path.split(path)
        os.unlink(os.path.join(host.real_path(folder), name))
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise _errors.ChangeFailed("%s cannot be removed: %s" % (path, error.strerror)) from error


def remove_empty_folder(host, path):
    """Remove a directory of our own if nothing is left in it."""
    try:
        os.rmdir(host.real_path(path))
    except OSError:
        pass  # Something else is kept there.


def may_write(host, path):
    """Why C(path) could not be written, as a sentence, or None. Changes nothing: check mode asks this too."""
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
        return "%s cannot be written: it is no regular file" % path
    return None


def may_set(host, path):
    """Why the value C(path) below /proc/sys could not be set, as a sentence, or None. Changes nothing."""
    if host.exists(path) and os.access(host.real_path(path), os.W_OK):
        return None
    # The kernel asks the mode of root as well (fs/proc/proc_sysctl.c test_perm()): 0444 is what other network namespaces have.
    if not host.is_root():
        return "%s cannot be set by this user; become root" % path
    return "%s cannot be set: %s" % (path, "it is read-only here, as in containers and other network namespaces" if host.exists(path) else "it does not exist")


def set_value(host, path, value):
    """Set the value C(path) below /proc/sys. Raises ChangeFailed where the kernel does not take it."""
    try:
        handle = os.open(host.real_path(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            # The kernel takes a value in one piece (fs/proc/proc_sysctl.c proc_sys_call_handler()).
            os.write(handle, ("%d\n" % value).encode("ascii"))
        finally:
            os.close(handle)
    except OSError as error:
        raise _errors.ChangeFailed("%s cannot be set to %d: %s" % (path, value, error.strerror)) from error


def _make_folders(folder):
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for new in reversed(missing):
        os.mkdir(new, 0o755)


def _take_over(old, new, mode):
    try:
        before = os.stat(old)
    except OSError:
        os.chmod(new, mode)
        return
    os.chown(new, before.st_uid, before.st_gid)
    os.chmod(new, stat.S_IMODE(before.st_mode))
    try:
        names = os.listxattr(old)
    except OSError:
        return  # A file system without extended attributes has neither ACLs nor labels.
    for name in names:
        if name not in _NOT_COPIED:
            os.setxattr(new, name, os.getxattr(old, name))


def _sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
