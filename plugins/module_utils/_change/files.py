# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of files that can be undone byte for byte. PRIVATE to the collection."""

import re

from .. import _errors
from .._host import write as host_write
from .._script.edit.changed_lines import changed_lines

_TIME = re.compile(r'("time": )"[^"\n]*"')


class FileChange:
    """One file: `before` and `after` are its texts, None where it does not exist; `original` is what an undo brings
    back, where that is not `before`. `unit` is whose drop-in it is, `state` what a file that is made is besides its
    bytes, where that is recorded."""

    def __init__(self, path, before, after, unit=None, mode=0o644, original=None, state=None):
        self.path = path
        self.before = before
        self.after = after
        self.unit = unit
        self.mode = mode
        self.state = state
        self.original = before if original is None else original

    def make(self, host):
        if self.after is None:
            self.state = host_write.state_of(host, self.path)
            host_write.remove(host, self.path)
        else:
            host_write.replace(host, self.path, self.after, self.mode, self.state)

    def put_back(self, host):
        """Undo it, however far it came."""
        now = host_write.read_exactly(host, self.path)
        if now != self.before:
            FileChange(self.path, now, self.before, mode=self.mode, state=self.state).make(host)

    def diff(self):
        before, after = changed_lines(self.before, self.after)
        return {"before_header": self.path, "after_header": self.path, "before": before, "after": after}

    def entry(self, former, state):
        """What the record holds about it: `state` is what the file is besides its bytes. Of a file that was changed
        before, what it was before that."""
        ours = (former is not None and self.before is not None
                and host_write.digest(self.before) in former.get("after", ()))
        before = None if self.original is None else dict(state or UNKNOWN_STATE, digest=digest_of(self.original))
        # Once the file is removed, the record alone knows what it was besides its bytes.
        recorded = former["before"] if former is not None and state is None else None
        same = before is not None and recorded is not None and recorded["digest"] == before["digest"]
        return {
            "kind": "file", "unit": self.unit, "before": former["before"] if ours or same else before,
            "after": sorted(set(former["after"] if ours else ()) | {digest_of(self.after)}, key=str),
        }


class RecordChange(FileChange):
    """The record itself. Its times are not shown: those that check mode announces would be others."""

    def diff(self):
        return FileChange(self.path, _without_times(self.before), _without_times(self.after)).diff()


# What records of the first schema do not tell of a file.
UNKNOWN_STATE = {"mode": None, "uid": None, "gid": None, "xattrs": None}


def each_of(changes, work):
    """Do `work(change)` with each of them, whatever becomes of the others; returns [(change, ChangeFailed)]."""
    failed = []
    for change in changes:
        try:
            work(change)
        except _errors.ChangeFailed as error:
            failed.append((change, error))
    return failed


def digest_of(text):
    return None if text is None else host_write.digest(text)


def _without_times(text):
    return None if text is None else _TIME.sub(r'\1"when it was written"', text)
