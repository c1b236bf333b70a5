# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading files of a container from the node.

The files of a container are hostile: an absolute link below /proc/PID/root leads to the node's own files, a FUSE mount
can hang an open() for ever, a FIFO waits for a writer, the pid can belong to another process by now. So a child process
opens each component of a path relative to a descriptor it holds, resolves links itself and inside the container's root
only, opens regular files only, and is killed after two seconds. No file of a container is ever executed."""

import errno
import json
import os
import select
import signal
import stat
import time

from .host import ABSENT, BINARY_DIRECTORIES, LINKS_LIMIT, OK, TIMEOUT, UNPARSED, status_of

SECONDS, FILE_LIMIT = 2.0, 256 * 1024


def look_into(pid, start_time, reads, finds):
    """Read files and look for programs in the root of process `pid`. `start_time` is field 22 of its /proc/PID/stat, so
    that a reused pid is noticed. `reads` are absolute paths, `finds` program names. Returns `{"status": ok | absent |
    denied | timeout | unparsed, "texts": {path: [status, text]}, "programs": {name: present | absent | unknown}}`."""
    return _json_from_child(_look, pid, start_time, reads, finds) or _nothing(TIMEOUT, reads, finds)


def stat_in(pid, start_time, paths):
    """File type and identity of `paths` in the root of process `pid`, resolved as `look_into` does; files are opened
    with O_PATH only. Returns `{path: [status, kind, device, inode]}`: status ok, absent, denied, unparsed, timeout;
    kind file, directory, other."""
    return _json_from_child(_stat_all, pid, start_time, paths) or {path: [TIMEOUT, None, None, None] for path in paths}


def read_first(pid, start_time, paths, limit):
    """Bytes of the first of the absolute `paths` that exists in the root of process `pid`, at most `limit` bytes.
    Returns `{"status": ok | absent | denied | timeout | unparsed, "path": path or None, "device": int, "inode": int,
    "modified": seconds since 1970}` and the bytes; the numbers are 0 and the bytes empty unless the status is ok. A
    path that exists and is not a regular file ends the search."""
    return read_first_in_groups(pid, start_time, [paths], limit)[0]


def read_first_in_groups(pid, start_time, groups, limit):
    """[what read_first() returns] for each list of paths in `groups`, read by one child: starting it takes longer."""
    data = _from_child(lambda: b"".join(_read_first(str(int(pid)), start_time, paths, limit) for paths in groups))
    answers = []
    for _paths in groups:
        head, _line, data = data.partition(b"\n")
        try:
            found = json.loads(head.decode("utf-8"))
        except ValueError:
            found = dict(_found(TIMEOUT), size=0)
        size = found.pop("size")
        answers.append((found, data[:size]) if len(data) >= size else (_found(TIMEOUT), b""))
        data = data[size:]
    return answers


def _json_from_child(work, pid, *arguments):
    """What `work(pid, ...)` returns in a child; None where the child was too slow."""
    data = _from_child(lambda: json.dumps(work(str(int(pid)), *arguments)).encode("utf-8"))
    try:
        return json.loads(data.decode("utf-8"))
    except ValueError:
        return None


def _from_child(work):
    """The bytes that `work()` returns, computed in a child that is killed after SECONDS; they may be cut off then."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receiver)
            os.setsid()
            answer = memoryview(work())
            while answer:
                answer = answer[os.write(sender, answer):]
        finally:
            os._exit(0)
    os.close(sender)
    chunks, deadline = [], time.monotonic() + SECONDS
    while True:
        ready = select.select([receiver], [], [], max(0.0, deadline - time.monotonic()))[0]
        chunk = os.read(receiver, 65536) if ready else b""
        if not chunk:
            break
        chunks.append(chunk)
    os.close(receiver)
    os.kill(child, signal.SIGKILL)
    # A child that hangs in an uninterruptible system call is not waited for: the look must end.
    os.waitpid(child, 0 if ready else os.WNOHANG)
    return b"".join(chunks)


def _nothing(status, reads, finds):
    return {"status": status, "texts": {path: [status, ""] for path in reads},
            "programs": dict.fromkeys(finds, "unknown")}


def _enter(pid):
    """Descriptors of /proc/PID and of the root in it; the first stays that of this process, even if the pid is
    reused."""
    process = os.open("/proc/" + pid, os.O_RDONLY | os.O_DIRECTORY)
    return process, os.open("root", os.O_RDONLY | os.O_DIRECTORY, dir_fd=process)


