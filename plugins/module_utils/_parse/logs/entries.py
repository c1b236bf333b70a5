# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of a log: lines that belong together, joined. PRIVATE to the collection."""

import re
from typing import NamedTuple

from ..prompts import command_of, is_border, is_crash
from .line import CONTINUED, ENDED, LONGEST, is_heading, is_rule, parse_line

# Limit of lines of one entry; the longest entry of an agent on a real node had nine.
MOST_LINES = 40
# kubectl describe names the pod once, in its first line, and why its container ended far below.
_DESCRIBED = re.compile(r"Name: {2,40}([\w.-]{1,253})\s*\Z")
_ENDED_BY = re.compile(r" {4,12}Reason: {1,20}[A-Z]\w{3,30}\s*\Z")


class Entry(NamedTuple):
    """One message. `time`: of its line or an earlier one, or null; `count`: above one where the carrier counted."""

    text: str
    time: "str | None"
    count: int


def parse_entries(lines):
    """A generator of the entries of `lines`, texts in their order, in which None stands for lines that were left out.

    The parts of a CRI line are joined, and so are the lines that klog writes below a line that ends with `=<`: lines
    that begin with a TAB, then ` >` and further keys (klog keyvalues.go; is_of_value()). A line that begins no message
    belongs to the entry before it (continues()). Lines of different programs in a journal are not joined. The reason
    why a container ended has the name of the pod that kubectl describes before it.
    """
    parts, opened, last, when, command, described = {}, {}, [], None, "", ""
    for line in lines:
        if line is None or is_border(line):
            yield from _ended(last)
            last, when, command = [], None, command_of(line) if line else ""
            described = described if line is None else ""
            continue
        name = _DESCRIBED.match(line)
        described = name.group(1) if name else described
        if described and _ENDED_BY.match(line):
            line = "%s: %s" % (described, line.strip())
        if command and is_crash(line):
            line = "%s: %s" % (command, line)
        found = parse_line(line)
        if found.writer in parts:
            text = (parts.pop(found.writer).text + found.text)[:LONGEST]
            found = parse_line(text)._replace(time=found.time, writer=found.writer, whole=found.whole)
        if not found.whole:
            parts[found.writer] = found
            continue
        if opened:
            found = _with_writer(found, opened)
        before = opened.get(found.writer)
        if before is not None and is_of_value(found, before[0]):
            before.append(found)
            if found.text.startswith(ENDED) or len(before) == MOST_LINES:
                yield _joined(opened.pop(found.writer))
            continue
        if before is not None:
            yield _joined(opened.pop(found.writer))
        if last and len(last) < MOST_LINES and continues(found, last[0]):
            last.append(found)
            continue
        yield from _ended(last)
        last, when = [], found.time or when
        if found.text.endswith("=<"):
            opened[found.writer] = [found]
        else:
            last = [found._replace(time=when)]
    yield from _ended(last)
    yield from map(_joined, opened.values())
    yield from (_joined([part]) for part in parts.values())


def _with_writer(found, opened):
    """A line whose writer has an open value. The carrier's time may be cut off before the name of the writer, which
    then begins the text; a line without any is of the only value that is open."""
    name = next((name for name in opened if name and found.text.startswith(name)), None)
    if name is not None:
        return found._replace(writer=name, text=found.text[len(name):].lstrip(" ") or " ")
    if not found.writer and not found.begins and len(opened) == 1:
        return found._replace(writer=next(iter(opened)))
    return found


def is_of_value(found, first):
    """Whether a line belongs to the value that `first` opens with `=<`; a frame may have taken the blanks before it."""
    return found.writer in ("", first.writer) and (found.text.startswith(CONTINUED) or not found.begins)


def continues(found, first):
    """Whether a line belongs to the entry whose first line is `first`: it begins no message and is no heading of notes,
    and no carrier shows that it has another writer or another time, to the second."""
    if found.begins or not first.begins or is_heading(found.text):
        return False
    return found.writer in ("", first.writer) and (found.time is None or _second(found.time) == _second(first.time))


def _second(time):
    return (time or "").replace(",", ".").partition(".")[0].rstrip("Z")


def _ended(lines):
    return [_joined(lines)] if lines else []


def _joined(lines):
    """The entry of some lines. What a log prints below an error as input of iptables-restore is no error."""
    texts = [line.text for number, line in enumerate(lines) if not number or line.text and not is_rule(line.text)]
    return Entry("\n".join(texts)[:LONGEST], lines[0].time, lines[0].count)
