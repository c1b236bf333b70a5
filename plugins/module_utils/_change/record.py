# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a module's changes, which an undo reads.

All modules use one format, each in `record.json` of its own folder below STATE: `schema`, `changed` {path: entry} (for
iptables_backend {name of a group of programs: entry}), `folders` that were created, and keys of the module's own. An
entry has `time` and `by`, the user, of its first change, `after`, the digests that the file may have now, and `before`:
the digest of its former bytes, which are in `files/<digest>`, and its mode, owner and extended attributes. Records of
schema 1 lack time, user, mode, owner and attributes; they can be read, and the next change writes them in the new
schema.

Backups are written first, then the record, then the changes. So wherever a run is killed, the record names every file
that may have changed, its former state, and every state that it may have now. A file in any other state was changed by
another program or user since."""

import collections
import json
import re
import time

from .. import _errors
from .._host import apart, lock, write as host_write
from .._host.host import TEMPORARY, TEXT_LIMIT
from .._host.notes import STATE, caller
from .files import UNKNOWN_STATE, FileChange, RecordChange, digest_of, each_of, read_ours

_SCHEMA = 2
_MODE = re.compile(r"[0-7]{4}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_HEX = re.compile(r"(?:[0-9a-f]{2})*\Z")

# The contents of a record: `entries` {path: entry}, `folders` that runs made, and `more` of the module's own.
Contents = collections.namedtuple("Contents", "entries folders more")


class Record:
    """The changes of a module's earlier runs. `folder` holds the record and its backups, `places` are directories the
    module always writes to, `limit` is the size of the largest file it changes."""

    folder = None
    places = ()
    limit = TEXT_LIMIT

    def __init__(self, host):
        self._host = host
        self.path, self.backups = self.folder + "/record.json", self.folder + "/files"
        self.text = read_ours(host, self.path)
        self.held = self._read() if self.text is not None else Contents({}, [], {})
        # One sentence for each file that is put back and whose mode or owner others have changed.
        self.notices = []

    @property
    def entries(self):
        return self.held.entries

    def _read(self):
        try:
            held = json.loads(self.text)
            if isinstance(held.get("schema"), int) and held["schema"] > _SCHEMA:
                raise _errors.ChangeFailed("%s has schema %d, which this version cannot read; use the version that "
                                           "wrote it" % (self.path, held["schema"]))
            changed = held["changed"]
            if held.get("schema") != _SCHEMA:
                changed = {path: dict(self.upgraded(entry), time=None, by=None) for path, entry in changed.items()}
            if not (all({type(entry["time"]), type(entry["by"])} <= {str, type(None)} and self.is_sound(path, entry)
                        for path, entry in changed.items()) and all(is_path(path) for path in held["folders"])):
                raise ValueError(self.path)
            return Contents(dict(changed), list(held["folders"]), self.read_more(held))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _errors.ChangeFailed(
                "the record %s is damaged, so the earlier changes are not known; move it away to continue without undo"
                % self.path) from error

    # Keys besides files in the records of some modules.

    def read_more(self, _held):
        """The module's own part of a record. Raises ValueError, KeyError or TypeError where it is damaged."""
        return {}

    def upgraded(self, entry):
        """An entry of schema 1, whose `before` is the digest alone, in schema 2 but without time and user."""
        digest = entry.get("before")
        if not isinstance(digest, (str, type(None))):
            raise ValueError(digest)
        return dict(entry, before=None if digest is None else dict(UNKNOWN_STATE, digest=digest))

    def is_sound(self, path, entry):
        """Whether this module can have written the entry."""
        return (is_path(path) and entry["kind"] == "file" and isinstance(entry["unit"], (str, type(None)))
                and isinstance(entry["after"], list)
                and all(isinstance(digest, (str, type(None))) for digest in entry["after"])
                and (entry["before"] is None or _is_state(entry["before"])))

    def undone(self, path, entry):
        """[change] that puts one path back; empty where it has its former state. Raises ChangeFailed where it
        was changed since."""
        now = host_write.read_exactly(self._host, path, self.limit)
        before = backup_in(entry)
        if digest_of(now) == before:
            return []  # The run was killed before it changed the file.
        if digest_of(now) not in entry["after"]:
            raise _errors.ChangeFailed(
                "it was %s since; %s" % (
                    "removed" if now is None else "changed", "its former content is in " + self._backup_path(before)
                    if before else "there was no such file before, so remove it by hand if it is not needed"))
        if before:
            self.notices += _state_notices(path, entry["before"], host_write.state_of(self._host, path))
        state = entry["before"] if before and entry["before"]["mode"] is not None else None
        return [FileChange(path, now, self.backup_of(before) if before else None, entry["unit"], state=state)]

    def has_more(self, more):
        """Whether `more` is reason enough to keep the record."""
        return bool(more)

    # Planned contents.

    def with_changes(self, changes, more=None):
        """Contents once `changes` are made as well."""
        entries = dict(self.entries)
        for change in changes:
            state = host_write.state_of(self._host, change.path)
            entries[change.path] = self.stamped(change.path, change.entry(self.entries.get(change.path), state))
        return self.with_folders(Contents(entries, self.held.folders, more or {}), [change.path for change in changes])

    def stamped(self, key, entry):
        """An entry with time and user. They stay those of its first change as long as `before` is the same."""
        former = self.entries.get(key)
        if former is not None and former.get("before") == entry.get("before"):
            return dict(entry, time=former["time"], by=former["by"])
        return dict(entry, time=_now(), by=caller())

    def with_folders(self, contents, paths):
        """Contents with the directories that are made for `paths`, and for the record where there is one."""
        missing = set(host_write.missing_folders(self._host, paths))
        if missing or self.text_of(contents) is not None:
            missing.update(host_write.missing_folders(self._host, [self.path]))
        outside = {folder for folder in missing if not (folder + "/").startswith(STATE + "/")}
        return contents._replace(folders=sorted(outside.union(contents.folders)))

    def with_entries(self, entries, more=None):
        """Contents once an undo has left only `entries`."""
        contents = Contents(entries, [], more or {})
        if self.text_of(contents) is None:
            return contents
        # Only the entries that stay and the record itself need directories.
        return contents._replace(folders=[folder for folder in self.held.folders if _is_above(folder)
                                          or any(path.startswith(folder + "/") for path in entries)])

    def text_of(self, contents):
        if not contents.entries and not contents.folders and not self.has_more(contents.more):
            return None
        held = dict(contents.more, schema=_SCHEMA, changed=contents.entries, folders=contents.folders)
        return json.dumps(held, indent=1, sort_keys=True) + "\n"

    def file_change(self, contents):
        """FileChange that writes `contents` into the record itself, or None."""
        after = self.text_of(contents)
        # A record of schema 1 stays as it is until something changes.
        same = after == self.text or (self.text is not None and after == self.text_of(self.held))
        return None if same else self.change_of(self.text, after)

    def change_of(self, before, after):
        return RecordChange(self.path, before, after, mode=0o600)

    def backup_of(self, digest):
        """Text of a backup. Raises ChangeFailed where it is gone or damaged."""
        path = self._backup_path(digest)
        text = read_ours(self._host, path, self.limit)
        if text is None or host_write.digest(text) != digest:
            raise _errors.ChangeFailed("its backup %s is %s" % (path, "missing" if text is None else "damaged"))
        return text

    def _backup_path(self, digest):
        return "%s/%s" % (self.backups, digest)

    def leftovers(self, contents, changes=()):
        """Leftovers of killed runs: backups that `contents` do not name, half-written files, and the record's
        directories where there is no record."""
        found = self.unnamed(contents) + apart.leftovers(self._host, self.worked_in(changes))
        if self.text is None and self.text_of(contents) is None:
            found += [folder for folder in self.own_folders() + [self.folder, STATE] if self._is_emptied(folder, found)]
        return found

    def own_folders(self):
        """Directories of ours beside the record."""
        return [self.backups]

    def unnamed(self, contents):
        """Paths of backups that `contents` do not name."""
        wanted = {backup_in(entry) for entry in contents.entries.values()}
        return [self._backup_path(name) for name in settled_names(self._host, self.backups) if name not in wanted]

    def _is_emptied(self, folder, gone):
        """Whether a directory holds only paths that are in `gone`, and directories of ours with only such paths."""
        inside = ["%s/%s" % (folder, name) for name in self._host.list_dir(folder)[1]]
        return self._host.is_dir(folder) and all(
            path in gone or (path in self.own_folders() + [self.folder] and self._is_emptied(path, gone))
            for path in inside)

    def worked_in(self, changes):
        """Directories in which a run may have been killed."""
        paths = [change.path for change in changes] + list(self.entries)
        return set([self.folder,
                    self.backups] + list(self.places) + [host_write.folder_of(self._host, path) for path in paths])

    # Writing the record.

    def write(self, contents):
        """Write `contents` into the record. Raises ChangeFailed."""
        change = self.file_change(contents)
        if change:
            change.make(self._host)
            self.text = change.after
        self.held = contents

    def refuse_stale(self):
        """Raises ChangeFailed without the lock of the tree, and where a run that has another /run wrote the record
        since it was read: its entries would be lost."""
        lock.must_be_held(self._host)
        if host_write.read_exactly(self._host, self.path) != self.text:
            raise _errors.ChangeFailed("another run wrote %s at the same time. Nothing was changed; run it again"
                                       % self.path)

    def begin(self, changes, contents):
        """Write backups, then the record. Raises ChangeFailed; then no other file has changed."""
        self.refuse_stale()
        former, wanted = self.held, {backup_in(entry) for entry in contents.entries.values()}
        try:
            for change in changes:
                self._back_up(change, wanted)
            self.write(contents)
        except _errors.ChangeFailed as error:
            self.settle_as(former, contents, changes)
            raise _errors.ChangeFailed("%s. Nothing was changed" % error) from error

    def _back_up(self, change, wanted):
        text = getattr(change, "original", None)
        if text is None or host_write.digest(text) not in wanted:
            return
        path = self._backup_path(host_write.digest(text))
        if not self._host.exists(path) or host_write.read_exactly(self._host, path, self.limit) != text:
            host_write.replace(self._host, path, text, 0o600)

    def make_all(self, changes, contents):
        """Make all changes with their record, or none: where one fails, the changes made before it are put back. Raises
        ChangeFailed."""
        former = self.held
        self.begin(changes, contents)
        for number, change in enumerate(changes):
            try:
                change.make(self._host)
            except _errors.ChangeFailed as error:
                failed = each_of(reversed(changes[:number + 1]), lambda made: made.put_back(self._host))
                stay = [(made.path, problem) for made, problem in failed if not problem.changed]
                if stay:
                    raise _errors.ChangeFailed(
                        "%s. The files written before it could not be put back (%s); run it with state: absent"
                        % (error, stay[0][1]), [path for path, _problem in stay]) from error
                self.settle_as(former, contents, changes)
                raise _errors.ChangeFailed("%s. The files written before it were put back" % error) from error

    def made(self, planned, changes):
        """The changes of `planned` that are in `changes`, and the change of the record itself where it was written."""
        return [change for change in planned if change in changes
                or (change.path == self.path and change.before != self.text)]

    def settle_as(self, former, contents, changes):
        """After a failure: restore the former record. Where that fails too, the record names files in their former
        state, and an undo skips them."""
        self.text = host_write.read_exactly(self._host, self.path)
        self.settle(former, changes, set(contents.folders) - set(former.folders))

    def settle(self, contents, changes=(), folders=None):
        """At the end: remove `folders` that runs created and that are empty, write `contents` into the record, remove
        leftovers. Returns [problem]."""
        gone = set(self.held.folders) - set(contents.folders) if folders is None else folders
        problems = []
        self._fails(problems, host_write.remove_leftovers, self.worked_in(changes))
        # The record lies below some of them.
        above = {folder for folder in gone if _is_above(folder)}
        if self._fails(problems, host_write.remove_empty_folders, gone - above):
            contents = contents._replace(folders=sorted(gone | set(contents.folders)))
        if not self._fails(problems, lambda _host, _contents: self.write(_contents), contents):
            for path in self.unnamed(contents):
                self._fails(problems, host_write.remove, path)
            own = self.own_folders() + ([self.folder, STATE] + sorted(above) if self.text is None else [])
            self._fails(problems, host_write.remove_empty_folders, own)
        return problems

    def _fails(self, problems, work, what):
        try:
            work(self._host, what)
        except _errors.ChangeFailed as error:
            problems.append(str(error))
            return True
        return False