def _stat_all(pid, start_time, paths):
    try:
        process, root = _enter(pid)
    except OSError as error:
        return {path: [status_of(error), None, None, None] for path in paths}
    found = {path: _stat(root, path) for path in paths}
    if _start_time(process) != start_time:
        return {path: [ABSENT, None, None, None] for path in paths}
    return found


def _stat(root, path):
    try:
        handle = _walk(root, path, regular=False)
    except OSError as error:
        return [status_of(error), None, None, None]
    found = os.fstat(handle)
    os.close(handle)
    kind = "file" if stat.S_ISREG(found.st_mode) else "directory" if stat.S_ISDIR(found.st_mode) else "other"
    return [OK, kind, found.st_dev, found.st_ino]


def _look(pid, start_time, reads, finds):
    try:
        process, root = _enter(pid)
    except OSError as error:
        return _nothing(status_of(error), reads, finds)
    texts = {path: list(_read(root, path)) for path in reads}
    programs = {name: _find(root, name) for name in finds}
    if _start_time(process) != start_time:
        return _nothing(ABSENT, reads, finds)  # The pid was reused: the files do not belong to the requested process.
    return {"status": OK, "texts": texts, "programs": programs}


def _found(status, path=None, device=0, inode=0, modified=0):
    return {"status": status, "path": path, "device": device, "inode": inode, "modified": modified}


def _read_first(pid, start_time, paths, limit):
    """One line of JSON with the size of the bytes, followed by the bytes."""
    try:
        process, root = _enter(pid)
        found, data = _first(root, paths, limit)
        if _start_time(process) != start_time:
            found, data = _found(ABSENT), b""
    except OSError as error:
        found, data = _found(status_of(error)), b""
    return json.dumps(dict(found, size=len(data))).encode("utf-8") + b"\n" + data


def _first(root, paths, limit):
    for path in paths:
        try:
            handle = os.open("/proc/self/fd/%d" % _walk(root, path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if status_of(error) == ABSENT:
                continue
            return _found(status_of(error), path), b""
        about, data = os.fstat(handle), b""
        # A sparse file is not read at all; a file that grows while it is read is read up to the limit.
        while about.st_size <= limit and len(data) <= limit:
            chunk = os.read(handle, limit + 1 - len(data))
            if not chunk:
                return _found(OK, path, about.st_dev, about.st_ino, int(about.st_mtime)), data
            data += chunk
        return _found(UNPARSED, path), b""
    return _found(ABSENT), b""


def _start_time(process):
    try:
        handle = os.open("stat", os.O_RDONLY, dir_fd=process)
    except OSError:
        return None
    fields = os.read(handle, 4096).decode("utf-8", "replace").rpartition(")")[2].split()
    os.close(handle)
    return fields[19] if len(fields) > 19 else None


def _read(root, path):
    try:
        found = _walk(root, path)
        # The file that was checked is opened by its descriptor, not by its name: that could be a FIFO or a link by now.
        handle = os.open("/proc/self/fd/%d" % found, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return status_of(error), ""
    data = os.read(handle, FILE_LIMIT + 1)
    os.close(handle)
    return (UNPARSED, "") if len(data) > FILE_LIMIT else (OK, data.decode("utf-8", "replace"))


def _find(root, name):
    answer = "absent"
    for folder in BINARY_DIRECTORIES:
        try:
            found = _walk(root, folder + "/" + name)
            executable = os.fstat(found).st_mode & 0o111
            os.close(found)
            if executable:
                return "present"
        except OSError as error:
            if status_of(error) != ABSENT:
                answer = "unknown"
    return answer


def _walk(root, path, regular=True):
    """An O_PATH descriptor of `path` inside `root`, with `regular` only of regular files; links are resolved here,
    never by the kernel."""
    ahead, stack, links = [part for part in path.split("/") if part not in ("", ".")], [os.dup(root)], 0
    try:
        while ahead:
            part = ahead.pop(0)
            if part == "..":
                if len(stack) > 1:
                    os.close(stack.pop())
                continue
            handle = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=stack[-1])
            kind = os.fstat(handle).st_mode
            if stat.S_ISLNK(kind):
                os.close(handle)
                links += 1
                if links > LINKS_LIMIT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = os.readlink(part, dir_fd=stack[-1])
                if target.startswith("/"):
                    while len(stack) > 1:
                        os.close(stack.pop())
                ahead = [piece for piece in target.split("/") if piece not in ("", ".")] + ahead
                continue
            stack.append(handle)
            if not ahead:
                if regular and not stat.S_ISREG(kind):
                    raise OSError(errno.EINVAL, "not a regular file")
                return stack.pop()
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    finally:
        for handle in stack:
            os.close(handle)
