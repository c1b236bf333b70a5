# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of files that can be undone byte for byte, and the record of them. PRIVATE to the collection.

Backups are written first, then the record, then the changes. So whatever a run is killed at, the record names every file that may have
been changed, what it was before, and everything it may be now; a file that is anything else was changed by somebody else since.
"""

import json
import os

from . import _errors, _host_change
from ._hooks.changed_lines import changed_lines

FOLDER = "/var/lib/kubenode-netfilter/flush_hooks"
RECORD = FOLDER + "/record.json"
BACKUPS = FOLDER + "/files"
NULL = "/dev/null"
_SCHEMA = 1


class FileChange(object):
    """One file: C(before) and C(after) are its texts, None where it does not exist. C(unit) is whose drop-in it is."""

    def __init__(self, path, before, after, unit=None, mode=0o644):
        self.path = path
        self.before = before
        self.after = after
        self.unit = unit
        self.mode = mode

    def make(self, host):
        if self.after is None:
            _host_change.remove(host, self.path)
        else:
            _host_change.replace(host, self.path, self.after, self.mode)

    def diff(self):
        before, after = changed_lines(self.before, self.after)
        return {"before_header": self.path, "after_header": self.path, "before": before, "after": after}

    def entry(self, host, former):
        """What the record says of it; of a file that was changed before, what it was before that."""
        ours = former is not None and self.before is not None and _host_change.digest(self.before) in former.get("after", ())
        folder = os.path.dirname(self.path)
        return {
            "kind": "file", "unit": self.unit, "before": former["before"] if ours else _digest(self.before),
            "after": sorted(set(former["after"] if ours else ()) | {_host_change.digest(self.after)}),
            "folder": folder if not host.exists(folder) or (ours and former["folder"]) else None,
        }

    def backup(self):
        return self.before


class MaskChange(object):
    """A unit that is masked: a link to /dev/null at C(path), where nothing was; C(after) false takes it away again."""

    def __init__(self, path, unit, after=True):
        self.path = path
        self.unit = unit
        self.after = after

    def make(self, host):
        if self.after:
            _host_change.make_link(host, self.path, NULL)
        else:
            _host_change.remove(host, self.path)

    def diff(self):
        texts = ("", "link to %s\n" % NULL)
        return {"before_header": self.path, "after_header": self.path, "before": texts[not self.after], "after": texts[bool(self.after)]}

    def entry(self, _host, _former):
        return {"kind": "mask", "unit": self.unit}

    @staticmethod
    def backup():
        return None


class Record(object):
    """What earlier runs changed: C(entries) {path: entry}. C(found) is whether there is a record at all."""

    def __init__(self, host):
        self._host = host
        self._text = _host_change.read_exactly(host, RECORD)
        self.entries = {}
        if self._text is not None:
            self.entries = _entries(self._text)

    @property
    def found(self):
        return self._text is not None

    def file_change(self, entries):
        """FileChange of the record itself that makes it hold C(entries), or None."""
        after = json.dumps({"schema": _SCHEMA, "changed": entries}, indent=1, sort_keys=True) + "\n" if entries else None
        return FileChange(RECORD, self._text, after, mode=0o600) if after != self._text else None

    def entries_with(self, changes):
        """The entries once C(changes) are made as well."""
        entries = dict(self.entries)
        for change in changes:
            entries[change.path] = change.entry(self._host, self.entries.get(change.path))
        return entries

    def backup_of(self, digest):
        """Text of a backup. Raises ChangeFailed where it is gone or damaged."""
        text = _host_change.read_exactly(self._host, backup_path(digest))
        if text is None or _host_change.digest(text) != digest:
            raise _errors.ChangeFailed("its backup %s is %s" % (backup_path(digest), "gone" if text is None else "damaged"))
        return text


def _entries(text):
    try:
        entries = json.loads(text)["changed"]
        for path, entry in entries.items():
            if not path.startswith("/") or entry["kind"] not in ("file", "mask", "diverted"):
                raise ValueError(path)
            if entry["kind"] != "mask" and not (isinstance(entry["before"], (str, type(None))) and isinstance(entry["after"], list)):
                raise ValueError(path)
        return dict(entries)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _errors.ChangeFailed("%s is damaged, so what was changed is not known; move it away to go on without undoing" % RECORD) from error


def backup_path(digest):
    return "%s/%s" % (BACKUPS, digest)


def _digest(text):
    return None if text is None else _host_change.digest(text)


def plan_undo(host, record, wanted):
    """(changes, entries that stay, [(path, problem)]) of putting back what C(wanted(path, unit)) says."""
    changes, kept, problems = [], {}, []
    for path, entry in sorted(record.entries.items()):
        try:
            undo = _undone(host, record, path, entry) if wanted(path, entry.get("unit")) else None
        except _errors.ChangeFailed as error:
            problems.append((path, "%s is not put back: %s" % (path, error)))
            undo = None
        if undo is None:
            kept[path] = entry
        else:
            changes.extend(undo)
    return changes, kept, problems


def _undone(host, record, path, entry):
    """[change] that puts one path back; none where it is as it was, since a run was killed before it got there."""
    if entry["kind"] == "mask":
        if host.read_link(path) == NULL:
            return [MaskChange(path, entry["unit"], after=False)]
        if not host.exists(path) and host.read_link(path) is None:
            return []
        raise _errors.ChangeFailed("it was changed since; it is no link to %s any more" % NULL)
    now = _host_change.read_exactly(host, path)
    if entry["kind"] == "diverted":
        from ._flush_hooks_divert_plan import undone
        return undone(host, record, path, entry, now)
    if _digest(now) == entry["before"]:
        return []
    if now is None or _host_change.digest(now) not in entry["after"]:
        raise _errors.ChangeFailed("it was %s since%s" % (
            "removed" if now is None else "changed", "; its former content is in " + backup_path(entry["before"]) if entry["before"] else ""))
    before = record.backup_of(entry["before"]) if entry["before"] else None
    return [FileChange(path, now, before, entry["unit"])]


def write_backups(host, changes):
    """The former content of every file, before the record speaks of it."""
    for change in changes:
        text = change.backup()
        if text is not None:
            path = backup_path(_host_change.digest(text))
            if host.stat(path) is None or _host_change.read_exactly(host, path) != text:
                _host_change.replace(host, path, text, 0o600)


def leftovers(host, entries):
    """Paths of what no entry speaks of: backups that a run was killed before it could write down, and halves of a file."""
    wanted = set(entry.get("before") for entry in entries.values())
    found = [backup_path(name) for name in host.list_dir(BACKUPS)[1] if name not in wanted]
    return found + ["%s/%s" % (FOLDER, name) for name in host.list_dir(FOLDER)[1] if name.startswith(_host_change.TEMPORARY)]


def tidy(host, before, entries):
    """Remove leftovers, and folders that were made and are empty again."""
    for path in leftovers(host, entries):
        _host_change.remove(host, path)
    folders = [entry["folder"] for path, entry in before.items() if entry.get("folder") and path not in entries]
    for folder in folders + ([] if entries else [BACKUPS, FOLDER, os.path.dirname(FOLDER)]):
        _host_change.remove_empty_folder(host, folder)
