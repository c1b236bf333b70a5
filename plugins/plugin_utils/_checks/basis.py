# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few values of the evidence that a finding rests on, as lines of text. PRIVATE to the collection.

These are the fields of the offending row that the check names in its expressions or texts, and the single values whose
paths stand in its expressions.
"""

import functools
import re

from .._joins.table import reads_of
from .._render.text import escaped_lines
from . import references
from .expressions import paths_of

_LINES = 8
_LINE = 160
_NAMED = 3
_WORD = re.compile(r"\w+")
# A finding has its own key for the subject; the controller makes the other fields, not the node.
_OURS = frozenset(("subject", "want", "manual", "advice", "without_role"))
_EMPTY = (None, "", [], {})
_NOT_READ = ("denied", "timeout", "unparsed")


def basis_of(check, evidence, row=None):
    """The lines, or None if there are no lines; `row` is the offending row as a dict, or None."""
    paths = {path: value for path, value in _values(check, evidence) if not isinstance(value, (dict, list))}
    # A judge that compares a single value puts it into a row; such a value is not printed twice.
    known = [(name, value) for path, value in paths.items() for name in ("value", path.rpartition(".")[2])]
    lines = []
    if row:
        named = _named(check.select, check.subject, check.problem, check.observed)
        lines = ["%s: %s" % (name, _shown(value)) for name, value in row.items()
                 if value not in _EMPTY and name in named and (name, value) not in known]
    else:
        lines = ["%s.collected.%s: %s" % source for source in _unread(check, evidence)]
    lines += ["%s: %s" % (path, _shown(value)) for path, value in paths.items()]
    return "\n".join(_cut(line) for line in lines[:_LINES]) or None


def _values(check, evidence):
    """(path, value) of each path to evidence in the expressions of a check, the paths of its select first."""
    for path in _paths(check.select, check.unknown, check.applies_when):
        *above, key = path.split(".")
        place = evidence
        for name in above:
            place = place.get(name) if isinstance(place, dict) else None
        if isinstance(place, dict) and key in place:
            yield path, place[key]


@functools.lru_cache(maxsize=None)
def _paths(*expressions):
    found = [path for expression in expressions if expression for named in paths_of(expression)
             for path in reads_of(named)]
    return tuple(dict.fromkeys(path for path in found if path.startswith("node_")))


@functools.lru_cache(maxsize=None)
def _named(*texts):
    """Words of an expression, and fields of the texts that are filled in."""
    select, *filled = texts
    return frozenset(_WORD.findall(select)).union(*(references.FIELD.findall(text or "") for text in filled)) - _OURS


def _unread(check, evidence):
    """(section, source, status) of each source that the check needs and the look could not read."""
    for need in check.needs:
        section, _dot, source = need.partition(".")
        found = evidence.get(section)
        collected = found.get("collected") if isinstance(found, dict) else None
        for name in sorted(collected) if isinstance(collected, dict) else ():
            if source in ("", name) and collected[name] in _NOT_READ:
                yield section, name, collected[name]


def _shown(value):
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        more = " and %d more" % (len(value) - _NAMED) if len(value) > _NAMED else ""
        return ", ".join(map(_shown, value[:_NAMED])) + more
    if isinstance(value, dict):
        return " ".join("%s %s" % (name, _shown(part)) for name, part in value.items() if part not in _EMPTY)
    return str(value)


def _cut(line):
    line = " ".join(escaped_lines(line[:2 * _LINE]).split())
    return line if len(line) <= _LINE else line[:_LINE - 3] + "..."
