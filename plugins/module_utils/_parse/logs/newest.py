# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest candidate lines of a log, found while it is read. PRIVATE to the collection."""

import collections

from .candidates import WORDS
from .entries import MOST_LINES
from .line import LONGEST, parse_line

_WORDS = tuple(word.encode("ascii") for word in WORDS)


class Newest:
    """Takes the bytes of a log block by block and keeps its last `most` messages with a candidate line, as texts.

    Whole blocks are searched for one word after the other from their end: far cheaper than a look at each line.
    """

    def __init__(self, most):
        self._most = most
        self._found = collections.deque(maxlen=most)
        self._begun = b""

    def feed(self, chunk):
        """Takes a block. Of a line that is longer than a message may be the beginning is kept."""
        data = self._begun + chunk
        end = data.rfind(b"\n") + 1
        self._search(data, end)
        self._begun = data[end:end + LONGEST]

    def newest(self):
        """The messages, the newest first."""
        self._search(self._begun + b"\n", len(self._begun) + 1)
        self._begun = b""
        return list(reversed(self._found))

    def _search(self, data, end):
        done = 0
        for start in sorted(self._starts(data, end))[-self._most:]:
            if start >= done:
                text, done = _message(data, start, end)
                self._found.append(text)

    def _starts(self, data, end):
        starts = set()
        for word in _WORDS:
            before = end
            for _number in range(self._most):
                at = data.rfind(word, 0, before)
                if at < 0:
                    break
                # The line break stays in what is searched next, so a line is found once for each word.
                before = data.rfind(b"\n", 0, at) + 1
                starts.add(before)
        return starts


def _message(data, start, end):
    """(text, where it ends) of the line at `start` with the lines of its value, where it opens one."""
    lines = []
    while start < end and len(lines) < MOST_LINES:
        stop = data.find(b"\n", start, end)
        line = data[start:min(stop, start + LONGEST)].decode("utf-8", "replace")
        text = parse_line(line).text
        if lines and not text.startswith(("\t", " >")):
            break
        lines.append(line)
        start = stop + 1
        if text.startswith(" >") or len(lines) == 1 and not text.endswith("=<"):
            break
    return "\n".join(lines), start
