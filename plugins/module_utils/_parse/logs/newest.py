# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest candidate lines of a log, found while it is read. PRIVATE to the collection."""

import collections

from ..prompts import is_border, is_crash
from .candidates import WORDS
from .entries import continues, is_of_value, MOST_LINES
from .line import ENDED, is_heading, is_rule, LONGEST, parse_line

_WORDS = tuple(word.encode("ascii") for word in WORDS)
# Characters that stay in a block for its first search: they make the words shortest and still distinguish them from the
# lines that agents write all the time. Times and addresses nearly vanish: a block becomes a quarter of its size.
_KEPT = b"\n 'CEIKMNTilnostuy"
_LEFT_OUT = bytes(set(range(256)) - set(_KEPT))
_RESTS = tuple((word, word.translate(None, _LEFT_OUT)) for word in _WORDS)
# Limit of bytes that wait for the block before them; no message is longer.
_MOST_REST = MOST_LINES * LONGEST


class Newest:
    """Takes the blocks of a log in their order, and keeps its last `most` messages with a candidate line, as texts."""

    def __init__(self, most):
        self._search, self._most, self._found = _Search(), most, collections.deque(maxlen=most)
        self._begun = b""

    def feed(self, chunk):
        """Takes a block. Of a line that is longer than the longest message, only the beginning is kept; so is the last
        message, whose next lines the next block may have."""
        data = self._begun + chunk
        end = data.rfind(b"\n") + 1
        last = _last_message(data, end) if b"\n" in chunk else 0
        self._found += self._search.messages(data[:last], 0, self._most)
        self._begun = data[last:end] + data[end:end + LONGEST]

    def newest(self):
        """The messages, the newest first."""
        self._found += self._search.messages(self._begun + b"\n", 0, self._most)
        self._begun = b""
        return list(reversed(self._found))


class FromEnd:
    """Takes the blocks of a log from its end to its beginning, and keeps its last `most` such messages."""

    def __init__(self, most):
        self._search, self._most, self._found, self._rest = _Search(), most, [], b""

    def feed(self, chunk, is_first):
        """Takes the block before the previous one; `is_first`: it is the first. True when there are enough messages."""
        data = chunk + (self._rest or b"\n")
        if not is_first and b"\n" not in chunk and len(data) < _MOST_REST:
            self._rest = data
            return False
        begin = 0 if is_first else _first_message(data)
        self._rest = data[:begin]
        if begin > _MOST_REST:
            begin = data.find(b"\n") + 1
            self._rest = data[:min(begin - 1, LONGEST)] + b"\n"
        self._found += reversed(self._search.messages(data, begin, self._most - len(self._found)))
        return len(self._found) >= self._most

    def newest(self):
        """The messages, the newest first."""
        return self._found


# Lines such as `free(): double free detected in tcache 2` and the prompt before them.
_MOST_CRASH = 3


class _Search:
    """Finds the messages of a block that have a candidate line.

    A block is searched for one word after the other, which is far cheaper than a check of each line. First the block is
    searched without most of its characters, for the words without the same characters: if such a shortened word is
    missing, so is the word. Agents repeat the same few lines; each shortened line is searched only once.
    """

    def __init__(self):
        self._repeats = True

    def messages(self, data, begin, most):
        """The last `most` of them from `begin` on, the oldest first, as texts."""
        found, done = collections.deque(maxlen=most), begin
        for start in sorted(self._starts(data, begin, most)):
            if start >= done:
                text, end = _message(data, _head_of(data, start, done))
                text, done = (text, end) if end > start else _message(data, start)
                if not is_rule(text):
                    found.append(_prompt_of(data, start) + text if is_crash(text) else text)
        return found

    def _starts(self, data, begin, most):
        starts = set()
        for word in self._words_in(data):
            before = len(data)
            for _number in range(most):
                at = data.rfind(word, begin, before)
                if at < 0:
                    break
                # The line break stays in the part that is searched next, so a line is found once for each word.
                before = max(data.rfind(b"\n", begin, at) + 1, begin)
                starts.add(before)
        return starts

    def _words_in(self, data):
        rests = data.translate(None, _LEFT_OUT)
        if self._repeats:
            once = b"\n".join(set(rests.split(b"\n")))
            self._repeats = len(once) * 2 < len(rests)
            rests = once
        return [word for word, rest in _RESTS if rests.rfind(rest) >= 0]


def _first_message(data):
    """Where the first message begins in a block whose beginning may belong to the message before it."""
    start = data.find(b"\n") + 1 or len(data)
    for _number in range(MOST_LINES):
        stop = data.find(b"\n", start)
        if stop < 0 or parse_line(_line(data, start, stop)).begins:
            break
        start = stop + 1
    return start


def _last_message(data, end):
    """Where the last message begins in a block, which the next one may continue, or `end`."""
    start = end
    for _number in range(MOST_LINES):
        if not start or end - start > _MOST_REST:
            return end
        start = data.rfind(b"\n", 0, start - 1) + 1
        if parse_line(_line(data, start, data.find(b"\n", start))).begins:
            return start
    return end


def _head_of(data, start, floor):
    """Where the message of the line at `start` begins: the last line before it that begins one, from `floor` on; the
    line itself where that has another writer or a value ended in between."""
    found, at = _parsed(data, start), start
    for _number in range(MOST_LINES - 1):
        if found.begins or at <= floor:
            break
        at = data.rfind(b"\n", floor, at - 1) + 1 or floor
        before = _parsed(data, at)
        if before.begins:
            return at if continues(found, before) or before.text.endswith("=<") else start
        if before.text.startswith(ENDED) or is_heading(before.text):
            break
    return start


def _message(data, start):
    """(text, where it ends) of the message that begins at `start`, with the lines of its value and those below it."""
    first = _parsed(data, start)
    stop = data.find(b"\n", start)
    lines, is_value = [_line(data, start, stop)], first.text.endswith("=<")
    while (is_value or first.begins) and stop + 1 < len(data) and len(lines) < MOST_LINES:
        found = _parsed(data, stop + 1)
        if not (is_of_value(found, first) if is_value else continues(found, first)):
            break
        after, stop = stop + 1, data.find(b"\n", stop + 1)
        if is_value or found.text:
            lines.append(_line(data, after, stop))
        if is_value and found.text.startswith(ENDED):
            break
    return "\n".join(lines), stop + 1


def _prompt_of(data, start):
    """The prompt before the line at `start` with its end, behind which the C library alone printed; or empty."""
    for _number in range(_MOST_CRASH):
        before = data.rfind(b"\n", 0, max(start - 1, 0)) + 1
        if before >= start:
            break
        line = _line(data, before, start)
        if is_border(line):
            return line
        start = before
    return ""


def _parsed(data, start):
    """The line at `start` without the prefixes of its carriers."""
    return parse_line(_line(data, start, data.find(b"\n", start)))


def _line(data, start, stop):
    return data[start:min(stop, start + LONGEST)].decode("utf-8", "replace")
