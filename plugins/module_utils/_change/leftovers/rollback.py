# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cleans tables while a rollback waits on the node, and confirms the cleaning. PRIVATE to the collection.

The rules are restored by a process that outlives the module, so everything it needs is imported here and kept in
memory.
"""

import json
import time

from ... import _errors
from ..._host import detached, feed, write
from ..._host.caller import STATE
from ..backends.record import FOLDER, ROLLBACK, read_save
from ..ours import read_ours, refuse_of_others
from ..record import settled_names
from .raw_dump import DumpError, read_dump
from .result import empty_result

# The legacy backend shares a lock with all programs that write rules; kube-proxy releases it within seconds.
LOCK_SECONDS = 10
# A transaction over 100,000 rules takes three seconds on a slow machine.
RESTORE_SECONDS = 60.0
_ATTEMPTS, _PAUSE_SECONDS = 30, 10.0


class Cleaning:
    """One table: its `removal`, and the programs that print and restore it; `text` is the dump before."""

    def __init__(self, backend, family, removal, save, restore, text):
        self.backend = backend
        self.family = family
        self.removal = removal
        self.save = save
        self.restore = restore
        self.text = text

    def clean(self, host):
        """None, or why it failed; then this table is unchanged."""
        return self._feed(host, self.removal.text(), [])

    def left(self, host):
        """Read the table again; None where all removed chains are gone."""
        try:
            raw = self._now(host)
        except _errors.ChangeFailed as error:
            return str(error)
        left = [chain for chain in self.removal.chains if raw is not None and chain in raw.chains]
        return "chain %s still exists" % left[0] if left else None

    def put_back(self, host):
        """None, or why it failed. Existing chains stay as they are, so it may be repeated."""
        try:
            text = self.removal.back(self._now(host))
        except _errors.ChangeFailed as error:
            return str(error)
        return self._feed(host, text, ["--counters"]) if text else None

    def _now(self, host):
        try:
            return read_dump(read_save(host, self.save)).get(self.removal.table)
        except DumpError as error:
            raise _errors.ChangeFailed("its rules could not be read: %s" % error) from error

    def _feed(self, host, text, options):
        # The nft backend takes the option and has no lock: the kernel serialises its transactions.
        argv = self.restore + ["--noflush", "-w", str(LOCK_SECONDS)] + options
        return feed.feed(host, argv, text, LOCK_SECONDS + RESTORE_SECONDS)


class Rollback:
    """`work` [Cleaning] under one token."""

    def __init__(self, host, boot_id, work, seconds):
        self.work = work
        self._host = host
        self._boot_id = boot_id
        self._seconds = seconds
        self._token = None
        self._pid = None

    def state(self):
        return {"token": self._token, "seconds": self._seconds, "pid": self._pid, "state": detached.ARMED if self._token
                else None, "path": detached.path_of(ROLLBACK, self._token, detached.RESTORED) if self._token else None}

    def must_be_writable(self):
        problem = write.may_write(self._host, detached.path_of(ROLLBACK, "0" * 16, detached.ARMED))
        if problem:
            raise _errors.ChangeFailed(problem + ". Nothing was changed")

    def arm(self):
        """Write the dumps first, for a manual restore; then start the process. Raises ChangeFailed; then nothing has
        changed."""
        waiting = still_armed(self._host, self._boot_id)
        if waiting:
            raise _errors.ChangeFailed("another run is cleaning this node (token %s). Nothing was changed" % waiting)
        token = detached.new_token()
        armed = {"schema": 1, "boot_id": self._boot_id, "seconds": self._seconds,
                 "tables": [{"backend": each.backend, "family": each.family, "table": each.removal.table}
                            for each in self.work]}
        try:
            _forget(self._host)
            for each in self.work:
                write.replace(self._host, "%s/%s.%s-%s.rules" % (ROLLBACK, token, each.backend, each.family), each.text,
                              0o600)
            self._pid = detached.arm(self._host, ROLLBACK, token, armed, self._seconds, self._restore)
        except _errors.ChangeFailed as error:
            self._disarm()
            raise _errors.ChangeFailed("%s. Nothing was changed" % error) from error
        self._token = token

    def _disarm(self):
        """Remove the prepared files; a process that starts late exits where its file is gone."""
        try:
            _forget(self._host)
            write.remove_empty_folders(self._host, [ROLLBACK, FOLDER, STATE])
        except _errors.ChangeFailed:
            pass  # The next run removes it.

    def _restore(self):
        """Put everything back, table by table. A table that cannot be put back, for example because of a held lock, is
        tried again."""
        waiting, rows = list(self.work), []
        for attempt in range(_ATTEMPTS):
            problems = [(each, each.put_back(self._host)) for each in waiting]
            rows += [_row(each, None) for each, problem in problems if not problem]
            waiting = [each for each, problem in problems if problem]
            if not waiting:
                break
            if attempt + 1 < _ATTEMPTS:
                time.sleep(_PAUSE_SECONDS)
        return {"restored": rows + [_row(each, problem) for each, problem in problems if problem],
                "failed": bool(waiting), "msg": ""}

    def back_now(self):
        """Put everything back without waiting; returns (whether something is not put back, a sentence for the user).
        The process on the node is not stopped."""
        problems = [problem for problem in [each.put_back(self._host) for each in self.work] if problem]
        if problems:
            return True, "Not all rules could be put back yet (%s); the node tries again after %d seconds" % (
                problems[0], self._seconds)
        detached.claim(ROLLBACK, self._token, detached.CONFIRMED)
        return False, "All rules were put back"


def _row(each, problem):
    return {"backend": each.backend, "family": each.family, "table": each.removal.table, "problem": problem}


def still_armed(host, boot_id):
    """Token of a process that waits now, or None; a process of an earlier boot is gone."""
    refuse_of_others(host, ROLLBACK)
    for name in host.list_dir(ROLLBACK)[1]:
        token, _dot, state = name.partition(".")
        if state not in (detached.ARMED, detached.RESTORING):
            continue
        armed = _read(host, token, state)
        if (armed.get("boot_id") == boot_id and armed.get("started")
                and detached.start_time_of(armed.get("pid") or 0) == armed["started"]):
            return token
    return None


def _forget(host):
    """Remove the files of earlier rollbacks, none of which waits any more."""
    write.remove_leftovers(host, [ROLLBACK])
    for name in settled_names(host, ROLLBACK):
        write.remove(host, "%s/%s" % (ROLLBACK, name))


def _read(host, token, state):
    try:
        armed = json.loads(read_ours(host, detached.path_of(ROLLBACK, token, state)) or "")
    except ValueError:
        return {}
    return armed if isinstance(armed, dict) else {}


def confirm(host, token, check_mode):
    """Cancel a rollback by its token; returns the result of the module. Raises ChangeFailed where it has already
    run."""
    if not detached.TOKEN.match(token):
        raise _errors.BadInput("%r is not a rollback token; give rollback.token of the run that removed chains" % token)
    state = _state_of(host, token)
    changed = state == detached.ARMED
    if changed and not check_mode and not detached.claim(ROLLBACK, token, detached.CONFIRMED):
        state = _state_of(host, token)
        if state == detached.ARMED:
            raise _errors.ChangeFailed("%s cannot be written, so the rollback cannot be cancelled" % ROLLBACK)
    if state is None:
        raise _errors.ChangeFailed("this node has no rollback with the token %s" % token)
    if state in (detached.RESTORING, detached.RESTORED):
        raise _errors.ChangeFailed("the node has put the removed rules back, because it was not confirmed in time; see "
                                   "%s" % (
                                       detached.path_of(ROLLBACK, token, state)))
    armed = _read(host, token, state if check_mode or not changed else detached.CONFIRMED)
    rollback = {"token": token, "seconds": armed.get("seconds"), "pid": armed.get("pid"), "state": detached.CONFIRMED,
                "path": detached.path_of(ROLLBACK, token, detached.CONFIRMED)}
    return dict(empty_result(), confirmed=True, rollback=rollback, changed=changed, diff=[])


def _state_of(host, token):
    return next((state for state in reversed(detached.STATES) if host.exists(detached.path_of(ROLLBACK, token, state))),
                None)
