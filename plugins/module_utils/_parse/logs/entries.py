# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of a log: lines that belong together, joined. PRIVATE to the collection."""

from typing import NamedTuple

from .line import LONGEST, parse_line

# Limit of lines of one entry; the longest entry of an agent on a real node had nine.
MOST_LINES = 40
# Beginnings of the lines of a value, and of its last line. journalctl prints eight spaces for a TAB (output_mode
# short).
CONTINUED = ("\t", " " * 8, " >")


class Entry(NamedTuple):
    """One message. `time`: null if its line has no time; `count`: above one if the carrier counted repetitions."""

    text: str
    time: "str | None"
    count: int


def parse_entries(lines):
    """A generator of the entries of `lines` (any iterable of texts), in their order.

    The parts of a CRI line are joined, and so are the lines that klog writes below a line that ends with `=<`: lines
    that begin with a TAB, then ` >` and further keys (klog keyvalues.go). Lines of different programs in a journal are
    not joined.
    """
    parts, opened = {}, {}
    for line in lines:
        found = parse_line(line)
        if found.writer in parts:
            text = (parts.pop(found.writer).text + found.text)[:LONGEST]
            found = parse_line(text)._replace(time=found.time, writer=found.writer, whole=found.whole)
        if not found.whole:
            parts[found.writer] = found
            continue
        before = opened.get(found.writer)
        if before is not None and found.text.startswith(CONTINUED):
            before.append(found)
            if found.text.startswith(" >") or len(before) == MOST_LINES:
                yield _joined(opened.pop(found.writer))
            continue
        if before is not None:
            yield _joined(opened.pop(found.writer))
        if found.text.endswith("=<"):
            opened[found.writer] = [found]
        else:
            yield _joined([found])
    for rest in opened.values():
        yield _joined(rest)
    for part in parts.values():
        yield _joined([part])


def _joined(lines):
    text = "\n".join(line.text for line in lines)[:LONGEST]
    return Entry(text, lines[0].time, lines[0].count)
