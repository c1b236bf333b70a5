# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of changes to hooks that flush the firewall: files, masked units, diverted scripts."""

from ... import _errors
from ..._host import write
from ..._host.notes import STATE
from ..._script.rule_files import SIZE_LIMIT
from .. import record
from ..files import FileChange, refuse_of_others
from ..record import backup_in

NULL = "/dev/null"
FOLDER = STATE + "/flush_hooks"
RECORD = FOLDER + "/record.json"
# Where scripts of packages lie while an edited copy is in their place.
ASIDE = FOLDER + "/diverted"
DIVERTED, PROGRAM = "diverted", "dpkg-divert"
DIVERT_SECONDS = 60.0


class MaskChange:
    """A unit that is masked: a link to /dev/null at `path`, where no file was; without `after` it is removed."""

    def __init__(self, path, unit, after=True):
        self.path, self.unit, self.after = path, unit, after

    def make(self, host):
        if self.after:
            write.make_link(host, self.path, NULL)
        else:
            write.remove(host, self.path)

    def diff(self):
        texts = ("", "link to %s\n" % NULL)
        return {"before_header": self.path, "after_header": self.path, "before": texts[not self.after],
                "after": texts[bool(self.after)]}

    def entry(self, _former, _state):
        return {"kind": "mask", "unit": self.unit}


class Record(record.Record):
    """Entries are of the kinds file, mask and diverted."""

    folder = FOLDER
    limit = SIZE_LIMIT

    def own_folders(self):
        return [self.backups, ASIDE]

    def is_sound(self, path, entry):
        if entry["kind"] == "mask":
            return record.is_path(path) and isinstance(entry["unit"], str)
        if entry["kind"] == "diverted":
            return isinstance(entry["name"], str) and super(Record, self).is_sound(path, dict(entry, kind="file"))
        return super(Record, self).is_sound(path, entry)

    def undone(self, path, entry):
        if entry["kind"] == "mask":
            return self._unmasked(path, entry)
        if entry["kind"] == "diverted":
            return undone(self._host, self, path, entry, write.read_exactly(self._host, path))
        return super(Record, self).undone(path, entry)

    def _unmasked(self, path, entry):
        if self._host.read_link(path) == NULL:
            return [MaskChange(path, entry["unit"], after=False)]
        if not self._host.exists(path) and self._host.read_link(path) is None:
            return []
        raise _errors.ChangeFailed("it was changed since: it is not a link to %s any more" % NULL)


# Scripts of packages, diverted with dpkg-divert.
# After that dpkg installs its version of the file in another place and does not change the edited copy (man dpkg-
# divert). No program runs the scripts in that place. rpm has no such feature.
class Diversion(FileChange):
    """A packaged file that is put aside, and its edited copy; `name`: its path as dpkg knows it."""

    name = None

    def make(self, host):
        aside = aside_of(self.path)
        # The packaged file stays in its place until the edited one replaces it, so it is never missing.
        if host.stat(aside) is None:
            write.replace(host, aside, self.before, host.stat(self.path).st_mode & 0o777)
        _divert(host, ["--divert", aside, "--add", self.name])
        write.replace(host, self.path, self.after, self.mode)

    def entry(self, former, state):
        return dict(FileChange.entry(self, former, state), kind="diverted", name=self.name)


class Return(FileChange):
    """Put back the packaged file, or the version that an upgrade has installed since."""

    name = None

    def make(self, host):
        if self.after is not None:
            write.replace(host, self.path, self.after, self.mode)
        _divert(host, ["--divert", aside_of(self.path), "--remove", self.name])
        write.remove(host, aside_of(self.path))


def diversion(host, path, before, after):
    """The Diversion of a file. Raises ChangeFailed where it cannot be diverted."""
    if not host.commands:
        raise _errors.ChangeFailed("it belongs to a package, and dpkg-divert can be run on a live node only")
    if host.find_binary(PROGRAM) is None:
        raise _errors.ChangeFailed("it belongs to a package, and this distribution has no dpkg-divert; replace the "
                                   "unit or job that starts it")
    change = Diversion(path, before, after)
    change.name = _packaged_name(host, path)
    if change.name is None:
        raise _errors.ChangeFailed("dpkg does not know the package that it belongs to")
    return change


def _packaged_name(host, path):
    """The path as the package has it: where /bin and /lib are links, it may lack the /usr."""
    for name in (path, path[len("/usr"):] if path.startswith("/usr/") else None):
        if name and host.run(["dpkg-query", "--search", name], DIVERT_SECONDS).ok:
            return name
    return None


def undone(host, record, path, entry, now):
    """[Return] of a diverted file; empty where a run was killed before it diverted the file."""
    aside = aside_of(path)
    refuse_of_others(host, ASIDE)
    packaged = write.read_exactly(host, aside)
    before = backup_in(entry)
    if now is not None and write.digest(now) == before and packaged is None:
        return []
    if now is None or write.digest(now) not in entry["after"] + [before]:
        raise _errors.ChangeFailed("it was changed since; the package's version is in %s" % aside)
    change = Return(path, now, packaged if packaged is not None else record.backup_of(before))
    change.name = entry["name"]
    return [change]


def aside_of(path):
    """Where dpkg keeps the diverted file."""
    return "%s/%s" % (ASIDE, path.strip("/").replace("_", "__").replace("/", "_"))


def _divert(host, arguments):
    done = host.run([PROGRAM, "--local", "--no-rename", "--quiet"] + arguments, DIVERT_SECONDS)
    if not done.ok:
        raise _errors.ChangeFailed("%s failed: %s" % (PROGRAM, (done.err or done.out).strip()[:200] or done.status))
