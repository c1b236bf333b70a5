# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a support bundle, one after the other: of a folder, an archive, or a single file. PRIVATE to the
collection.

A bundle may be hostile. No member of an archive is ever extracted to the path it names: its content is read, within
limits, and the caller decides where it goes. A link is only a text.
"""

import dataclasses
import lzma
import os
import pathlib
import posixpath
import stat
import tarfile
import zlib

from ...module_utils._errors import BadInput
from . import archive

FILES_LIMIT = 200000
FILE_LIMIT = 64 * 1024 * 1024
TOTAL_LIMIT = 4 * 1024 * 1024 * 1024
# Names that are kept in memory up to the end: links and their targets.
NAMES_LIMIT = 64 * 1024 * 1024
NAME_LIMIT = 4096
# The beginning of a file that is too large, by which its kind is known.
_HEAD = 256 * 1024
# A member of gzip copies what follows it in the piece that it gets.
_BLOCK, _PIECE = 1 << 20, 16 * 1024
_GZIP_MEMBER = 16 + zlib.MAX_WBITS
_ZIP = b"PK\3\4"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DAMAGED = (OSError, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError, ArithmeticError, LookupError,
            RecursionError, MemoryError, archive.Cut)


@dataclasses.dataclass(frozen=True)
class Item:
    """One file: `path` in the bundle, `data` its content (unpacked), `link` the target where it is a link,
    `executable`.

    Of a file that was not read, `unread` is the reason, as half a sentence, and `data` the beginning, or None if its
    content is unknown. The path of a folder that was not read ends with a slash.
    """

    path: str
    data: bytes = b""
    link: str = None
    executable: bool = False
    unread: str = None


def items_of(bundle):
    """A generator of each `Item` of the bundle at a path; nothing is left out without an `Item`, except folders. Raises
    BadInput if that is not a bundle, is cut or damaged, or exceeds the limits."""
    path = pathlib.Path(bundle).expanduser()
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        raise BadInput("bundle %s does not exist; give the path of a folder, an archive or a dump on the controller"
                       % bundle) from None
    try:
        if stat.S_ISDIR(mode):
            yield from _of_folder(path, _Budget(path))
        elif stat.S_ISREG(mode):
            yield from _of_file(path, _Budget(path))
        else:
            raise BadInput("bundle %s is neither a folder nor a regular file" % bundle)
    except PermissionError as error:
        raise BadInput("bundle %s could not be read: %s; run it as a user who may read it"
                       % (bundle, error.strerror)) from None
    except _DAMAGED as error:
        known = not isinstance(error, (ValueError, ArithmeticError, LookupError, RecursionError, MemoryError))
        reason = " ".join(str(error).split())[:200] if known else "its content is damaged (%s)" % type(error).__name__
        raise BadInput("bundle %s could not be read to its end, it is cut or damaged: %s; copy or collect it again, or "
                       "unpack it and give the folder" % (bundle, reason)) from None


class _Budget:
    """Counts the files, and the bytes that were read, unpacked or copied, so that no bundle fills the controller."""

    def __init__(self, name):
        self._name, self._files, self._bytes, self._names = name, 0, 0, 0

    def take_file(self):
        """Counts a file, a folder, or a member of a gzip file."""
        self._files += 1
        self.take(0)

    def take(self, size):
        """Counts bytes."""
        self._bytes += size
        if self._files > FILES_LIMIT or self._bytes > TOTAL_LIMIT:
            raise BadInput("bundle %s contains more than %d files or %d GiB; give only the part of one node"
                           % (
                               self._name, FILES_LIMIT, TOTAL_LIMIT >> 30))

    def keep(self, *names):
        """Counts names that stay in memory."""
        self._names += sum(len(name) for name in names)
        if self._names > NAMES_LIMIT:
            raise BadInput("bundle %s contains links with more than %d MiB of names; give only the part of one node"
                           % (self._name, NAMES_LIMIT >> 20))


def _of_folder(root, budget):
    failed = []
    for folder, folders, names in os.walk(root, onerror=failed.append):
        budget.take_file()
        folders.sort()
        for name in sorted(names) + [each for each in folders if os.path.islink(os.path.join(folder, each))]:
            budget.take_file()
            path = os.path.join(folder, name)
            try:
                yield _of_path(path, _inside(path, root), budget)
            except OSError as error:
                yield Item(_inside(path, root), None, unread=_could_not(error))
    for error in failed:
        if os.path.realpath(error.filename) == os.path.realpath(root):
            raise error
        yield Item(_inside(error.filename, root) + "/", None, unread=_could_not(error))


def _inside(path, root):
    return pathlib.PurePosixPath(os.path.relpath(path, root)).as_posix()


def _could_not(error):
    return "it could not be read (%s)" % (error.strerror or type(error).__name__)


def _of_path(path, inside, budget):
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        return _link(inside, os.readlink(path), budget)
    if not stat.S_ISREG(found.st_mode):
        return Item(inside, unread="it is not a regular file")
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        return _item(inside, found.st_size, stream.read, bool(found.st_mode & 0o111), budget, budget.take)


def _of_file(path, budget):
    with archive.unpacked(path) as read:
        is_archive = archive.is_header(read(tarfile.BLOCKSIZE))
    if is_archive:
        yield from _of_archive(path, budget)
        return
    with open(path, "rb") as stream:
        if stream.read(len(_ZIP)) == _ZIP:
            raise BadInput("bundle %s is a zip archive; unpack it and give the folder" % path)
    if path.stat().st_size > FILE_LIMIT:
        raise BadInput("bundle %s is not an archive, and is larger than %d MiB" % (path, FILE_LIMIT >> 20))
    with open(path, "rb") as stream:
        yield _item(path.name, path.stat().st_size, stream.read, False, budget, budget.take)


def _of_archive(path, budget):
    """A hard link has the content of a member before it, which is read in a second pass."""
    hard = {}
    with archive.unpacked(path) as read:
        for member, content in archive.members(read, budget.take):
            budget.take_file()
            inside = _clean(member.name)
            if member.islnk():
                budget.keep(inside, member.linkname)
                hard[inside] = _clean(member.linkname)
            elif not member.isdir():
                yield _of_member(inside, member, content, budget)
    sources = {}
    for inside in hard:
        sources.setdefault(_source(inside, hard), []).append(inside)
    if not sources:
        return
    with archive.unpacked(path) as read:
        for member, content in archive.members(read, lambda size: None):
            if not sources:
                break
            names = [] if member.islnk() or member.isdir() else sources.pop(_clean(member.name), [])
            item = _of_member(_clean(member.name), member, content, budget) if names else None
            for inside in names:
                budget.take(len(item.data or b""))
                yield dataclasses.replace(item, path=inside)
    for source, names in sources.items():
        for inside in names:
            yield Item(inside, None, unread="it is a hard link to %s, which the archive does not contain"
                       % (source or "itself")[:100])


def _clean(name):
    return posixpath.normpath("/" + name).lstrip("/")


def _source(inside, hard):
    """The member at the end of a chain of hard links, or None in a circle."""
    seen = set()
    while inside in hard and inside not in seen:
        seen.add(inside)
        inside = hard[inside]
    return None if inside in seen else inside


def _of_member(inside, member, content, budget):
    if member.issym():
        return _link(inside, member.linkname, budget)
    if member.ischr() or member.isblk() or member.isfifo():
        return Item(inside, unread="it is not a regular file")
    if not member.isreg():
        return Item(inside, None, unread="its type in the archive is not known")
    # The archive counts the bytes that are read from it.
    return _item(inside, member.size, content, bool(member.mode & 0o111), budget, lambda size: None)


def _link(inside, target, budget):
    if len(target) >= NAME_LIMIT:
        return Item(inside, None, unread="it is a link with a target of more than %d bytes" % NAME_LIMIT)
    budget.keep(inside, target)
    return Item(inside, link=target)


def _item(path, size, read, executable, budget, take):
    """Unpacks a gzip file, unless it is known by its packed name (/proc/config.gz), and converts UTF-16, which
    PowerShell writes when the output of a command is redirected."""
    unread = "it is larger than %d MiB" % (FILE_LIMIT >> 20) if size > FILE_LIMIT else None
    data = read(_HEAD if unread else FILE_LIMIT)
    take(len(data))
    if data.startswith(archive.GZIP) and not path.endswith("config.gz"):
        data, damage = _unpacked(data, budget)
        unread = unread or damage
        path = path[:-len(".gz")] if path.endswith(".gz") else path
    if data.startswith(_UTF_16):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    return Item(path, data, None, executable, unread)


def _unpacked(data, budget):
    """(the beginning of the content that can be unpacked, why that is not everything or None). A file may have several
    members, as after `cat old.gz new.gz` (RFC 1952, section 2.2), and zeros after them."""
    member, found, size, at = zlib.decompressobj(_GZIP_MEMBER), [], 0, 0
    while size <= FILE_LIMIT:
        chunk = data[at:at + _PIECE]
        try:
            plain = member.decompress(chunk, _BLOCK)
        except zlib.error:
            return b"".join(found), "its gzip data is damaged"
        budget.take(len(plain))
        found.append(plain)
        size += len(plain)
        at += len(chunk) - len(member.unused_data if member.eof else member.unconsumed_tail)
        if member.eof:
            budget.take_file()
            at = _past_zeros(data, at)
            if at == len(data):
                return b"".join(found), None
            member = zlib.decompressobj(_GZIP_MEMBER)
        elif at == len(data) and len(plain) < _BLOCK:
            return b"".join(found), "its gzip data is cut"
    return b"".join(found), "it is larger than %d MiB when unpacked" % (FILE_LIMIT >> 20)


def _past_zeros(data, at):
    while data[at:at + 1] == b"\0":
        chunk = data[at:at + _PIECE]
        at += len(chunk) - len(chunk.lstrip(b"\0"))
    return at


def with_utf8(item):
    """The item with names as UTF-8."""
    return dataclasses.replace(item, path=_as_utf8(item.path), link=item.link and _as_utf8(item.link))


def _as_utf8(name):
    """A name without surrogates, which stand for bytes that are not UTF-8, and without NUL."""
    return name.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
