# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of what was changed for connection tracking, and how it is undone. PRIVATE to the collection.

Backups are written first, then the record as begun, then files and values, then the record as done. So a run that was killed is told by
its record, which names every file that may have been changed and what it was before.
"""

import json
import os

from . import _errors, _host_change
from ._collect._conntrack_now import RECORD
from ._flush_hooks_record_plan import FileChange

FOLDER = os.path.dirname(RECORD)
BACKUPS = FOLDER + "/files"
BEGUN, DONE = "begun", "done"
_SCHEMA = 1


class RecordChange(FileChange):
    """The record itself. Its counters of losses go on counting, so they are not shown."""

    def __init__(self, before, after):
        FileChange.__init__(self, RECORD, before, after, mode=0o600)

    def diff(self):
        return {"before_header": RECORD, "after_header": RECORD, "before": _shown(self.before), "after": _shown(self.after)}


class Record(object):
    """What earlier runs changed: C(entries) {path: entry}, C(live) {key: {"before", "after"}}, C(lost) when the limit was raised last, and
    C(begun), whether the last run did not come to its end."""

    def __init__(self, host):
        self._host = host
        self.text = _host_change.read_exactly(host, RECORD)
        held = _held(self.text) if self.text is not None else {"changed": {}, "live": {}, "lost": None, "state": DONE}
        self.entries, self.live, self.lost, self.begun = held["changed"], held["live"], held["lost"], held["state"] != DONE

    def change(self, entries, live, lost, state):
        """The RecordChange that makes it hold these, or None."""
        held = {"schema": _SCHEMA, "state": state, "changed": entries, "live": live, "lost": lost}
        after = json.dumps(held, indent=1, sort_keys=True) + "\n" if entries or live or lost else None
        return RecordChange(self.text, after) if after != self.text else None

    def write(self, entries, live, lost, state):
        """Make the record hold these."""
        change = self.change(entries, live, lost, state)
        if change:
            change.make(self._host)
            self.text = change.after

    def entries_with(self, changes):
        """The entries once C(changes) are made as well."""
        entries = dict(self.entries)
        for change in changes:
            entries[change.path] = change.entry(self._host, self.entries.get(change.path))
        return entries

    def live_with(self, values):
        """What was live before, once C(values) {key: (before, after)} are set as well."""
        live = dict(self.live)
        for key, (before, after) in values.items():
            former = live.get(key)
            live[key] = {"before": former["before"] if former and former["after"] == before else before, "after": after}
        return live

    def plan_undo(self):
        """([FileChange] that put all files back, [problem], entries that stay because of one)."""
        changes, problems, kept = [], [], {}
        for path, entry in sorted(self.entries.items()):
            try:
                changes.extend(self._undone(path, entry))
            except _errors.ChangeFailed as error:
                problems.append("%s is not put back: %s" % (path, error))
                kept[path] = entry
        return changes, problems, kept

    def _undone(self, path, entry):
        now = _host_change.read_exactly(self._host, path)
        digest = None if now is None else _host_change.digest(now)
        if digest == entry["before"]:
            return []  # A run was killed before it got there.
        if digest not in entry["after"]:
            raise _errors.ChangeFailed("it was %s since%s" % (
                "removed" if now is None else "changed", "; its former content is in " + _backup_path(entry["before"]) if entry["before"] else ""))
        return [FileChange(path, now, self._backup_of(entry["before"]) if entry["before"] else None)]

    def _backup_of(self, digest):
        text = _host_change.read_exactly(self._host, _backup_path(digest))
        if text is None or _host_change.digest(text) != digest:
            raise _errors.ChangeFailed("its backup %s is %s" % (_backup_path(digest), "gone" if text is None else "damaged"))
        return text

    def leftovers(self, entries):
        """Paths of what no entry speaks of: backups a run was killed before it could write down, and halves of a file."""
        wanted = set(entry["before"] for entry in entries.values())
        found = [_backup_path(name) for name in self._host.list_dir(BACKUPS)[1] if name not in wanted]
        return found + ["%s/%s" % (FOLDER, name) for name in self._host.list_dir(FOLDER)[1] if name.startswith(_host_change.TEMPORARY)]

    def tidy(self, entries):
        """Remove leftovers, and folders that were made and are empty again."""
        for path in self.leftovers(entries):
            _host_change.remove(self._host, path)
        self.remove_folders(self.entries, entries)
        for folder in ([] if entries else [BACKUPS, FOLDER, os.path.dirname(FOLDER)]):
            _host_change.remove_empty_folder(self._host, folder)

    def remove_folders(self, before, entries):
        """Folders that were made for files of C(before) of which C(entries) do not speak any more, where they are empty."""
        for path, entry in before.items():
            if entry.get("folder") and path not in entries:
                _host_change.remove_empty_folder(self._host, entry["folder"])


def write_backups(host, changes):
    """The former content of every file, before the record speaks of it."""
    for change in changes:
        if change.before is not None:
            path = _backup_path(_host_change.digest(change.before))
            if host.stat(path) is None or _host_change.read_exactly(host, path) != change.before:
                _host_change.replace(host, path, change.before, 0o600)


def _backup_path(digest):
    return "%s/%s" % (BACKUPS, digest)


def _held(text):
    try:
        held = json.loads(text)
        for path, entry in held["changed"].items():
            if not path.startswith("/") or not isinstance(entry["before"], (str, type(None))) or not isinstance(entry["after"], list):
                raise ValueError(path)
        for key, values in held["live"].items():
            if not isinstance(values["before"], int) or not isinstance(values["after"], int):
                raise ValueError(key)
        return {"changed": dict(held["changed"]), "live": dict(held["live"]), "lost": held["lost"], "state": held["state"]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _errors.ChangeFailed("%s is damaged, so what was changed is not known; move it away to go on without undoing" % RECORD) from error


def _shown(text):
    if text is None:
        return ""
    held = json.loads(text)
    return json.dumps(dict(held, lost="counted when the limit was raised" if held["lost"] else None), indent=1, sort_keys=True) + "\n"
