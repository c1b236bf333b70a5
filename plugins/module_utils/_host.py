# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only code of the collection that touches a machine. PRIVATE to the collection.

Everything else is given a C(Host) and asks it. A host is a directory tree (``/`` of a live node, an unpacked
image, a support bundle, a test fixture) and, for ``/`` only, the right to run commands. Links are followed
inside the tree, so an absolute link in an image never leads to the builder's own files.
"""

import errno
import os
import select
import signal
import stat
import subprocess
import time
import zlib

OK = "ok"
ABSENT = "absent"
DENIED = "denied"
UNPARSED = "unparsed"
TIMEOUT = "timeout"

TEXT_LIMIT = 4 * 1024 * 1024
INDEX_LIMIT = 64 * 1024 * 1024
OUTPUT_LIMIT = 1024 * 1024
LINKS_LIMIT = 40
# Deeper paths are nobody's configuration; their folders are not remembered.
DEPTH_LIMIT = 40

# Tools of the node are looked up here and nowhere else: the caller's PATH may be anything.
BINARY_DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin")

_ABSENT_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ESRCH)


class Text(object):
    """What reading a file gave: C(status) (ok, absent, denied, unparsed) and C(text), empty unless ok."""

    def __init__(self, status, text=""):
        self.status = status
        self.text = text

    @property
    def ok(self):
        return self.status == OK


class Completed(object):
    """What running a command gave: C(status) (ok = it ended by itself, absent, denied, timeout, unparsed = flooded), C(rc), C(out), C(err)."""

    def __init__(self, status, rc=None, out="", err=""):
        self.status = status
        self.rc = rc
        self.out = out
        self.err = err

    @property
    def ok(self):
        return self.status == OK and self.rc == 0


# A path with a zero byte, or with letters the locale of the node cannot write, raises ValueError: no such file can exist.
_PATH_ERRORS = (OSError, ValueError)


def status_of(error):
    """The status word for what _PATH_ERRORS caught: absent, denied, or unparsed for anything else (I/O errors, bad file systems)."""
    if isinstance(error, ValueError) or error.errno in _ABSENT_ERRORS:
        return ABSENT
    if error.errno in (errno.EACCES, errno.EPERM):
        return DENIED
    return UNPARSED


class Host(object):
    """A machine to look at. C(root) is the directory that is its C(/); commands are run only when C(commands) is true."""

    def __init__(self, root="/", commands=True):
        self.root = os.path.normpath(root)
        self.commands = commands and self.root == "/"
        # Directories of the tree that were walked already: {path: real path}. Looks ask about hundreds of files in a few.
        self._folders = {}

    def real_path(self, path):
        """The path on this machine that C(path) of the tree leads to, with every link followed inside the tree.

        Raises OSError (ELOOP, ENOENT) as the kernel would. For C(/) itself the kernel does the work.
        """
        if self.root == "/":
            return path
        folder, _slash, name = path.rstrip("/").rpartition("/")
        if name in ("", "..") or "/../" in path or path.count("/") > DEPTH_LIMIT:
            return self._walked(self.root, path)
        if folder not in self._folders:
            self._folders[folder] = self.real_path(folder) if folder else self.root
        return self._walked(self._folders[folder], name)

    def _walked(self, done, path):
        """C(path) from the real directory C(done) on."""
        ahead = [part for part in path.split("/") if part not in ("", ".")]
        links = 0
        while ahead:
            part = ahead.pop(0)
            if part == "..":
                # The parent of the root is the root, as chroot(2) has it.
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
        """Where C(path) leads, written as a path of the tree: C(/sbin/iptables) to C(/usr/sbin/xtables-nft-multi). None if it leads nowhere."""
        try:
            real = os.path.realpath(path) if self.root == "/" else self.real_path(path)
        except _PATH_ERRORS:
            return None
        if not os.path.exists(real):
            return None
        return real if self.root == "/" else (real[len(self.root):] or "/")

    def read_bytes(self, path, limit=TEXT_LIMIT):
        """(status, bytes) of a regular file of at most C(limit) bytes. Never waits: FIFOs and devices are C(unparsed)."""
        try:
            handle = os.open(self.real_path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except _PATH_ERRORS as error:
            return status_of(error), b""
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return UNPARSED, b""
            chunks = []
            left = limit + 1
            while left > 0:
                chunk = os.read(handle, min(left, 1 << 20))
                if not chunk:
                    break
                chunks.append(chunk)
                left -= len(chunk)
        except _PATH_ERRORS as error:
            return status_of(error), b""
        finally:
            os.close(handle)
        data = b"".join(chunks)
        return (UNPARSED, b"") if len(data) > limit else (OK, data)

    def read_text(self, path, limit=TEXT_LIMIT):
        """C(Text) of a file; a C(.gz) is unpacked (the limit counts for what comes out). Bytes that are no UTF-8 become U+FFFD."""
        status, data = self.read_bytes(path, limit)
        if status == OK and path.endswith(".gz"):
            status, data = _gunzip(data, limit)
        return Text(status, data.decode("utf-8", "replace"))

    def list_dir(self, path):
        """(status, sorted names) of a directory."""
        try:
            return OK, sorted(os.listdir(self.real_path(path)))
        except _PATH_ERRORS as error:
            return status_of(error), []

    def stat(self, path):
        """os.stat_result behind all links of the tree, or None where there is nothing to be seen."""
        try:
            return os.stat(self.real_path(path))
        except _PATH_ERRORS:
            return None

    def exists(self, path):
        return self.stat(path) is not None

    def is_dir(self, path):
        found = self.stat(path)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def is_file(self, path):
        found = self.stat(path)
        return found is not None and stat.S_ISREG(found.st_mode)

    def read_link(self, path):
        """Target of the link C(path) itself, or None if it is no link."""
        folder, name = os.path.split(path)
        try:
            return os.readlink(os.path.join(self.real_path(folder), name))
        except _PATH_ERRORS:
            return None

    def machine(self):
        """Hardware name of the running kernel (x86_64, aarch64), or None where the tree is not the one that runs."""
        return os.uname()[4] if self.root == "/" else None

    @staticmethod
    def is_root():
        return os.geteuid() == 0

    def find_binary(self, name):
        """Path of the tree at which a root user finds the program C(name), or None."""
        for folder in BINARY_DIRECTORIES:
            path = folder + "/" + name
            found = self.stat(path)
            if found is not None and stat.S_ISREG(found.st_mode) and found.st_mode & 0o111:
                return path
        return None

    def run(self, argv, timeout=5.0, limit=OUTPUT_LIMIT):
        """Run a program of the node and always come back: C(Completed).

        It gets no input, the C locale, the lowest priority and the first place in the OOM killer's list, is killed
        with its children after C(timeout) seconds or C(limit) bytes of output, and is not run at all where commands
        are not allowed (C(denied)).
        """
        if not self.commands:
            return Completed(DENIED)
        program = argv[0] if "/" in argv[0] else self.find_binary(argv[0])
        if program is None:
            return Completed(ABSENT)
        try:
            # AnsibleModule.run_command() knows neither a timeout nor a limit of output.
            process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                [program] + list(argv[1:]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                close_fds=True, preexec_fn=_step_back, env={"PATH": ":".join(BINARY_DIRECTORIES), "LC_ALL": "C"})
        except OSError as error:
            return Completed(status_of(error))
        return _communicate(process, time.monotonic() + timeout, limit)


def _step_back():
    """In the child: a session of its own (so that it can be killed whole), and the node's work goes first."""
    os.setsid()
    try:
        os.nice(19)
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        pass  # A locked-down node may refuse both; the look is still bounded in time and output.


