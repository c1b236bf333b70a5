# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of a node, checked against the schema: the right type within bounds, or a sentence with the reason."""

import copy
import json

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _evidence, _policy


@pytest.fixture
def facts():
    return healthy(_policy.default_policy().module_names)


def problem(facts):
    sections, problems = _evidence.checked_sections(facts)
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
    assert _evidence.checked_sections(facts) == (facts, {})
    assert _evidence.checked_sections(json.loads(json.dumps(facts))) == (facts, {})


def test_what_is_not_documented_is_dropped(facts):
    foreign = dict(facts, node_gate_mode="never", node_report_folder="/anywhere", preflight_fix="disruptive",
                   ansible_connection="local")
    foreign["node_host"] = dict(facts["node_host"], ansible_facts={"preflight_fix": "disruptive"})
    assert _evidence.checked_sections(foreign) == (facts, {})


@pytest.mark.parametrize("facts", [None, [], "node_host", 3, {1: 2}, {"node_host ": {}}])
def test_no_facts_at_all(facts):
    assert _evidence.checked_sections(facts) == ({}, {})


@pytest.mark.parametrize(
    "path, value, words", [
        (["node_host"], None, "node_host is null"),
        (["node_host"], [], "node_host must be a dictionary"),
        (["node_host", "schema"], 2, "node_host.schema is not 1, the version that this collection reads"),
        (["node_host", "schema"], True, "node_host.schema must be a whole number"),
        (["node_host", "collected"], None, "node_host.collected is null"),
        (["node_host", "ipv6"], 1, "node_host.ipv6 must be true or false"),
        (["node_host", "place"], "x" * 4097, "node_host.place is longer than 4096 characters"),
        (["node_host", "place"], "\ud800", "node_host.place contains a surrogate, which is not a character"),
        (["node_host", "os", "id_like"], ["a"] * 2001, "node_host.os.id_like has more than 2000 elements"),
        (["node_host", "os", "id_like"], ["a", None], "node_host.os.id_like[1] is null"),
        (["node_host", "tools"], {str(number): None for number in range(501)},
         "node_host.tools has more than 500 keys"),
        (["node_host", "tools", "\udcff"], None, "node_host.tools.(a key) contains a surrogate"),
        (["node_host", "tools", "nft"], {"deep": {}},
         "node_host.tools.(a key) must be a text, a number, or true or false"),
        (["node_conntrack", "used_percent"], float("nan"), "node_conntrack.used_percent is not a finite number"),
        (["node_conntrack", "used_percent"], float("inf"), "node_conntrack.used_percent is not a finite number"),
        (["node_conntrack", "max"], 2 ** 64, "node_conntrack.max is a number larger than 64 bits"),
        (["node_conntrack", "max"], 1.5, "node_conntrack.max must be a whole number"),
        (["node_conntrack", "sysctls", 3, "now"], {"a": [[]]},
         "node_conntrack.sysctls[3].now.(a key)[0] must be a text, a number, or true or false"),
        (["node_conntrack", "sysctls"], None, "node_conntrack.sysctls is null"),
        (["node_kernel_modules", "modules", 7], {}, "node_kernel_modules.modules[7].name is missing"),
    ])
def test_what_does_not_fit(facts, path, value, words):
    facts = changed(facts, path, value)
    found = problem(facts)
    assert len(found) == 1 and words in found[0]
    assert sorted(_evidence.checked_sections(facts)[0]) == sorted(set(facts) - {path[0]})


def test_all_sections_together_are_bounded(facts):
    """A section that is too large for the remaining space is dropped; the sections after it are kept."""
    rows = [{"source": "s" * 4000, "table": None, "evidence": "e" * 4000}] * 60
    sections, problems = _evidence.checked_sections(changed(facts, ["node_iptables_chains", "unread"], rows))
    assert (list(problems) == ["node_iptables_chains"]
            and "is larger than the 256 KB that an answer may have" in problems["node_iptables_chains"])
    assert len(sections) == len(facts) - 1


def test_a_reason_holds_nothing_of_the_node(facts):
    assert "evil" not in problem(changed(facts, ["node_host", "tools"], {"evil\x1b[2J": ["evil", {"evil": 1}]}))[0]


def test_marked_texts_become_plain(facts):
    class Marked(str):
        pass

    sections, _problems = _evidence.checked_sections(changed(facts, ["node_host", "place"], Marked("live")))
    assert sections["node_host"]["place"] == "live" and not isinstance(sections["node_host"]["place"], Marked)


def test_what_a_terminal_obeys_is_written_out(facts):
    sections, problems = _evidence.checked_sections(changed(facts, ["node_host", "os", "name"],
                                                            "a\x1b[2J\x9b\u202eb\tc\n"))
    assert sections["node_host"]["os"]["name"] == "a\\x1b[2J\\x9b\\u202eb\tc\n" and not problems
