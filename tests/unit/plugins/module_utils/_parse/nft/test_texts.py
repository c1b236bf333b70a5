# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elements, rules and chains as nft prints them, and rules as the kernel has them."""

import struct

import pytest
from hypothesis import given, settings, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.netlink import attributes_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.elements import (
    Element, ElementReader, parse_element, split_at_commas)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.expressions import rule_text
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.rules import (
    base_chain, leads_to, share_of, without_quoted)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.ruleset import save_text_of


# Elements of nftables sets and maps.

# What nft takes in a comment: anything printable but a quotation mark.
COMMENTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2fff, blacklist_characters='"',
                                 blacklist_categories=("Zl", "Zp", "Cc", "Zs")), min_size=1, max_size=40)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-/._:", min_size=1,
                max_size=30).filter(lambda word: word not in (".", ":"))
VERDICTS = st.one_of(st.sampled_from([("drop", None), ("accept", None), ("return", None), (None, None)]),
                     st.builds(lambda word: ("goto", "service-" + word), WORDS),
                     st.builds(lambda word: ("jump", word), WORDS))
ELEMENTS = st.builds(lambda key, verdict, comment: Element(tuple(key), verdict[0], verdict[1], comment),
                     st.lists(WORDS, min_size=1, max_size=4), VERDICTS, st.one_of(st.none(), COMMENTS))


def printed(element):
    text = " . ".join(element.key) + (' comment "%s"' % element.comment if element.comment else "")
    return text + (" : " + " ".join(word for word in (element.verdict, element.target) if word)
                   if element.verdict else "")


def read(lines):
    found, unread = [], []
    reader = ElementReader(found.append)
    for line in lines:
        unread += reader.line(line)
    return found, unread, reader.done


@cases
def test_forms(text, expected):
    assert parse_element(text) == expected


def test_as_nft_breaks_lines():
    assert (read(["172.30.0.42 . udp . 53 : goto a,", "172.30.0.41 . tcp . 80 : drop,", "1.1.1.1 . tcp . 1 : goto b }"])
            == ([
                Element(("172.30.0.42", "udp", "53"), "goto", "a", None),
                Element(("172.30.0.41", "tcp", "80"), "drop", None, None),
                Element(("1.1.1.1", "tcp", "1"), "goto", "b", None)], [], True))


def test_an_empty_set_and_one_that_goes_on():
    assert read(["}"]) == ([], [], True)
    assert read(["a, b,"])[1:] == ([], False)


@settings(print_blob=True)
@given(st.lists(ELEMENTS, max_size=12), st.data())
def test_whatever_is_printed_is_read(elements, data):
    """Lines may break behind any comma."""
    text = "".join(printed(element) + (data.draw(st.sampled_from([", ", ",\n"])) if index < len(elements) - 1 else " }")
                   for index, element in enumerate(elements)) or "}"
    assert read(text.split("\n")) == (elements, [], True)


@settings(print_blob=True)
@given(st.lists(st.text(st.characters(blacklist_categories=("Cs",)), max_size=80), max_size=8))
def test_hostile_lines_are_read_or_told(lines):
    found, unread, _done = read(lines)
    assert all(element.key for element in found) and all(isinstance(text, str) for text in unread)


@settings(print_blob=True)
@given(st.text('ab,"} ', max_size=60))
def test_no_letter_is_lost_at_a_comma(text):
    expected = text if text.count('"') % 2 == 0 else text + '"'
    assert ",".join(split_at_commas(text)) == expected


# Rules as the kernel has them, put into the words nft prints; against the real kernel in test_iptables_chains.py.

def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def verdict(code, chain=b""):
    inner = attribute(1, struct.pack("!i", code)) + (attribute(2, chain + b"\0") if chain else b"")
    return "immediate", {1: struct.pack("!I", 0), 2: attribute(2, inner)}


@pytest.mark.parametrize(
    "rule, text", [
        ([verdict(0)], "drop"), ([verdict(1)], "accept"), ([verdict(-5)], "return"),
        ([verdict(-3, b"services")], "jump services"), ([verdict(-4, b"reject-chain")], "goto reject-chain"),
        ([verdict(77)], "verdict"), ([("counter", {1: struct.pack("!Q", 60), 2: struct.pack("!Q", 1)}), verdict(0)],
                                     "counter packets 1 bytes 60 drop"),
        ([("payload", {}), ("lookup", {1: b"service-ips\0", 3: struct.pack("!I", 0)})], "payload vmap @service-ips"),
        ([("lookup", {1: b"cluster-ips\0"}), ("reject", {})], "@cluster-ips reject"), ([("masq", {})], "masquerade"),
        ([("immediate", {1: struct.pack("!I", 1)}), ("nat", {1: struct.pack("!I", 1)})], "dnat"),
        ([("nat", {})], "snat"), ([("immediate", {})], ""), ([("immediate", {1: struct.pack("!I", 0), 2: b"\1"})],
                                                             "verdict"), ([("unheard-of", {})], "unheard-of"), ([], ""),
    ])
def test_words_of_a_rule(rule, text):
    assert rule_text(rule, attributes_of) == text


# Lines of chains as nft prints them.

PIECES = ["jump ", "goto ", "dnat ", "to ", "numgen random mod 2 map { ", "0 : 10.0.0.1 . 80", ", ", " }", "\"", "[",
          "]:", "80", "a/b", " "]


@cases
def test_base_chains(line, expected):
    assert base_chain(line) == expected


@cases
def test_where_rules_lead(line, targets, endpoints):
    assert leads_to(without_quoted(line)) == (targets, endpoints)


def test_a_map_that_balances_in_one_line():
    assert share_of("numgen random mod 3 vmap { 0 : goto a, 1 : goto b }") == (3, 2)
    assert share_of("ip daddr 10.96.0.1 vmap { 0 : goto a }") is None


@settings(print_blob=True)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_hostile_rules_raise_nothing(line):
    plain = without_quoted(line)
    targets, endpoints = leads_to(plain)
    assert all(target in plain for target in targets) and all(isinstance(endpoint, str) for endpoint in endpoints)


# Rules of iptables as nft 1.0.6 lists them, and as iptables-nft-save 1.8.9 prints them.

LISTED = ("table ip filter {\n\tchain FORWARD {\n"
          "\t\ttype filter hook forward priority filter; policy accept;\n\t\t%s\n\t}\n}")


@cases
def test_states_and_status_of_connections(printed, rule):
    text = save_text_of((LISTED % printed).split("\n"))["ipv4", "filter"]
    assert text.rules == ["-A FORWARD %s" % rule] and text.whole and not text.doubts
