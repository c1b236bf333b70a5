# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A diff of a file without context lines. PRIVATE to the collection.

Context lines stay on the node: scripts hold passwords. In the changed lines secrets are masked.
"""

import difflib

from ..._parse.secrets import masked_line

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
