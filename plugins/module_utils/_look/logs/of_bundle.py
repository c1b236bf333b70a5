# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs that a support bundle holds. PRIVATE to the collection.

The logs do not contain the time of their collection, so a line is recent relative to the last line of its log.
"""

import re

from ..._host.file_end import stream_back
from ..._host.host import OK
from ..._names import BUNDLE_LOG_NAMES, BUNDLE_LOGS, UNCOLLECTED
from ..._parse.logs.line import parse_line
from . import lines as log_lines

_LOGS = 40
_NAMES_LIMIT = 256 * 1024
# The end of a log in which its last time is searched, and how many lines before that may have a time of another form.
_END_BYTES, _END_LINES = 64 * 1024, 200
_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\Z")


def add_logs_of_bundle(host, section):
    """Fills a section `node_logs` that has no line yet."""
    names = host.read_text(BUNDLE_LOG_NAMES, _NAMES_LIMIT).text.splitlines()
    if not names:
        section["collected"] = dict.fromkeys(section["collected"], UNCOLLECTED)
        return
    section["collected"]["files"] = OK
    left, found = log_lines.MOST_BYTES, []
    for name in names[:_LOGS]:
        path = BUNDLE_LOGS + name
        status, texts, size, cut = log_lines.of_file(host, path, left, log_lines.MOST_ROWS_OF_FILE)
        if status != OK:
            section["collected"]["files"] = status
        left -= size
        section["cut"] = section["cut"] or cut
        ends = _last_times(host, path) if texts else []
        section["read"].append(name)
        section["ends"] += [{"source": name, "time": end} for end in ends]
        found += [(name, text) for text in texts]
    section["lines"] = log_lines.bounded(found)
    section["cut"] = section["cut"] or len(names) > _LOGS or len(section["lines"]) < len(found)


def _last_times(host, path):
    """The last time of each form in the last lines of a log: with and without a year, with and without a zone."""
    blocks, found, left = [], {}, _END_LINES
    stream_back(host, host.tree_path(path) or path, lambda block, _is_first: blocks.insert(0, block), _END_BYTES)
    for row in reversed(b"".join(blocks).decode("utf-8", "replace").split("\n")):
        time = parse_line(row).time if row else None
        if time:
            found.setdefault((time[4:5] == "-", bool(_ZONE.search(time))), time)
        left -= bool(found)
        if not left:
            break
    return list(found.values())
