# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of a node, checked against the schema: the right type within bounds, or a sentence with the reason."""

import copy
import json

import pytest
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies


@pytest.fixture
def facts():
    return healthy(policies.default_policy().module_names)


def problem(facts):
    sections, problems = validate.checked_sections(facts)
    assert not set(sections) & set(problems)
    return list(problems.values())


def changed(facts, path, value):
    facts = copy.deepcopy(facts)
    *way, last = path
    part = facts
    for key in way:
        part = part[key]
    part[last] = value
    return facts


def test_what_fits_is_kept_as_it_is(facts):
    assert validate.checked_sections(facts) == (facts, {})
    assert validate.checked_sections(json.loads(json.dumps(facts))) == (facts, {})


def test_what_is_not_documented_is_dropped(facts):
    foreign = dict(facts, node_gate_mode="never", node_report_folder="/anywhere", preflight_fix="disruptive",
                   ansible_connection="local")
    foreign["node_host"] = dict(facts["node_host"], ansible_facts={"preflight_fix": "disruptive"})
    assert validate.checked_sections(foreign) == (facts, {})


@pytest.mark.parametrize("facts", [None, [], "node_host", 3, {1: 2}, {"node_host ": {}}])
def test_no_facts_at_all(facts):
    assert validate.checked_sections(facts) == ({}, {})


@cases
def test_what_does_not_fit(facts, path, value, words):
    facts = changed(facts, path, value)
    found = problem(facts)
    assert len(found) == 1 and words in found[0]
    assert sorted(validate.checked_sections(facts)[0]) == sorted(set(facts) - {path[0]})


def test_all_sections_together_are_bounded(facts):
    """A section that is too large for the remaining space is dropped; the sections after it are kept."""
    many = changed(facts, ["node_host", "tools"], {str(number): None for number in range(501)})
    assert "node_host.tools has more than 500 keys" in problem(many)[0]
    rows = [{"source": "s" * 4000, "table": None, "evidence": "e" * 4000}] * 60
    sections, problems = validate.checked_sections(changed(facts, ["node_iptables_chains", "unread"], rows))
    assert (list(problems) == ["node_iptables_chains"]
            and "is larger than the 256 KB that an answer may have" in problems["node_iptables_chains"])
    assert len(sections) == len(facts) - 1


def test_a_reason_holds_nothing_of_the_node(facts):
    assert "evil" not in problem(changed(facts, ["node_host", "tools"], {"evil\x1b[2J": ["evil", {"evil": 1}]}))[0]


def test_marked_texts_become_plain(facts):
    class Marked(str):
        pass

    sections, _problems = validate.checked_sections(changed(facts, ["node_host", "place"], Marked("live")))
    assert sections["node_host"]["place"] == "live" and not isinstance(sections["node_host"]["place"], Marked)


def test_what_a_terminal_obeys_is_written_out(facts):
    sections, problems = validate.checked_sections(changed(facts, ["node_host", "os", "name"],
                                                           "a\x1b[2J\x9b\u202eb\tc\n"))
    assert sections["node_host"]["os"]["name"] == "a\\x1b[2J\\x9b\\u202eb\tc\n" and not problems
