# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of agents (files/log_agents): how agents wrap an error of a tool, and what users feel."""

import collections
import re
import string

from each_file import nothing_found

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue, _log_causes, _role_data

FILES = sorted((_role_data.ROLES / "node_policy" / "files" / "log_agents").glob("*.yml"))
ROWS = {path.stem: _role_data.load_yaml(path) for path in FILES}
BY_ID = {row["id"]: row for rows in ROWS.values() for row in rows}
NEEDED = {"id", "agent", "pattern", "effect", "severity", "nests", "example", "source"}
WHOLE = {"meaning", "fix"}
MORE = {"since", "until", "repeats", "over_after", "normal", "also", "check", "role", "silent_after", "opened_by",
        "delays_pods"}


def faults_of_keys(name):
    row = BY_ID[name]
    if row.keys() - NEEDED - WHOLE - MORE or NEEDED - row.keys():
        yield "wrong keys: %s" % ", ".join(sorted(row.keys() ^ NEEDED))
    if row["severity"] not in ("high", "medium", "low") or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name):
        yield "wrong severity or id"
    if not row["nests"] and not row.keys() >= WHOLE:
        yield "a whole error needs a meaning and a fix"
    if row.get("check") and row["check"] not in _catalogue.catalogue():
        yield "unknown check"
    if row.get("role") and row["role"] not in _catalogue.PARTS.values():
        yield "unknown role"
    yield from ("unknown id %s" % other for other in row.get("also", []) + row.get("silent_after", [])
                if other not in BY_ID)


def faults_of_pattern(name):
    row = BY_ID[name]
    for key in ("pattern", "over_after", "opened_by"):
        try:
            _log_causes._refuse_wrong_pattern(key, row.get(key))
        except BadInput as error:
            yield str(error)
    found = re.search(row["pattern"], row["example"])
    if not found or re.search(row["pattern"], ""):
        yield "the pattern is not found in the example, or is found in an empty line"
        return
    for _, group, _, _ in string.Formatter().parse(row["effect"]):
        if group is not None and not found.groupdict().get(group):
            yield "the placeholder %s is no group of the pattern that the example fills" % group
    nested = row["example"][found.end():].lstrip('"<\\\n\t ')
    if row["nests"] and (not nested or nested.startswith(("err=", "error=", ":"))):
        yield "the nested error does not begin where the pattern ends: %r" % nested[:40]


def faults_of_neighbors(name):
    row = BY_ID[name]
    others = sorted(other["id"] for other in ROWS[row["agent"]]
                    if other is not row and re.search(other["pattern"], row["example"]))
    if others != sorted(row.get("also", ())):
        yield "its example matches %s, but also: has %s" % (others, sorted(row.get("also", ())))


def test_rows_have_the_keys_of_the_table():
    assert all(row["agent"] == stem for stem, rows in ROWS.items() for row in rows)
    nothing_found(BY_ID, faults_of_keys)


def test_patterns_end_where_the_nested_error_begins():
    nothing_found(BY_ID, faults_of_pattern)


def test_an_example_matches_no_other_row_of_its_agent():
    nothing_found(BY_ID, faults_of_neighbors)


def test_the_table_is_large_and_its_ids_are_unique():
    count = collections.Counter({stem: len(rows) for stem, rows in ROWS.items()})
    assert sum(count.values()) == len(BY_ID) >= 120
    for stem, number in sorted(count.items()):
        print("%-24s %4d" % (stem, number))
    print("%-24s %4d" % ("all", len(BY_ID)))
