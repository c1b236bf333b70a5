# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only code of the collection that touches a machine.

All other code gets a `Host` and reads through it. A host is a directory tree (``/`` of a live node, an unpacked image,
a support bundle, a test fixture) and, for ``/`` only, the right to run commands. Links are followed inside the tree, so
an absolute link in an image never leads to the builder's own files."""

import errno
import os
import resource
import stat
import time
import zlib

from . import notes as host_notes, run as host_run

OK, ABSENT, DENIED, UNPARSED = "ok", "absent", "denied", "unparsed"
TIMEOUT = "timeout"

TEXT_LIMIT, INDEX_LIMIT, OUTPUT_LIMIT = 4 * 1024 * 1024, 64 * 1024 * 1024, 1024 * 1024
BLOCK, _GZIP, LINKS_LIMIT = 1 << 20, b"\x1f\x8b", 40
# Prefix of the directories in which new files wait for their rename; configuration in them is never read.
TEMPORARY = ".kubenode-"
# No configuration lies deeper; the folders of deeper paths are not cached.
DEPTH_LIMIT = 40

# Programs of the node are looked up only in these directories, because the caller's PATH may contain any directory.
BINARY_DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin")

_ABSENT_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ESRCH)


class Text:
    """The result of reading a file: `status` (ok, absent, denied, unparsed) and `text`, empty unless ok."""

    def __init__(self, status, text=""):
        self.status, self.text = status, text

    @property
    def ok(self):
        return self.status == OK


class Completed:
    """The result of a command: `status` (ok = it ended by itself, absent, denied, timeout, unparsed = too much output),
    `rc` (None: it hangs), `out`, `err`; `size` counts all bytes it wrote and `peak_bytes` is its peak memory."""

    def __init__(self, status, rc=None, out="", err="", size=0, peak_bytes=0):
        self.status, self.rc, self.out, self.err, self.size, self.peak_bytes = status, rc, out, err, size, peak_bytes

    @property
    def ok(self):
        return self.status == OK and self.rc == 0


# A path with a NUL byte, or with characters that the locale cannot encode, raises ValueError: no such file exists.
_PATH_ERRORS = (OSError, ValueError)


def status_of(error):
    """The status word for one of _PATH_ERRORS: absent, denied, or unparsed for all other errors (I/O errors)."""
    if isinstance(error, ValueError) or error.errno in _ABSENT_ERRORS:
        return ABSENT
    if error.errno in (errno.EACCES, errno.EPERM):
        return DENIED
    return UNPARSED


