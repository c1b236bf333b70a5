# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look could not see, as texts for findings."""

from .._host import notes as host_notes, walk
from .._host.host import DENIED, OK, TIMEOUT, UNPARSED

# This many paths are named for each source; more paths add no information, and each enlarges the evidence.
PATHS_LIMIT = 5


def reason_of(host, path, why):
    """One sentence; `why` is the reason that `Host.noting` recorded for the path: a status, or half a sentence."""
    if why == DENIED:
        return "%s is not readable %s" % (path, "even as root" if host.is_root()
                                          else "as user '%s'; run with become" % host_notes.user_name())
    if why == UNPARSED:
        return "%s cannot be read as a file: look at it with ls -l and file" % path
    return "%s %s" % (path, why)


def status_of_notes(notes):
    """One status for all notes: denied if one of them is denied, timeout if all of them are timeouts, otherwise
    unparsed; ok without notes."""
    found = set(notes.values())
    if not found:
        return OK
    return DENIED if DENIED in found else TIMEOUT if found == {walk.LATE} else UNPARSED


def unread_rows(host, notes_by_source):
    """([{"source", "path", "reason"}], the number of all notes) of `{source: notes}`."""
    rows = [{"source": source, "path": path, "reason": reason_of(host, path, notes_by_source[source][path])}
            for source in sorted(notes_by_source) for path in sorted(notes_by_source[source])[:PATHS_LIMIT]]
    return rows, sum(len(notes) for notes in notes_by_source.values())
