# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many small files of a machine, read once and fast.

Only regular files are opened, binaries are skipped after their first block, and mounts of other file systems (network,
FUSE, the kernel's own) are not entered: a look must not hang on them.

Reading a growing file from its end.

Open files of processes: the links of /proc/PID/fd and the text of /proc/PID/fdinfo.

Reading these does not touch the open file itself: a stat() of it could hang for ever on a FUSE mount of a container.
"""

import collections
import os
import re
import stat
import time

from . import host as _host
from .host import ABSENT, BLOCK, DENIED, OK, TIMEOUT, UNPARSED, _PATH_ERRORS, status_of

# Scripts and configuration are smaller; larger files are not read to their end.
FILE_LIMIT = 1024 * 1024
FILES_LIMIT, BYTES_LIMIT = 100000, 512 * 1024 * 1024
# Spent in reading: a slow processor, on which other work of a look takes long, must not hide files.
SECONDS = 20.0
# The first block shows whether a file is text, and holds most scripts completely.
_FIRST, _BLOCK = 4 * 1024, 64 * 1024
_SCRIPT = b"#!"
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
# Types of file systems on the node's own disks; mounts of any other type are skipped.
_OWN_TYPES = frozenset(("bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "iso9660", "jfs", "overlay",
                        "ramfs", "reiserfs", "rootfs", "squashfs", "tmpfs", "vfat", "xfs", "zfs"))

_OWN = "ext4"
# Escapes of blanks and the like in a mount point (man 5 proc).
_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")

# Reasons why a file was not read (Host.note).
LARGE = "is larger than %d KiB, the limit of this look" % (FILE_LIMIT // 1024)
HOLDS_NUL = "contains NUL bytes, which shells skip: read it with cat -v"
LATE = "was not read: there were too many files before it"
AWAY = "is on a network or FUSE file system, which is not read"

# `path` in the tree, `data` of the whole file without NUL bytes, `mode` bits of it; `nul`: whether NUL bytes were
# removed, so that a shell may see other commands than this collection.
Found = collections.namedtuple("Found", "path data mode nul")


class Walk:
    """Reads files, and keeps count: `files` and `bytes` read. Files that could not be read are noted (Host.note). A
    text that is too large is noted where it begins with `#!` or `worth(path)` is true. A script with NUL bytes does not
    count as a binary: dash and bash run it. `done` is False once a limit ended it."""

    def __init__(self, host, files_limit=FILES_LIMIT, bytes_limit=BYTES_LIMIT, seconds=SECONDS,
                 worth=lambda path: True):
        self.files = self.bytes = 0
        self.done = True
        self._host, self._worth = host, worth
        self._files_left, self._bytes_left = files_limit, bytes_limit
        self._seconds_left = seconds
        self._mounted = None

    def below(self, folder, wanted, depth=0):
        """(status, [Found]) of the files in `folder` and `depth` levels below it for which `wanted(bytes)`
        is true, in order."""
        try:
            real = self._host.real_path(folder)
            if self._host.root == "/":
                real = os.path.realpath(real)
            point = self._point_of(real)
            # It leads away from the node's own disks, although the tree itself does not.
            if self._is_foreign(point) and point != self._point_of(self._host.root):
                self._host.note(folder, AWAY)
                return _host.UNPARSED, []
            entries = self._counted(_sorted_entries, real)
        except _host._PATH_ERRORS as error:
            return self._host.note(folder, _host.status_of(error)), []
        found = []
        self._take(folder.rstrip("/"), entries, wanted, depth, found)
        return (_host.OK if self.done else _host.TIMEOUT), found

    def read(self, path, wanted=None, packed=False):
        """(status, Found or None) of one file, links of the tree followed; None where it is not text (`packed`: or
        gzip), or not `wanted`."""
        try:
            real = self._host.real_path(path)
            seen = os.stat(real)
            if not stat.S_ISREG(seen.st_mode) or not self._going_on(path):
                return _host.OK, None
            found = self._text(real, path, os.O_NOCTTY, seen.st_mode, packed)
        except _host._PATH_ERRORS as error:
            return self._host.note(path, _host.status_of(error)), None
        if found is None or (wanted is not None and not wanted(found.data)):
            return _host.OK, None
        return _host.OK, self.whole(found) if wanted is not None else found

    def whole(self, found):
        """`found`, or None and a note where it holds NUL bytes: a shell may see other commands in it."""
        if found.nul:
            self._host.note(found.path, HOLDS_NUL)
        return None if found.nul else found

    def _going_on(self, path):
        if self.done and (self._files_left <= 0 or self._bytes_left <= 0 or self._seconds_left <= 0):
            self.done = False
            self._host.note(path, LATE)
        return self.done

    def _counted(self, read, *arguments):
        """The result of something that reads from the disk."""
        began = time.monotonic()
        try:
            return read(*arguments)
        finally:
            self._seconds_left -= time.monotonic() - began

    def _take(self, folder, entries, wanted, depth, found):
        for entry in entries:
            path = folder + "/" + entry.name
            try:
                if entry.is_symlink():
                    # A link to a file is read like that file; a link to a folder is not followed, it may lead in
                    # circles.
                    linked = self.read(path, wanted)[1]
                    found += [linked] if linked is not None else []
                elif entry.is_file(follow_symlinks=False):
                    if not self._going_on(path):
                        return
                    text = self._text(entry.path, path, os.O_NOFOLLOW, entry.stat(follow_symlinks=False).st_mode)
                    if text and text.data and wanted(text.data) and self.whole(text):
                        found.append(text)
                elif depth > 0 and self._is_entered(entry):
                    self._take(path, self._counted(_sorted_entries, entry.path), wanted, depth - 1, found)
            except OSError as error:
                self._host.note(path, _host.status_of(error))

    def _text(self, real, path, flag, mode, packed=False):
        """`Found` of a regular file, None for one that is not text or too large. Raises OSError."""
        return self._counted(self._read_text, real, path, flag, mode, packed)

    def _read_text(self, real, path, flag, mode, packed):
        handle = os.open(real, _FLAGS | flag)
        try:
            data = os.read(handle, _FIRST)
            self.files += 1
            self._files_left -= 1
            any_byte = data.startswith(_SCRIPT) or packed and data.startswith(_host._GZIP)
            if not any_byte and (b"\0" in data or data.startswith(b"\x7fELF")):
                return None
            if len(data) == _FIRST:
                data = self._rest(handle, path, data, any_byte)
        finally:
            os.close(handle)
        if data is None:
            return None
        self.bytes += len(data)
        self._bytes_left -= len(data)
        nul = data.startswith(_SCRIPT) and b"\0" in data
        return Found(path, data.replace(b"\0", b"") if nul else data, stat.S_IMODE(mode), nul)

    def _rest(self, handle, path, data, any_byte):
        chunks, size = [data], len(data)
        while size <= FILE_LIMIT:
            chunk = os.read(handle, _BLOCK)
            if not chunk:
                return b"".join(chunks)
            if b"\0" in chunk and not any_byte:
                return None
            chunks.append(chunk)
            size += len(chunk)
        if data.startswith(_SCRIPT) or self._worth(path):
            self._host.note(path, LARGE)
        return None

    def _is_entered(self, entry):
        # Left-overs of killed runs of this collection are not scripts of the node.
        ours = entry.name.startswith(_host.TEMPORARY)
        return not ours and entry.is_dir(follow_symlinks=False) and not self._is_foreign(entry.path)

    def _is_foreign(self, real):
        """Whether a file system other than the node's own disks is mounted at `real`."""
        return self._mounts().get(real, _OWN) not in _OWN_TYPES

    def _point_of(self, path):
        while path not in self._mounts() and path != "/":
            path = os.path.dirname(path)
        return path

    def _mounts(self):
        if self._mounted is None:
            self._mounted = _mounts()
        return self._mounted


def _sorted_entries(real):
    with os.scandir(real) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _mounts():
    """{mount point of this machine: type}; empty where /proc does not show it."""
    try:
        with open("/proc/self/mountinfo", "rb") as stream:
            lines = stream.read(_host.TEXT_LIMIT).splitlines()
    except OSError:
        return {}
    mounts = {}
    for line in lines:
        left, _dash, right = line.partition(b" - ")
        fields = left.split(b" ")
        if len(fields) > 4:
            # Of two mounts at one point the later one is visible.
            mounts[os.fsdecode(_OCTAL.sub(_character, fields[4]))] = right.partition(b" ")[0].decode("ascii", "replace")
    return mounts


def _character(match):
    return bytes((int(match.group(1), 8),))


def stream_back(host, path, consume, limit):
    """(status, bytes read, bytes left out at the beginning) of a regular file. `consume(bytes, whether the block begins
    the file)` gets its blocks from the last one on, until it returns true or `limit` bytes are read. The last component
    of `path` may not be a link: the caller resolves links. A file that is renamed or truncated in the meantime is read
    as far as it goes. Never blocks: FIFOs and devices are `unparsed`."""
    try:
        handle = os.open(host.real_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
    except _PATH_ERRORS as error:
        return host.note(path, status_of(error)), 0, 0
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            return host.note(path, UNPARSED), 0, 0
        position, floor = seen.st_size, max(0, seen.st_size - limit)
        while position > floor:
            length = min(BLOCK, position - floor)
            position -= length
            if consume(os.pread(handle, length, position), position == 0):
                break
        return OK, seen.st_size - position, position
    except OSError as error:
        return host.note(path, status_of(error)), 0, 0
    finally:
        os.close(handle)


LINKS_LIMIT, LINKS_SECONDS, _TEXT_LIMIT = 50000, 1.0, 65536


class Descriptors:
    """Reads descriptors, at most `LIMIT` of them and for at most `SECONDS` in total. `status` afterwards: ok, denied
    (the descriptors of some process are not readable) or timeout (a limit was reached)."""

    def __init__(self, host):
        self.status = OK
        self._host = host
        self._left = LINKS_LIMIT
        self._deadline = time.monotonic() + LINKS_SECONDS

    def of(self, pid, name=None):
        """A generator of the fdinfo texts of all descriptors of `pid`, or only of those whose link ends in `name`."""
        folder = "/proc/%d" % pid
        try:
            for entry in os.scandir(self._host.real_path(folder + "/fd")):
                self._left -= 1
                if self._left < 0 or time.monotonic() > self._deadline:
                    self.status = TIMEOUT
                    return
                if name is None or os.readlink(entry.path).rpartition("/")[2] == name:
                    yield self._host.read_text("%s/fdinfo/%s" % (folder, entry.name), _TEXT_LIMIT).text
        except OSError as error:
            # A process that ended in the meantime has no open files.
            if status_of(error) != ABSENT and self.status == OK:
                self.status = DENIED
