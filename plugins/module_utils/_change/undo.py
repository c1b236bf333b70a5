# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Undoing a record, and the checks before any change is begun. PRIVATE to the collection."""

from .. import _errors
from .._host import write
from .files import each_of


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
