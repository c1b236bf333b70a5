# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of files that can be undone byte for byte.

A diff of a file without context lines.

Context lines stay on the node: scripts hold passwords. In the changed lines secrets are masked.
"""

import difflib
import re

from .. import _errors
from .._host import write
from .._host.host import TEXT_LIMIT
from .._host.notes import written_by_others
from .._parse.secrets import masked_line

# More lines than these are counted, not shown: a saved rule set of a big node loses 100,000.
LINES_LIMIT = 200
# Longer texts are compared line by line in one pass, which is enough for a text that only lost lines.
_COMPARED_LIMIT = 2000
_HEADER, _LINE = "header", "line"


def changed_lines(before, after):
    """(former lines, new lines), two texts that differ where the files do; its line number heads each change."""
    old, new = _lines(before), _lines(after)
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    shown = ([], [])
    for at, gone, come in _changes(old[first:len(old) - last], new[first:len(new) - last]):
        for texts, lines in zip(shown, (gone, come)):
            texts.append((_HEADER, first + at + 1))
            texts.extend((_LINE, line) for line in lines)
    return tuple(_cut(texts) for texts in shown)


def _lines(text):
    lines = text.split("\n") if text else []
    return lines[:-1] if lines and not lines[-1] else lines


def _changes(old, new):
    """[(index in old, lines that go, lines that come)]."""
    if max(len(old), len(new)) <= _COMPARED_LIMIT:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        return [(i, old[i:j], new[k:m]) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]
    changes, place = [], 0
    for index, line in enumerate(old):
        if place < len(new) and line == new[place]:
            place += 1
        elif changes and changes[-1][0] + len(changes[-1][1]) == index:
            changes[-1][1].append(line)
        else:
            changes.append((index, [line], []))
    return changes + ([(len(old), [], new[place:])] if place < len(new) else [])


def _shown(kind, line):
    if kind == _HEADER:
        return "@@ line %d @@" % line
    return masked_line(line).encode("utf-8", "replace").decode("utf-8")


def _cut(lines):
    more = len(lines) - LINES_LIMIT
    return "".join(line + "\n" for line in [_shown(*line) for line in lines[:LINES_LIMIT]]
                   + (["and %d more lines" % more] if more > 0 else []))


_TIME = re.compile(r'("time": )"[^"\n]*"')


class FileChange:
    """One file: `before` and `after` are its texts, None where it does not exist; `original` is what an undo restores,
    where that is not `before`. `unit` is the unit whose drop-in it is, `state` the metadata of a new file."""

    def __init__(self, path, before, after, unit=None, mode=0o644, original=None, state=None):
        self.path, self.before, self.after, self.unit, self.mode, self.state = path, before, after, unit, mode, state
        self.original = before if original is None else original

    def make(self, host):
        if self.after is None:
            self.state = write.state_of(host, self.path)
            write.remove(host, self.path)
        else:
            write.replace(host, self.path, self.after, self.mode, self.state)

    def put_back(self, host):
        """Undo the change, however far it got."""
        now = write.read_exactly(host, self.path)
        if now != self.before:
            FileChange(self.path, now, self.before, mode=self.mode, state=self.state).make(host)

    def diff(self):
        before, after = changed_lines(self.before, self.after)
        return {"before_header": self.path, "after_header": self.path, "before": before, "after": after}

    def entry(self, former, state):
        """The entry for the record, with the metadata of the file in `state`. For a file that was changed before, the
        entry keeps the state before the first change."""
        ours = (former is not None and self.before is not None and write.digest(self.before) in former.get("after", ()))
        before = None if self.original is None else dict(state or UNKNOWN_STATE, digest=digest_of(self.original))
        # After the removal of the file only the record holds its metadata.
        recorded = former["before"] if former is not None and state is None else None
        same = before is not None and recorded is not None and recorded["digest"] == before["digest"]
        return {"kind": "file", "unit": self.unit, "before": former["before"] if ours or same else before,
                "after": sorted(set(former["after"] if ours else ()) | {digest_of(self.after)}, key=str)}


class RecordChange(FileChange):
    """The change of the record itself. The diff leaves out its times, which differ between check mode and a run."""

    def diff(self):
        return FileChange(self.path, _without_times(self.before), _without_times(self.after)).diff()


# Keys about a file that records of schema 1 lack.
UNKNOWN_STATE = {"mode": None, "uid": None, "gid": None, "xattrs": None}


def each_of(changes, work):
    """Call `work(change)` for each change, even if others fail; returns [(change, ChangeFailed)]."""
    failed = []
    for change in changes:
        try:
            work(change)
        except _errors.ChangeFailed as error:
            failed.append((change, error))
    return failed


def finished(result, problems, warnings=()):
    """The result of a module with its warnings, and with its problems, which are a failure."""
    if warnings:
        result["warnings"] = warnings
    if problems:
        result.update(failed=True, msg="; ".join(problems))
    return result


def digest_of(text):
    return None if text is None else write.digest(text)


def _without_times(text):
    return None if text is None else _TIME.sub(r'\1"when it was written"', text)


class Plan:
    """`changes` to make, the `rows` of the result, `problems`, `warnings`, `record`, its `entries` after an undo."""

    def __init__(self, record):
        self.record, self.entries, self.undo = record, dict(record.entries), False
        self.changes, self.rows, self.problems, self.warnings = [], [], [], []

    def contents(self):
        """The contents of the record after the run."""
        return self.record.with_entries(self.entries) if self.undo else self.record.with_changes(self.changes)

    def all_changes(self):
        """In the order in which they are made: the record before the changes; for an undo, after them."""
        record = [change for change in [self.record.file_change(self.contents())] if change]
        return self.changes + record if self.undo else record + self.changes


def plan_undo(record, wanted=lambda path, entry: True):
    """(changes, entries that stay, [problem]) of putting back the entries that `wanted(path, entry)` selects."""
    changes, kept, problems = [], {}, []
    for path, entry in sorted(record.entries.items()):
        try:
            undo = record.undone(path, entry) if wanted(path, entry) else None
        except _errors.ChangeFailed as error:
            problems.append("%s is not put back: %s" % (path, error))
            undo = None
        if undo is None:
            kept[path] = entry
        else:
            changes.extend(undo)
    return changes, kept, problems


def put_back(host, record, changes, entries):
    """Undo `changes`, even if some fail; returns [problem]. Failed ones go back into `entries`, which the record keeps,
    and are removed from `changes`. Raises ChangeFailed where another run wrote the record in the meantime."""
    record.refuse_stale()
    failed = each_of(list(changes), lambda change: change.make(host))
    for change, error in failed:
        if change.path in record.entries:
            entries[change.path] = record.entries[change.path]
        if not error.changed:
            changes.remove(change)
    return [str(error) for _change, error in failed]


def refuse_unwritable(host, changes):
    """Check that every file can be written before the first is written. Raises ChangeFailed."""
    problems = [problem for problem in (write.may_write(host, change.path) for change in changes) if problem]
    if problems:
        raise _errors.ChangeFailed("; ".join(problems) + ". Nothing was changed")


def refuse_of_others(host, path):
    """Raises ChangeFailed where another user may have written `path` below STATE, or a directory above it."""
    problem = written_by_others(host, path)
    if problem:
        raise _errors.ChangeFailed(problem)


def read_ours(host, path, limit=TEXT_LIMIT):
    """As read_exactly(), for a file below STATE that an undo or a later run obeys."""
    refuse_of_others(host, path)
    return write.read_exactly(host, path, limit)
