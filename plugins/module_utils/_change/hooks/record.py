# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of changes to hooks that flush the firewall: files, masked units, diverted scripts. PRIVATE to the
collection."""

from ... import _errors
from ..._host import write
from ..._script.saved_rules import SIZE_LIMIT
from .. import record
from .folders import ASIDE, FOLDER

NULL = "/dev/null"


class MaskChange:
    """A unit that is masked: a link to /dev/null at `path`, where no file was; with `after` false the link is removed
    again."""

    def __init__(self, path, unit, after=True):
        self.path = path
        self.unit = unit
        self.after = after

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
            from .divert import undone
            return undone(self._host, self, path, entry, write.read_exactly(self._host, path))
        return super(Record, self).undone(path, entry)

    def _unmasked(self, path, entry):
        if self._host.read_link(path) == NULL:
            return [MaskChange(path, entry["unit"], after=False)]
        if not self._host.exists(path) and self._host.read_link(path) is None:
            return []
        raise _errors.ChangeFailed("it was changed since: it is not a link to %s any more" % NULL)
