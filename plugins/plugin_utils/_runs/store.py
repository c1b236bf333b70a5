# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report files on the controller. PRIVATE to the collection.

A user who can write to the report folder can forge reports, and can use a link to make this process write to another
path. So the folder and its subfolders are opened once, are not symbolic links, belong to the user who runs Ansible, and
are writable by that user alone; files are created relative to the opened folders. Each file is written into the folder
of its run and then hard-linked into the report folder.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
import urllib.parse
from typing import NamedTuple

from ...module_utils._conntrack.size import MOST
from ...module_utils._errors import BadInput
from .. import _run
from .._needs import conntrack
from .._render.files import FILES, LIMIT
from . import history, pseudonyms
from .history import FLEET

# With all evidence a report is far below that.
_READ_LIMIT = 4 * 1024 * 1024
# File systems accept names of 255 bytes. A name over _NAME_LIMIT is cut and gets a digest, which makes it longer than
# any name without a digest.
_NAME_LIMIT = 200
_NAME_PART = 150
_NODES = "nodes"
_SHARED = "shared"
_PSEUDONYMS = "pseudonyms.json"
COMPARED = {"html": "changes.html", "json": "changes.json", "markdown": "changes.md"}
_OURS = {FLEET, LIMIT, _NODES, _SHARED, _PSEUDONYMS, history.RUNS, history.LATEST, *COMPARED.values(),
         *(name for name, _render in FILES.values())}


class Folder(NamedTuple):
    """A report folder that is open: its path, and descriptors of it, of `nodes` below it, of `runs`, and of the folder
    of this run and its `nodes`."""

    path: str
    handle: int
    nodes: int
    runs: int
    run: int
    run_nodes: int


def file_name(host: str) -> str:
    """The file name for any inventory name: no path, no hidden file, not too long, different for each host."""
    quoted = urllib.parse.quote(host, safe="", errors="surrogatepass") or "%"
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    if len(quoted) > _NAME_LIMIT:
        quoted = "%s~%s" % (quoted[:_NAME_PART], hashlib.sha256(quoted.encode("ascii")).hexdigest())
    return quoted + ".json"


def node_path(folder: str, host: str) -> str:
    """Where the report of a host is kept."""
    return os.path.join(os.path.abspath(os.path.expanduser(folder)), _NODES, file_name(host))


