# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The members of a tar archive, in one pass and within limits, up to its proven end. PRIVATE to the collection.

tarfile reads a header of any size into memory, and takes a damaged or cut header for the end of the archive. Both are
decided here, by the bytes that tarfile reads.
"""

import bz2
import contextlib
import gzip
import lzma
import shutil
import subprocess
import tarfile

from ...module_utils._errors import BadInput

# The headers of one member, which include its long names, extended attributes and the map of a sparse file.
HEADERS_LIMIT = 128 * 1024
_MEMORY_LIMIT = 256 * 1024 * 1024
_HEADER, _BLOCK, _PIECE = tarfile.BLOCKSIZE, 1 << 20, 16 * 1024
GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_XZ = (b"\xfd7zXZ", b"]\0\0\x80")


class Cut(Exception):
    """The archive is cut or damaged; the text states where."""


@contextlib.contextmanager
def unpacked(path):
    """A function `read(size)` of the unpacked bytes of a file. Raises BadInput where zstd is missing."""
    with open(path, "rb") as stream:
        magic = stream.read(6)
        stream.seek(0)
        if magic.startswith(_ZSTD):
            with _of_zstd(path) as read:
                yield read
        elif magic.startswith(GZIP):
            yield gzip.GzipFile(fileobj=stream).read
        elif magic.startswith(b"BZh"):
            yield bz2.BZ2File(stream).read
        elif magic.startswith(_XZ):
            yield _Xz(stream).read
        else:
            yield stream.read


@contextlib.contextmanager
def _of_zstd(path):
    """Python reads zstd only from 3.14 on; the program zstd also works with older versions."""
    program = shutil.which("zstd")
    if program is None:
        raise BadInput("bundle %s is packed with zstd, and the program zstd is not installed here; unpack it and give "
                       "the folder" % path)
    with open(path, "rb") as stream, subprocess.Popen([program, "-dcq"], stdin=stream, stdout=subprocess.PIPE,
                                                      stderr=subprocess.DEVNULL) as process:
        def read(size):
            data = process.stdout.read(size)
            if len(data) < size and process.wait() != 0:
                raise Cut("zstd ended with status %d" % process.returncode)
            return data
        try:
            yield read
        finally:
            process.kill()


class _Xz:
    """As lzma.LZMAFile, which has no limit of memory: the header chooses the size of the dictionary."""

    def __init__(self, stream):
        self._stream, self._member, self._ahead = stream, None, b""

    def read(self, size):
        """At most `size` bytes; fewer only at the end."""
        found = []
        while size > 0:
            data = self._next(size)
            if data is None:
                break
            found.append(data)
            size -= len(data)
        return b"".join(found)

    def _next(self, size):
        """Some bytes, perhaps none, or None at the end. Raises EOFError."""
        if self._member is None or self._member.needs_input:
            self._ahead = self._ahead or self._stream.read(_PIECE)
        if self._member is None:
            self._ahead = self._ahead.lstrip(b"\0")  # Streams are padded with zeros.
            if not self._ahead:
                self._ahead = self._stream.read(_PIECE)
                return b"" if self._ahead else None
            self._member = lzma.LZMADecompressor(memlimit=_MEMORY_LIMIT)
        elif self._member.needs_input and not self._ahead:
            raise EOFError("the end of its xz stream is missing")
        data, self._ahead = self._member.decompress(self._ahead, size), b""
        if bool(self._member.eof):
            self._ahead, self._member = self._member.unused_data, None
        return data


def is_header(block):
    """Whether a file that begins with these bytes is a tar archive."""
    if block[257:262] == b"ustar":
        return True
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


class _Stream:
    """What tarfile reads from: forwards only, and never beyond `limit`."""

    def __init__(self, read, take):
        self._source, self._take = read, take
        self._at, self.limit, self.last = 0, HEADERS_LIMIT, b""

    def tell(self):
        """As of a file."""
        return self._at

    def read(self, size):
        """As of a file."""
        if size < 0 or self._at + size > self.limit:
            raise Cut("a header near byte %d is larger than %d KiB" % (self._at, HEADERS_LIMIT >> 10))
        self.last = self._given(size)
        return self.last

    def seek(self, position):
        """As of a file."""
        if position < self._at:
            raise Cut("a header before byte %d leads back" % self._at)
        while self._at < position:
            if not self._given(min(_BLOCK, position - self._at)):
                raise Cut("it ends at byte %d, in the middle of a file" % self._at)

    def _given(self, size):
        data = self._source(size)
        self._at += len(data)
        self._take(len(data))
        return data

    def finish(self):
        """Raises Cut unless tarfile stopped at the end of the archive: two blocks of zeros, and only padding after
        them up to the end of the file."""
        blocks = self.last + (self._given(_HEADER) if len(self.last) == _HEADER else b"")
        if blocks.strip(b"\0"):
            raise Cut("the header before byte %d is damaged" % self._at)
        if len(blocks) < 2 * _HEADER:
            raise Cut("its end is missing after byte %d" % self._at)
        rest = self._given(_BLOCK)
        while rest:
            if rest.strip(b"\0"):
                raise Cut("more data follows after its end, before byte %d" % self._at)
            rest = self._given(_BLOCK)


def members(read, take):
    """A generator of (TarInfo, a function `content(size)` that reads the beginning of the member). `take(size)` is
    called for bytes that were read. Raises Cut, and what tarfile and the decompressors raise."""
    stream = _Stream(read, take)
    archive = tarfile.TarFile(fileobj=stream, mode="r", encoding="utf-8", errors="surrogateescape")

    def content(size):
        stream.limit = archive.offset
        size = min(size, member.size)
        data = archive.extractfile(member).read(size)
        if member.issparse():
            take(len(data))
        if len(data) < size:
            raise Cut("it ends at byte %d, in the middle of a file" % stream.tell())
        return data

    while True:
        stream.limit = archive.offset + HEADERS_LIMIT
        member = archive.next()
        if member is None:
            break
        # tarfile keeps each member, with all of its headers.
        archive.members = []
        if member.size < 0:
            raise Cut("the header before byte %d states a negative size" % stream.tell())
        yield member, content
    stream.limit = float("inf")
    stream.finish()
