# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of agents (files/log_agents): how agents wrap an error of a tool, and what users feel."""

import collections
import re
import string

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue, _log_causes, _role_data

FILES = sorted((_role_data.ROLES / "node_policy" / "files" / "log_agents").glob("*.yml"))
ROWS = [(path.stem, row) for path in FILES for row in _role_data.load_yaml(path)]
IDS = [row["id"] for _, row in ROWS]
NEEDED = {"id", "agent", "pattern", "effect", "severity", "nests", "example", "source"}
WHOLE = {"meaning", "fix"}
MORE = {"since", "until", "repeats", "over_after", "normal", "also", "check", "role", "silent_after", "opened_by",
        "delays_pods"}


@pytest.mark.parametrize(("stem", "row"), ROWS, ids=IDS)
def test_a_row_is_valid_and_its_example_matches(stem, row):
    assert row.keys() >= NEEDED and row.keys() <= NEEDED | WHOLE | MORE and row["agent"] == stem
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", row["id"]) and row["severity"] in ("high", "medium", "low")
    assert row["nests"] or row.keys() >= WHOLE, "a whole error has a meaning and a fix"
    for key in ("pattern", "over_after", "opened_by"):
        _log_causes._refuse_wrong_pattern("%s: %s" % (row["id"], key), row.get(key))
    found = re.search(row["pattern"], row["example"])
    assert found and not re.search(row["pattern"], "")
    values = {name: found.group(name) for name in found.re.groupindex}
    for _, name, _, _ in string.Formatter().parse(row["effect"]):
        assert name is None or values[name], "the placeholder %s is no group of the pattern that the example fills" % name
    assert row.get("check") is None or row["check"] in _catalogue.catalogue()
    assert row.get("role") is None or row["role"] in _catalogue.PARTS.values()
    assert set(row.get("also", ())) | set(row.get("silent_after", ())) <= set(IDS)


@pytest.mark.parametrize(("stem", "row"), ROWS, ids=IDS)
def test_an_example_matches_no_other_row_of_its_agent(stem, row):
    others = [other["id"] for agent, other in ROWS if agent == stem and other is not row and
              re.search(other["pattern"], row["example"])]
    assert sorted(others) == sorted(row.get("also", ()))


@pytest.mark.parametrize(("stem", "row"), [(stem, row) for stem, row in ROWS if row["nests"]],
                         ids=[row["id"] for _, row in ROWS if row["nests"]])
def test_the_nested_error_begins_where_the_wrapper_ends(stem, row):
    found = re.search(row["pattern"], row["example"])
    nested = row["example"][found.end():].lstrip('"<\\\n\t ')
    assert nested, "an example of a row that nests has a nested error"
    assert not nested.startswith(("err=", "error=", ":")), nested


def test_the_table_is_large_and_its_ids_are_unique():
    assert len(IDS) == len(set(IDS)) >= 120
    for agent, count in sorted(collections.Counter(stem for stem, _ in ROWS).items()):
        print("%-24s %4d" % (agent, count))
    print("%-24s %4d" % ("all", len(ROWS)))