def earlier_conntrack(folder: str, host: str) -> dict:
    """`{"peak", "losses"}` in an earlier report of a host: the peak of connections, 0 if there is no report or if its
    value is not valid, and the state of open_losses(), or None."""
    try:
        handle = os.open(node_path(folder, host), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            found = os.fstat(handle)
            text = stream.read(_READ_LIMIT) if stat.S_ISREG(found.st_mode) and found.st_size <= _READ_LIMIT else b""
        report = json.loads(text)
        peak, losses = report["conntrack_peak"], report.get("conntrack_losses")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {"peak": 0, "losses": None}
    valid = isinstance(peak, int) and not isinstance(peak, bool) and 0 <= peak <= MOST
    return {"peak": peak if valid else 0, "losses": losses if conntrack.is_state(losses) else None}


@contextlib.contextmanager
def opened(folder):
    """The Folder at a path, open for writing and created if it is missing. Raises BadInput if that is not possible or
    not safe."""
    with contextlib.ExitStack() as stack:
        handle = _held_top(stack, folder)
        nodes = _held_below(stack, folder, _NODES, handle)
        runs = _held_below(stack, folder, history.RUNS, handle)
        run = _held_run(stack, folder, handle, runs)
        run_nodes = _held_below(stack, os.path.join(folder, history.RUNS, _run.ID), _NODES, run)
        yield Folder(folder, handle, nodes, runs, run, run_nodes)


def write_beside(folder: Folder, texts: dict[str, str]) -> list[str]:
    """Writes files that belong to no run into a report folder. Returns their paths. Raises BadInput."""
    with contextlib.ExitStack() as stack:
        handle = _held_top(stack, folder)
        return [_write(handle, os.path.join(folder, name), text) for name, text in texts.items()]


def write_shared(folder, pseudonyms_of):
    """Writes the copy of a run that has pseudonyms, below `shared`, and beside it the mapping, which must not be
    shared; `pseudonyms_of` takes the mapping so far and returns (mapping, {host: text}, {file: text}). Returns the path
    of the copy. Raises BadInput."""
    path = os.path.join(folder, _SHARED)
    with contextlib.ExitStack() as stack:
        top = _held_top(stack, folder)
        shared = _held_below(stack, folder, _SHARED, top)
        nodes = _held_below(stack, path, _NODES, shared)
        # The lock prevents that two runs into one folder use a pseudonym twice.
        fcntl.flock(shared, fcntl.LOCK_EX)
        known, of_nodes, texts = pseudonyms_of(_earlier_mapping(folder, top))
        _write(top, os.path.join(folder, _PSEUDONYMS), json.dumps(known, indent=1, sort_keys=True) + "\n")
        for host, text in of_nodes.items():
            _write(nodes, os.path.join(path, _NODES, file_name(host)), text)
        for name, text in texts.items():
            _write(shared, os.path.join(path, name), text)
    return path


def _earlier_mapping(folder, top):
    """The mapping of earlier runs; empty if there is no mapping."""
    path = os.path.join(folder, _PSEUDONYMS)
    try:
        handle = os.open(_PSEUDONYMS, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadInput("%s could not be read: %s" % (path, error.strerror)) from None
    try:
        with os.fdopen(handle, encoding="ascii") as stream:
            return pseudonyms.checked(json.loads(stream.read()))
    except (OSError, ValueError, RecursionError):
        raise BadInput("%s is not a mapping of pseudonyms; remove it to create new ones" % path) from None


def _held_top(stack, folder):
    """A descriptor of a report folder, which is created if it is missing."""
    _make_parents(folder)
    handle = _held(stack, folder, folder, None)
    if _writable_by_others(handle):
        # A folder with other files, such as /tmp, is not a report folder: its mode must not be changed.
        _make_safe(handle, folder, set(os.listdir(handle)) <= _OURS)
    return handle


def _held_run(stack, folder, handle, runs):
    """A descriptor of the folder of this run, locked and with its number. A process that removes old runs holds the
    lock on the report folder, and would mistake a new folder without lock and number for an old run."""
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        run = _held_below(stack, os.path.join(folder, history.RUNS), _run.ID, runs)
        fcntl.flock(run, fcntl.LOCK_SH)
        if history.number_of(runs, _run.ID) is None:
            _write(run, os.path.join(folder, history.RUNS, _run.ID, history.ORDER),
                   "%d\n" % history.next_number(runs))
        return run
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def _held_below(stack, folder, name, around):
    """A descriptor of a subfolder of the report folder, made safe if other users may write to it."""
    path = os.path.join(folder, name)
    handle = _held(stack, path, name, around)
    if _writable_by_others(handle):
        _make_safe(handle, path, True)
    return handle


def _make_parents(folder):
    """Creates the missing parent folders, writable by their owner alone with any umask."""
    missing, path = [], os.path.dirname(folder)
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    try:
        for path in reversed(missing):
            os.mkdir(path, 0o755)
    except OSError as error:
        raise BadInput("The report folder %s could not be created: %s" % (folder, _why(error))) from None


def _held(stack, path, name, around):
    """A descriptor of a folder that is not a link and belongs to this user; the folder is created if it is missing."""
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=around)
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=around)
    except OSError as error:
        if os.path.islink(path):
            raise BadInput("The report folder %s is a symbolic link; set node_report_folder to a real folder"
                           % path) from None
        raise BadInput("The report folder %s could not be created: %s" % (path, _why(error))) from None
    stack.callback(os.close, handle)
    owner = os.fstat(handle).st_uid
    if owner != os.geteuid():
        raise BadInput("The report folder %s belongs to the user with id %d, who can change reports; set "
                       "node_report_folder to a folder of your own" % (path, owner))
    return handle