def backup_in(entry):
    """The digest of the bytes that an entry of a file puts back, or None."""
    return (entry.get("before") or {}).get("digest")


def _is_above(folder):
    """Whether the records lie below a directory."""
    return (STATE + "/").startswith(folder + "/")


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _is_state(before):
    known = [before[name] for name in ("mode", "uid", "gid", "xattrs")]
    if not _DIGEST.match(before["digest"]):
        return False
    if known == [None] * len(known):
        return True  # Of a record of schema 1.
    mode, uid, gid, xattrs = known
    return (bool(_MODE.match(mode)) and all(isinstance(number, int) and number >= 0 for number in (uid, gid))
            and all(name and "\0" not in name and _HEX.match(value) for name, value in xattrs.items()))


def is_path(path):
    """Whether a record may name the path: absolute and without `..`."""
    return path.startswith("/") and "\0" not in path and ".." not in path.split("/")


def _state_notices(path, before, now):
    """A sentence where mode or owner of a file were changed since: that change was intended, so it stays."""
    changed = ["%s %s, was %s" % (name, now[name], before[name]) for name in ("mode", "uid", "gid")
               if now is not None and before[name] is not None and now[name] != before[name]]
    return ["%s: changed since and kept: %s" % (path, "; ".join(changed))] if changed else []


def settled_names(host, folder):
    """Names in a directory, except temporary files that are being written."""
    return [name for name in host.list_dir(folder)[1] if not name.startswith(TEMPORARY)]