class Host(host_notes.Notes):
    """A machine to look at. `root` is the directory that is its `/`; commands are run only when `commands` is true."""

    def __init__(self, root="/", commands=True):
        super(Host, self).__init__()
        self.root = os.path.normpath(root)
        self.commands = commands and self.root == "/"
        # Directories that were resolved already: {path: real path}. Looks read hundreds of files in a few directories.
        self._folders = {}
        # Results that several collectors share: {name: anything}. A look reads the rules once.
        self.kept = {}

    def real_path(self, path):
        """The path on this machine that `path` of the tree leads to, with every link followed inside the tree. Raises
        OSError (ELOOP, ENOENT) as the kernel would. For `/` itself the kernel does the work."""
        if self.root == "/":
            return path
        folder, _slash, name = path.rstrip("/").rpartition("/")
        if name in ("", "..") or "/../" in path or path.count("/") > DEPTH_LIMIT:
            return self._walked(self.root, path)
        if folder not in self._folders:
            self._folders[folder] = self.real_path(folder) if folder else self.root
        return self._walked(self._folders[folder], name)

    def _walked(self, done, path):
        """`path` resolved from the real directory `done` on."""
        ahead = [part for part in path.split("/") if part not in ("", ".")]
        links = 0
        while ahead:
            part = ahead.pop(0)
            if part == "..":
                # The parent of the root is the root, as in chroot(2).
                done = done if done == self.root else os.path.dirname(done)
                continue
            step = os.path.join(done, part)
            if not os.path.islink(step):
                done = step
                continue
            links += 1
            if links > LINKS_LIMIT:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(step)
            if target.startswith("/"):
                done = self.root
            ahead = [piece for piece in target.split("/") if piece not in ("", ".")] + ahead
        return done

    def tree_path(self, path):
        """The path of the tree that `path` leads to (`/sbin/iptables`: `/usr/sbin/xtables-nft-multi`), or None."""
        try:
            real = os.path.realpath(path) if self.root == "/" else self.real_path(path)
            os.stat(real)
        except _PATH_ERRORS as error:
            self.note(path, status_of(error))
            return None
        return real if self.root == "/" else (real[len(self.root):] or "/")

    def read_bytes(self, path, limit=TEXT_LIMIT):
        """(status, bytes) of a regular file of at most `limit` bytes. Never blocks: FIFOs and devices are `unparsed`.
        /dev/null is an empty file: systemd and kmod take files that link to it as masked."""
        chunks = []
        status = self.note(path, self._read_through(path, chunks.append, limit))
        return (status, b"".join(chunks)) if status == OK else (status, b"")

    def _read_through(self, path, consume, limit):
        """Status of a regular file whose bytes were passed to `consume`, at most one block beyond `limit`."""
        try:
            handle = os.open(self.real_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except _PATH_ERRORS as error:
            return status_of(error)
        try:
            seen = os.fstat(handle)
            if not stat.S_ISREG(seen.st_mode):
                return OK if _is_null(seen) else UNPARSED
            left = limit + 1
            while left > 0:
                chunk = os.read(handle, min(left, BLOCK))
                if not chunk:
                    return OK
                consume(chunk)
                left -= len(chunk)
        except OSError as error:
            return status_of(error)
        finally:
            os.close(handle)
        return UNPARSED

    def stream_file(self, path, consume, limit, packed=None):
        """Status of a regular file whose content is passed to `consume(bytes)` block by block; `packed=None` unpacks
        files with the magic bytes of gzip. Where the status is not ok, the blocks passed so far are the intact
        beginning. `limit` counts unpacked bytes."""
        unpacked = _Unpacked(consume, limit, packed)
        status = self._read_through(path, unpacked.feed, limit)
        return self.note(path, unpacked.status() if status == OK else status)

    def read_text(self, path, limit=TEXT_LIMIT):
        """`Text` of a file; a `.gz` is unpacked (the limit counts unpacked bytes). Bad UTF-8 becomes U+FFFD."""
        if not path.endswith(".gz"):
            status, data = self.read_bytes(path, limit)
            return Text(status, data.decode("utf-8", "replace"))
        chunks = []
        status = self.stream_file(path, chunks.append, limit, packed=True)
        return Text(status, b"".join(chunks).decode("utf-8", "replace") if status == OK else "")

    def list_dir(self, path):
        """(status, sorted names) of a directory."""
        try:
            return OK, sorted(os.listdir(self.real_path(path)))
        except _PATH_ERRORS as error:
            return self.note(path, status_of(error)), []

    def stat(self, path):
        """os.stat_result with every link of the tree followed, or None where the file cannot be seen."""
        try:
            return os.stat(self.real_path(path))
        except _PATH_ERRORS as error:
            self.note(path, status_of(error))
            return None

    def exists(self, path):
        return self.stat(path) is not None

    def presence(self, path):
        """`ok` where `path` exists, `absent` where it does not, otherwise the status of the failed stat()."""
        with self.noting() as notes:
            found = self.stat(path)
        return OK if found is not None else notes.get(path, ABSENT)

    def is_dir(self, path):
        found = self.stat(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def is_file(self, path):
        found = self.stat(path)
        return found is not None and stat.S_ISREG(found.st_mode)

    def read_link(self, path):
        """Target of the link `path` itself, or None if it is not a link."""
        folder, name = os.path.split(path)
        try:
            return os.readlink(os.path.join(self.real_path(folder), name))
        except _PATH_ERRORS as error:
            # EINVAL: it exists and is not a link (man 2 readlink).
            if getattr(error, "errno", None) != errno.EINVAL:
                self.note(path, status_of(error))
            return None

    def machine(self):
        """Hardware name of the running kernel (x86_64, aarch64), None for a tree that does not run."""
        return os.uname()[4] if self.root == "/" else None

    @staticmethod
    def is_root():
        return os.geteuid() == 0

    def find_binary(self, name):
        """Path of the tree at which a root user finds the program `name`, or None."""
        for folder in BINARY_DIRECTORIES:
            path = folder + "/" + name
            found = self.stat(path)
            if found is not None and stat.S_ISREG(found.st_mode) and found.st_mode & 0o111:
                return path
        return None

    def binary(self, name):
        """(status, path) as `find_binary` finds it; absent only if every folder before it could be searched."""
        with self.noting() as notes:
            path = self.find_binary(name)
        return (OK if path else next(iter(notes.values()), ABSENT)), path

    def run(self, argv, timeout=5.0, limit=OUTPUT_LIMIT):
        """Run a program of the node with a timeout: `Completed` with all of its output. See `stream`."""
        chunks = []
        done = self.stream(argv, chunks.append, timeout, limit)
        done.out = b"".join(chunks).decode("utf-8", "replace")
        return done

    def stream(self, argv, consume, timeout, limit, while_waiting=None):
        """Run a program of the node with a timeout and pass its output to `consume(bytes)` while it runs: `Completed`
        without `out`.

        It gets no input, the C locale, the lowest priority and the first place in the OOM killer's list, is killed with
        its children after `timeout` seconds or `limit` bytes of output, and is not run at all where commands are not
        allowed (`denied`). `while_waiting()` is called once if the program works for long before it prints."""
        if not self.commands:
            return Completed(DENIED)
        program = argv[0] if "/" in argv[0] else self.find_binary(argv[0])
        if program is None:
            return Completed(ABSENT)
        deadline = time.monotonic() + timeout
        try:
            process = host_run.start(program, argv[1:], ":".join(BINARY_DIRECTORIES))
        except _PATH_ERRORS as error:
            return Completed(status_of(error))
        return host_run.attend(process, Completed(OK, err=b""), consume, deadline, limit, while_waiting)

    @staticmethod
    def own_peak_bytes():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class _Unpacked:
    """Passes bytes on to `consume`; gzip members are unpacked, to at most `limit` bytes."""

    def __init__(self, consume, limit, packed):
        self._consume = consume
        self._left = limit
        self._packed = packed
        self._member, self._sound = None, True
        self._whole = not packed

    def feed(self, chunk):
        if self._packed is None:
            self._packed = chunk.startswith(_GZIP)
        while chunk and self._sound:
            chunk = self._next(chunk) if self._packed else self._give(chunk)

    def status(self):
        """ok if everything was unpacked; a member without its end was truncated."""
        return OK if self._sound and self._whole else UNPARSED

    def _give(self, plain):
        self._sound = self._sound and len(plain) <= self._left
        if plain and self._left:
            self._consume(plain[:self._left])
        self._left -= min(self._left, len(plain))
        return b""

    def _next(self, chunk):
        """Unpack as much of one member as there is, and return the bytes after it."""
        if self._member is None:
            if not chunk.strip(b"\0"):
                return b""  # Padding to a tape's block, as gzip itself allows.
            self._member, self._whole = zlib.decompressobj(16 + zlib.MAX_WBITS), False
        full = True
        while full and self._sound:
            try:
                plain = self._member.decompress(chunk, BLOCK)
            except zlib.error:
                self._sound = False
                return b""
            self._give(plain)
            # A full block may leave unpacked bytes behind although the input is used up.
            chunk, full = self._member.unconsumed_tail, len(plain) == BLOCK and not self._member.eof
        if not self._member.eof:
            return chunk
        left, self._member, self._whole = self._member.unused_data, None, True
        return left


def _is_null(seen):
    """Whether an os.stat_result is the one of /dev/null (kernel Documentation/admin-guide/devices.txt)."""
    return stat.S_ISCHR(seen.st_mode) and seen.st_rdev == os.makedev(1, 3)