def _writable_by_others(handle):
    return bool(os.fstat(handle).st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _make_safe(handle, path, ours):
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    if not ours or mode & stat.S_ISVTX:
        raise BadInput("The report folder %s is writable by other users, who can change reports; set "
                       "node_report_folder to a folder of your own, or run: chmod go-w %s" % (path, path))
    try:
        os.fchmod(handle, mode & ~(stat.S_IWGRP | stat.S_IWOTH))
    except OSError as error:
        raise BadInput("The report folder %s is writable by other users, and its mode could not be changed: %s"
                       % (path, error.strerror)) from None


def write_fleet(folder, fleet, texts, newer=True, keep=None):
    """Writes `texts`, the files of the run by name with `fleet` as fleet.json among them, into a Folder; returns their
    paths, that of the roll-up first, and whether it is the first roll-up of its run without a pending host. With such a
    roll-up the run is complete, and `keep` - 1 of the earlier runs are kept.

    If hosts report one by one, each writes the state at the start of its task. Then (`newer` is false) a roll-up of the
    same run with fewer pending hosts stays. Raises BadInput.
    """
    paths, pending = [os.path.join(folder.path, name) for name in texts], fleet["totals"]["pending"]
    # Other workers of the run wait; closing the descriptor also releases the lock.
    fcntl.flock(folder.handle, fcntl.LOCK_EX)
    try:
        before = None if newer else _earlier_pending(folder, fleet["run"])
        if before is not None and before < pending:
            return paths, False
        for path, text in zip(paths, texts.values()):
            _write(folder.run, path, text)
        for path, text in zip(paths, texts.values()):
            _put(folder.run, folder.handle, path, text)
        _point_latest(folder)
        if keep and not pending:
            history.prune(folder.runs, _run.ID, keep)
        return paths, not pending and before != 0
    finally:
        fcntl.flock(folder.handle, fcntl.LOCK_UN)


def _earlier_pending(folder, run):
    """The number of pending hosts in the existing roll-up of the same run; None without such a roll-up."""
    try:
        handle = os.open(FLEET, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.handle)
        with os.fdopen(handle, encoding="ascii") as stream:
            fleet = json.loads(stream.read())
        return fleet["totals"]["pending"] if fleet["run"] == run else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_node(folder: Folder, host: str, text: str) -> str:
    """Writes the report of a host into a Folder. Returns its path. Raises BadInput."""
    path = os.path.join(folder.path, _NODES, file_name(host))
    _write(folder.run_nodes, path, text)
    return _put(folder.run_nodes, folder.nodes, path, text)


def _point_latest(folder):
    try:
        history.point_latest(folder.handle, _run.ID)
    except OSError as error:
        raise BadInput("The link %s to the last run could not be created: %s"
                       % (os.path.join(folder.path, history.LATEST), error.strerror)) from None


def _write(handle, path, text):
    """Replaces a file as a whole, readable by its owner only; a half-written file never stays."""
    def write(temporary):
        target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600,
                         dir_fd=handle)
        with os.fdopen(target, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)

    return _replaced(handle, path, write)


def _put(source, handle, path, text):
    """Hard-links a file of the folder `source` into another folder; writes it again if the file system has no hard
    links."""
    try:
        return _replaced(handle, path, lambda temporary: os.link(
            os.path.basename(path), temporary, src_dir_fd=source, dst_dir_fd=handle, follow_symlinks=False))
    except BadInput:
        return _write(handle, path, text)


def _replaced(handle, path, make):
    """Replaces a file by the one that `make` creates under a temporary name."""
    name, temporary = os.path.basename(path), ".report-" + secrets.token_hex(8)
    try:
        try:
            make(temporary)
            os.replace(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=handle)
            raise
    except OSError as error:
        raise BadInput("The report %s could not be written: %s" % (path, _why(error))) from None
    return path


def _why(error):
    """The text of an error, with the next step where no space is left."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return error.strerror + ("; free some, or set node_report_folder to a folder with room" if full else "")
