# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows that log messages are compared with, roles/node_policy/files/log_agents and log_errors."""

import collections
import dataclasses
import random
import re

from each_file import nothing_found

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.candidates import is_candidate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _role_data
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._logs import causes

ROWS = causes.rows()
BY_ID = {row.id: row for row in ROWS}
# A repeat without an upper limit can take polynomial time in the length of a hostile line.
UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
QUOTED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]")
UP_TO = re.compile(r"\{(?:\d+,)?(\d+)\}")


def patterns_of(row):
    near = [other["near"] for other in row.fix_where]
    return [pattern for pattern in [row.pattern, row.over_after, row.opened_by, *near] if pattern]


def texts_of(row):
    return [text for text in [row.effect, row.meaning, row.fix] + [other["fix"] for other in row.fix_where] if text]


def names_in(text):
    return set(causes.PLACEHOLDER.findall(text))


def faults_of_keys(name):
    row = BY_ID[name]
    if row.severity not in (None, *causes.SEVERITIES) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        yield "wrong severity or id"
    if not row.example.strip() or not row.source.strip():
        yield "no example or source"
    if not row.nests and not (row.meaning and row.fix):
        yield "a whole error needs a meaning and a fix"
    if row.check and row.check not in catalogue.catalogue():
        yield "unknown check"
    if row.role and row.role not in catalogue.PARTS.values():
        yield "unknown role"
    yield from ("unknown id %s" % other for other in row.also + row.silent_after if other not in BY_ID)


def faults_of_pattern(name):
    row = BY_ID[name]
    for pattern in patterns_of(row):
        bare = QUOTED.sub("c", pattern)
        if UNBOUNDED.search(bare) or any(int(most) > 1000 for most in UP_TO.findall(bare)):
            yield "repeats without a limit; write {0,80} in place of * and +: %s" % pattern
    found = re.search(row.pattern, row.example)
    if not found or re.search(row.pattern, ""):
        yield "is not found in its example, or in an empty text"
        return
    beside = {group for other in row.fix_where for group in re.compile(other["near"]).groupindex}
    yield from ("%s is no group that the example fills" % group for text in texts_of(row) for group in names_in(text)
                if not found.groupdict().get(group) and row.of_agent is False and group not in beside)
    nested = row.example[found.end():].lstrip('"<\\\n\t ')
    if row.nests and (not nested or nested.startswith(("err=", "error=", ":"))):
        yield "the nested error does not begin where the pattern ends: %r" % nested[:40]


def faults_of_neighbors(name):
    """Of an agent's row its example matches those of its `also`; of a specific error that of no other one."""
    row = BY_ID[name]
    near = [other for other in ROWS if other is not row and other.of_agent == row.of_agent and (
        other.who == row.who if row.of_agent else other.specific and row.specific)]
    others = sorted(other.id for other in near if re.search(other.pattern, row.example))
    if others != sorted(row.also):
        yield "its example matches %s, but also: has %s" % (others, sorted(row.also))


def faults_of_advice(name):
    """kubectl picks any pod of a DaemonSet, mostly one of another node."""
    row = BY_ID[name]
    if any(" ds/" in text or re.search(r"\d+\.\d+\.\d+\.\d+", text) for text in [row.fix or ""]):
        yield "a fix for another node or address"
    if "ip link delete" in (row.fix or "") and not row.fix.find("kubectl drain") < row.fix.find("ip link delete"):
        yield "a bridge is deleted on a node that was not drained"
    if row.severity not in (None, "low") and row.specific and not row.normal and not is_candidate(row.example):
        yield "its line is not read"


def test_rows_have_what_their_kind_needs():
    nothing_found(BY_ID, faults_of_keys)


def test_patterns_are_bounded_and_find_their_examples():
    nothing_found(BY_ID, faults_of_pattern)


def test_an_example_matches_no_other_row_of_its_kind():
    nothing_found(BY_ID, faults_of_neighbors)


def test_advice_is_for_this_node():
    nothing_found(BY_ID, faults_of_advice)


def test_the_tables_are_large_and_no_key_or_id_exists_twice():
    count = collections.Counter("agents" if row.of_agent else "errors" for row in ROWS)
    assert len(ROWS) == len(BY_ID) and count["agents"] >= 120 and count["errors"] >= 250
    fields = {field.name for field in dataclasses.fields(causes.Row)} | {"agent", "tool"}
    for path in (_role_data.ROLES / "node_policy" / "files").glob("log_*/*.yml"):
        for entry in path.read_text(encoding="utf-8").split("\n- ")[1:]:
            keys = [line.split(":")[0].strip() for line in ("  " + entry).splitlines() if re.match(r"  \w", line)]
            assert len(keys) == len(set(keys)) and set(keys) <= fields, (path.name, keys)


def test_each_match_contains_a_literal_of_its_pattern():
    patterns = (("abc(cde|efg)fghi", ("fghi",)), ("abc|bcd", ("abc", "bcd")), ("ab[)]yyy{1,3}zzz", ("zzz",)),
                (r"a\.b\dcd?", ("a.b",)), ("(?i)abc", ()), ("[^]]abc", ("abc",)), ("(?:abc|def): .", ("abc", "def")),
                ("(?!abcd)(?s:.{0,9})xyz", ("xyz",)), ("(abcde)?xyz", ("xyz",)), ("(?=.{0,9}hello)a", ("hello",)))
    assert [(pattern, causes.literals_of(pattern)) for pattern, _literals in patterns] == list(patterns)
    nothing_found(BY_ID, lambda name: [] if BY_ID[name] in {row for row, _match in causes.found_in(
        BY_ID[name].example)} else ["not found"])


def test_patterns_end_on_hostile_lines():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    for row in rng.sample(ROWS, 100):
        pieces = [row.example[at:at + rng.randint(1, 30)] for at in range(0, len(row.example), 7)]
        for filler in ("\t", " ", "a", "failed", "\n", row.example[:40]):
            text = "".join(rng.choice([*pieces, filler * 20]) for _piece in range(2000))[:8192]
            assert all(match.end() <= len(text) for _row, match in causes.found_in(text))