def _communicate(process, deadline, limit):
    buffers = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    streams = {process.stdout.fileno(): process.stdout, process.stderr.fileno(): process.stderr}
    status, size = OK, 0
    while streams and status == OK:
        ready = select.select(list(streams), [], [], max(0.0, deadline - time.monotonic()))[0]
        if not ready:
            status = TIMEOUT
        for handle in ready:
            chunk = os.read(handle, 65536)
            if not chunk:
                streams.pop(handle)
            buffers[handle].append(chunk)
            size += len(chunk)
        if size > limit:
            status = UNPARSED
    while status == OK and process.poll() is None:
        if time.monotonic() > deadline:
            status = TIMEOUT
        time.sleep(0.002)
    if status != OK:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass  # It ended between the look and the kill.
    process.wait()
    out, err = [b"".join(buffers[stream.fileno()]).decode("utf-8", "replace") for stream in (process.stdout, process.stderr)]
    process.stdout.close()
    process.stderr.close()
    return Completed(status, process.returncode, out, err)


def _gunzip(data, limit):
    """(status, bytes): at most C(limit) bytes come out of a gzip member, whatever it claims to hold."""
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        plain = unpacker.decompress(data, limit + 1)
    except zlib.error:
        return UNPARSED, b""
    return (UNPARSED, b"") if len(plain) > limit or not unpacker.eof else (OK, plain)
