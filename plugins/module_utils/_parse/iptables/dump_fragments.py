# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts lines of iptables-save that were picked out of a dump below their tables. PRIVATE to the collection."""

from .fragment_table import ALL_BUILT_IN, BUILT_IN, table_of_chains, table_of_rule
from .save_header import MORE, family_of
from .save_rule import COUNTERS, read_rule


def without_ends(lines):
    """Lines of a dump that went through a filter: COMMIT proves nothing there, and any line may be missing."""
    found = []
    for line in lines:
        found += [MORE, line] if line.startswith("*") and found else [line] if line != "COMMIT" else []
    return found + [MORE]


def with_tables(lines, embedded):
    """Lines of iptables-save in which each fragment stands below the table that its chains belong to."""
    found, fragment, within = [], [], False
    for line in lines:
        within = within or line.startswith("*")
        if within or line.startswith("#"):
            found.append(line)
        elif line != "COMMIT":
            fragment.append(line)
        within = within and line != "COMMIT"
    return (_without_built_in(found) if embedded else found) + _fragments(fragment)


def _without_built_in(lines):
    """Input for iptables-restore has COMMIT even if it is not a whole table; only a whole table declares its built-in
    chains."""
    found, declared = [], False
    for line in lines:
        if line.startswith("*"):
            declared = False
        declared = declared or (line.startswith(":") and line[1:].split(" ")[0] in ALL_BUILT_IN)
        if line != "COMMIT" or declared:
            found.append(line)
    return found


def _fragments(lines):
    """Each line below its table; tables are in the order of their first lines. Lines that fit several tables go to the
    table of the lines before them or, without one, to the table of the lines after them."""
    tables, waiting, name, family = {}, [], None, None
    for line in lines:
        words = read_rule(COUNTERS.sub("", line))
        known = table_of_rule(words.chain, words.target) if words else table_of_rule(_declared(line), None)
        if line.startswith(":") and _declared(line) in ALL_BUILT_IN and any(_declared(other) == _declared(line)
                                                                            for other in waiting):
            name = _table_by_chains(waiting)
            tables.setdefault((name, family), []).extend(waiting)
            waiting = [line]
        elif known is None and (name is None or waiting or _begins(line, tables[name, family])):
            waiting.append(line)
        else:
            name, family = known or name, (family_of(words) if words else None) or family
            tables.setdefault((name, family), []).extend(waiting + [line])
            waiting = []
    if waiting:
        tables.setdefault((name or _table_by_chains(waiting), family), []).extend(waiting)
    # Lines without the line of their table were picked out of a dump: chains may be missing.
    return [line for (name, _family), own in _with_family(tables).items()
            for line in (["*" + name] if name else []) + own + [MORE]]


def _declared(line):
    return line[1:].split(" ")[0] if line.startswith(":") else ""


def _table_by_chains(lines):
    """The table of lines that fit several tables: the one whose built-in chains are declared, or filter, the default of
    iptables, where nothing contradicts it."""
    chains = {_declared(line) if line.startswith(":") else COUNTERS.sub("", line).split(" ")[1] for line in lines}
    table = table_of_chains({_declared(line) for line in lines} & ALL_BUILT_IN)
    return table or ("filter" if chains & BUILT_IN["filter"] and not chains & {"PREROUTING", "POSTROUTING"} else None)


def _with_family(tables):
    """The groups; lines before the first address get the family of the first address."""
    found = {}
    for (name, family), lines in tables.items():
        first = next((other for other_name, other in tables if other_name == name and other), None)
        found.setdefault((name, family or first), []).extend(lines)
    return found


def _begins(line, before):
    """True if a dump prints `line` ahead of the last line of `before`: chains come before rules, built-in chains before
    other chains."""
    if not before or not before[-1].startswith("-A "):
        return False
    chain = line.split(" ")[1] if line.startswith("-A ") else ""
    return line.startswith(":") or (chain in ALL_BUILT_IN and before[-1].split(" ")[1] not in ALL_BUILT_IN)
