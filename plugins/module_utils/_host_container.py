# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading files of a container from the node. PRIVATE to the collection.

What a container holds is hostile: an absolute link below /proc/PID/root leads to the node's own files, a FUSE mount can
hang an open() for ever, a FIFO waits for a writer, the pid can belong to somebody else by now. So a child process goes
component by component from a held descriptor, follows links by itself and inside the container's root only, opens
regular files only, and is killed after two seconds. Nothing that lies in a container is ever executed.
"""

import errno
import json
import os
import select
import signal
import stat
import time

from . import _host

SECONDS = 2.0
FILE_LIMIT = 256 * 1024


def look_into(pid, start_time, reads, finds):
    """Read files and look for programs in the root of process C(pid).

    C(start_time) is field 22 of its /proc/PID/stat, so that a reused pid is noticed. C(reads) are absolute paths,
    C(finds) program names. Returns C({"status": ok | absent | denied | timeout | unparsed, "texts": {path: [status, text]},
    "programs": {name: present | absent | unknown}}).
    """
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receiver)
            os.setsid()
            answer = json.dumps(_look(str(int(pid)), start_time, reads, finds)).encode("utf-8")
            while answer:
                answer = answer[os.write(sender, answer):]
        finally:
            os._exit(0)
    os.close(sender)
    data, deadline = b"", time.monotonic() + SECONDS
    while True:
        ready = select.select([receiver], [], [], max(0.0, deadline - time.monotonic()))[0]
        chunk = os.read(receiver, 65536) if ready else b""
        if not chunk:
            break
        data += chunk
    os.close(receiver)
    os.kill(child, signal.SIGKILL)
    # A child that hangs in an uninterruptible call is not waited for: the look has to end.
    os.waitpid(child, 0 if ready else os.WNOHANG)
    try:
        return json.loads(data.decode("utf-8"))
    except ValueError:
        return _nothing(_host.TIMEOUT, reads, finds)


def _nothing(status, reads, finds):
    return {"status": status, "texts": dict((path, [status, ""]) for path in reads), "programs": dict((name, "unknown") for name in finds)}


def _look(pid, start_time, reads, finds):
    try:
        process = os.open("/proc/" + pid, os.O_RDONLY | os.O_DIRECTORY)
        root = os.open("root", os.O_RDONLY | os.O_DIRECTORY, dir_fd=process)
    except OSError as error:
        return _nothing(_host.status_of(error), reads, finds)
    texts = dict((path, list(_read(root, path))) for path in reads)
    programs = dict((name, _find(root, name)) for name in finds)
    if _start_time(process) != start_time:
        return _nothing(_host.ABSENT, reads, finds)  # Another process by now: what was read is not its own.
    return {"status": _host.OK, "texts": texts, "programs": programs}


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
        # What was looked at is opened, not its name again: that could be a FIFO or a link by now.
        handle = os.open("/proc/self/fd/%d" % found, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return _host.status_of(error), ""
    data = os.read(handle, FILE_LIMIT + 1)
    os.close(handle)
    return (_host.UNPARSED, "") if len(data) > FILE_LIMIT else (_host.OK, data.decode("utf-8", "replace"))


def _find(root, name):
    answer = "absent"
    for folder in _host.BINARY_DIRECTORIES:
        try:
            found = _walk(root, folder + "/" + name)
            executable = os.fstat(found).st_mode & 0o111
            os.close(found)
            if executable:
                return "present"
        except OSError as error:
            if _host.status_of(error) != _host.ABSENT:
                answer = "unknown"
    return answer


def _walk(root, path):
    """An O_PATH descriptor of the regular file C(path) inside C(root); links are read and walked here, never by the kernel."""
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
                if links > _host.LINKS_LIMIT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = os.readlink(part, dir_fd=stack[-1])
                if target.startswith("/"):
                    while len(stack) > 1:
                        os.close(stack.pop())
                ahead = [piece for piece in target.split("/") if piece not in ("", ".")] + ahead
                continue
            stack.append(handle)
            if not ahead:
                if not stat.S_ISREG(kind):
                    raise OSError(errno.EINVAL, "no regular file")
                return stack.pop()
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    finally:
        for handle in stack:
            os.close(handle)
