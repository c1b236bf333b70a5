# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a support bundle, one after the other: of a folder, an archive, or a single file. PRIVATE to the
collection.

A bundle may be hostile. No member of an archive is ever extracted to the path it names: its content is read, within
limits, and the caller decides where it goes. Devices, FIFOs and sockets are skipped, and a link is only a text.
"""

import contextlib
import dataclasses
import os
import pathlib
import posixpath
import shutil
import stat
import subprocess
import tarfile
import zlib

from ..module_utils._errors import BadInput

FILES_LIMIT = 200000
FILE_LIMIT = 64 * 1024 * 1024
TOTAL_LIMIT = 4 * 1024 * 1024 * 1024
_BLOCK = 1 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_GZIP_MEMBER = 16 + zlib.MAX_WBITS
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclasses.dataclass(frozen=True)
class Item:
    """One file: `path` in the bundle, `data` its content (unpacked), `link` the target where it is a link,
    `executable`."""

    path: str
    data: bytes = b""
    link: str = None
    executable: bool = False


def items_of(bundle):
    """A generator of each `Item` of the bundle at a path. Raises BadInput if that is not a bundle or exceeds the
    limits."""
    path = pathlib.Path(bundle).expanduser()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        raise BadInput("bundle %s does not exist; give the path of a folder, an archive or a dump on the controller"
                       % bundle) from None
    try:
        if stat.S_ISDIR(mode):
            yield from _of_folder(path)
        elif stat.S_ISREG(mode):
            yield from _of_file(path)
        else:
            raise BadInput("bundle %s is neither a folder nor a regular file" % bundle)
    except (OSError, tarfile.TarError, zlib.error, EOFError) as error:
        raise BadInput("bundle %s could not be read: %s" % (bundle, " ".join(str(error).split())[:200])) from None


class _Budget:
    """Counts the files and bytes that were read, so that no bundle fills the controller."""

    def __init__(self, name):
        self._name, self._files, self._bytes = name, 0, 0

    def take(self, size):
        self._files += 1
        self._bytes += size
        if self._files > FILES_LIMIT or self._bytes > TOTAL_LIMIT:
            raise BadInput("bundle %s contains more than %d files or %d GiB; give only the part of one node"
                           % (
                               self._name, FILES_LIMIT, TOTAL_LIMIT >> 30))


def _of_folder(root):
    budget = _Budget(root)
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names) + [each for each in folders if os.path.islink(os.path.join(folder, each))]:
            path = os.path.join(folder, name)
            found = os.lstat(path)
            budget.take(found.st_size if stat.S_ISREG(found.st_mode) else 0)
            inside = pathlib.PurePosixPath(os.path.relpath(path, root)).as_posix()
            if stat.S_ISLNK(found.st_mode):
                yield Item(inside, link=os.readlink(path))
            elif stat.S_ISREG(found.st_mode) and found.st_size <= FILE_LIMIT:
                with contextlib.suppress(PermissionError):
                    yield _item(inside, _read(path), bool(found.st_mode & 0o111))


def _read(path):
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        return stream.read(FILE_LIMIT)


def _of_file(path):
    with open(path, "rb") as stream:
        packed = stream.read(4) == _ZSTD
    if packed:
        yield from _of_zstd(path)
    elif tarfile.is_tarfile(path):
        with tarfile.open(path, "r|*") as archive:
            yield from _of_archive(path, archive)
    elif path.stat().st_size > FILE_LIMIT:
        raise BadInput("bundle %s is not an archive, and is larger than %d MiB" % (path, FILE_LIMIT >> 20))
    else:
        yield _item(path.name, path.read_bytes(), False)


def _of_zstd(path):
    """Python reads zstd only from 3.14 on; the program zstd also works with older versions."""
    program = shutil.which("zstd")
    if program is None:
        raise BadInput("bundle %s is packed with zstd, and the program zstd is not installed here; unpack it and give "
                       "the folder" % path)
    with open(path, "rb") as stream, subprocess.Popen([program, "-dcq"], stdin=stream, stdout=subprocess.PIPE,
                                                      stderr=subprocess.DEVNULL) as process:
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                yield from _of_archive(path, archive)
        finally:
            process.kill()


def _of_archive(path, archive):
    budget = _Budget(path)
    for member in archive:
        budget.take(member.size)
        inside = posixpath.normpath("/" + member.name).lstrip("/")
        if member.issym():
            yield Item(inside, link=member.linkname)
        elif member.isreg() and member.size <= FILE_LIMIT:
            yield _item(inside, archive.extractfile(member).read(FILE_LIMIT), bool(member.mode & 0o111))


def _item(path, data, executable):
    """Unpacks a gzip file, unless it is known by its packed name (/proc/config.gz), and converts UTF-16, which
    PowerShell writes when the output of a command is redirected."""
    if data.startswith(_GZIP) and not path.endswith("config.gz"):
        data = _unpacked(data)
        path = path[:-len(".gz")] if path.endswith(".gz") else path
    if data.startswith(_UTF_16):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    return Item(path, data, None, executable)


def _unpacked(data):
    """The beginning of the content that can be unpacked, up to the limit; a damaged rest is dropped. A file may have
    several members, as after `cat old.gz new.gz` (RFC 1952, section 2.2)."""
    member, found, size = zlib.decompressobj(_GZIP_MEMBER), [], 0
    while data and size < FILE_LIMIT:
        try:
            plain = member.decompress(data, _BLOCK)
        except zlib.error:
            break
        found.append(plain)
        size += len(plain)
        data = member.unconsumed_tail
        if member.eof:
            data, member = member.unused_data, zlib.decompressobj(_GZIP_MEMBER)
    return b"".join(found)
