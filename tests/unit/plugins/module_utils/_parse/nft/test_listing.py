# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listings of nft, read line by line, their elements, rules and chains, and rules as the kernel has them."""

import random
import struct

import kube_audit
import kube_cluster
import kube_nft
import pytest
from case_rows import cases
from hypothesis import given, strategies as st
from parsed_texts import parse_listing, shown

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.netlink import attributes_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft import listing
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.listing import ListingReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.ruleset import save_text_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.statements import (
    base_chain, leads_to, parse_element, rule_text, share_of, split_at_commas, without_quoted,
)

CASES = [(family, layout) for family in ("ipv4", "ipv6") for layout in kube_nft.LAYOUTS]
SAMPLE = """\
table ip filter { # handle 1
\tchain INPUT {
\t\ttype filter hook input priority filter; policy drop;
\t\ttcp dport 22 accept
\t}

\tchain extra {
\t}

\tcounter seen {
\t\tpackets 3 bytes 180
\t}
}
# Warning: table ip nat is managed by iptables-nft, do not touch!
table ip kube-proxy {
\tcomment "rules for } kube-proxy {"
\tflags dormant,owner

\tset cluster-ips {
\t\ttype ipv4_addr
\t\tcomment "Active ClusterIPs"
\t\telements = { 10.96.0.1, 10.96.0.10,
\t\t\t     10.96.0.11 }
\t}

\tmap empty {
\t\ttype inet_proto . inet_service : verdict
\t}

\tchain reject-chain {
\t\tcomment "helper for @no-endpoint-services / @no-endpoint-nodeports"
\t\treject
\t}

\tchain external-A-n/s/tcp/ {
\t\tip saddr 10.0.0.0/8 goto service-A-n/s/tcp/ comment "a } brace, an open { one"
\t\tgoto local-A-n/s/tcp/
\t}

\tchain wrapped {
\t\tnumgen random mod 2 vmap { 0 : goto x,
\t\t\t1 : goto y }
\t\tjump z
\t}
}
"""
# What a rule is made of, one after the other.
PIECES = ["jump ", "goto ", "dnat ", "to ", "numgen random mod 2 map { ", "0 : 10.0.0.1 . 80", ", ", " }", "\"", "[",
          "]:", "80", "a/b", " "]
# Rules of iptables as nft 1.0.6 lists them, and as iptables-nft-save 1.8.9 prints them.
LISTED = ("table ip filter {\n\tchain FORWARD {\n"
          "\t\ttype filter hook forward priority filter; policy accept;\n\t\t%s\n\t}\n}")


def test_every_block():
    tables, notices = parse_listing(SAMPLE)
    assert notices == {} and sorted(tables) == [("ip", "filter"), ("ip", "kube-proxy")]
    kube = tables["ip", "kube-proxy"]
    assert kube.flags == ("dormant", "owner") and kube.complete
    assert [element.key
            for element in kube.sets["cluster-ips"].elements] == [("10.96.0.1",), ("10.96.0.10",), ("10.96.0.11",)]
    assert kube.sets["empty"].elements == [] and kube.sets["empty"].complete and kube.sets["empty"].kind == "map"
    external = kube.chains["external-A-n/s/tcp/"]
    assert list(external.targets) == ["service-A-n/s/tcp/",
                                      "local-A-n/s/tcp/"] and external.otherwise == "local-A-n/s/tcp/"
    assert not external.is_base and external.texts == () and external.rules == 2
    assert list(kube.chains["wrapped"].targets) == ["x", "y", "z"] and kube.chains["wrapped"].rules == 2
    assert kube.chains["reject-chain"].texts == ("reject",)
    chain = tables["ip", "filter"].chains["INPUT"]
    assert (chain.type, chain.hook, chain.priority, chain.policy, chain.rules) == ("filter", "input", 0, "drop", 1)


def test_only_base_chains_of_other_tables_and_a_list_without_rules():
    reader = ListingReader(whole=lambda family, name: name == "kube-proxy")
    reader.feed(SAMPLE.encode())
    assert sorted(reader.close()["ip", "filter"].chains) == ["INPUT"]
    assert reader.notices == {}
    tables, _notices = parse_listing("table ip kube-proxy {\n\tchain services {\n\t}\n}\n", rules=False)
    assert tables["ip", "kube-proxy"].chains["services"].rules is None
    tables, _notices = parse_listing("table ip kube-proxy {\n\tchain services {\n\t}\n}\n")
    assert tables["ip", "kube-proxy"].chains["services"].rules == 0


@cases
def test_what_is_not_understood_is_told(text, notices):
    assert parse_listing(text)[1] == notices


def test_neither_a_line_nor_a_brace_without_end_takes_the_rest(monkeypatch):
    monkeypatch.setattr(listing, "LINE_LIMIT", 1000)
    reader = ListingReader()
    reader.feed(b"table ip x {\n\tchain a {\n\t\t")
    for _time in range(50):
        reader.feed(b"jump y " * 100)
        assert len(reader._rest) <= 1700
    reader.feed(b"\n\t\tjump b\n\t}\n}\n")
    tables = reader.close()
    assert list(tables["ip", "x"].chains["a"].targets) == ["b"]
    assert reader.notices == {"oversized_line": 1}
    monkeypatch.setattr(listing, "WRAPS_LIMIT", 10)
    tables, notices = parse_listing("table ip x {\n\tchain a {\n\t\tip saddr {\n" + "\t\tjump y\n" * 25 + "\t}\n}\n")
    table = tables["ip", "x"]
    assert table.complete and table.chains["a"].rules == 16 and notices == {"unreadable_line": 1}


def test_examples_are_few_and_short():
    reader = ListingReader()
    reader.feed(b"x" * 500 + b"\n" + b"nonsense\n" * 100)
    reader.close()
    assert reader.notices == {"unreadable_line": 101}
    assert len(reader.examples) == 5 and reader.examples[0] == ("unreadable_line", 1, "x" * 200)


@pytest.mark.parametrize("family, layout", CASES)
def test_chunks_may_end_anywhere(family, layout):
    source = random.Random(kube_audit.seed())
    text = kube_nft.table(kube_cluster.every_kind(family), layout).text().encode()
    reader, at = ListingReader(), 0
    while at < len(text):
        step = source.choice((1, 2, 7, 100, 4096))
        reader.feed(text[at:at + step])
        at += step
    assert shown(reader.close()) == shown(parse_listing(text)[0])
    assert reader.notices == {}


@pytest.mark.parametrize("family, layout", CASES)
def test_a_cut_listing_is_told_and_never_wrong(family, layout):
    """Wherever it ends: what was read is the beginning of the whole, and the table is not complete."""
    source = random.Random(kube_audit.seed())
    text = kube_nft.table(kube_cluster.every_kind(family), layout).text()
    whole = parse_listing(text)[0].popitem()[1]
    for _time in range(20):
        at = source.randrange(len("table ip6 kube-proxy {\n"), len(text) - 2)
        tables, notices = parse_listing(text[:at])
        cut = tables.popitem()[1]
        assert "cut_off" in notices and not cut.complete, at
        for name, found in cut.sets.items():
            if found.complete:
                assert found.elements == whole.sets[name].elements, at


@given(st.lists(st.one_of(st.sampled_from(SAMPLE.split("\n")), st.lists(st.sampled_from(PIECES)).map("".join),
                          st.text(st.characters(blacklist_categories=("Cs",)), max_size=40)), max_size=60))
def test_any_order_of_lines_raises_nothing(lines):
    tables, notices = parse_listing("\n".join(lines))
    assert all(count > 0 for count in notices.values())
    assert all(name for table in tables.values() for name in table.chains)


@given(st.binary(max_size=400))
def test_any_bytes_raise_nothing(data):
    tables, notices = parse_listing(data)
    # Nothing but blanks, comments and tables goes by without a word.
    if not tables and not notices:
        assert all(not line.strip() or line.strip().startswith("#")
                   for line in data.decode("utf-8", "replace").split("\n"))


@cases
def test_forms(text, expected):
    assert parse_element(text) == expected


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


@cases
def test_base_chains(line, expected):
    assert base_chain(line) == expected


@cases
def test_where_rules_lead(line, targets, endpoints):
    assert leads_to(without_quoted(line)) == (targets, endpoints)


def test_a_map_that_balances_in_one_line():
    assert share_of("numgen random mod 3 vmap { 0 : goto a, 1 : goto b }") == (3, 2)
    assert share_of("ip daddr 10.96.0.1 vmap { 0 : goto a }") is None


@cases
def test_states_and_status_of_connections(printed, rule):
    text = save_text_of((LISTED % printed).split("\n"))["ipv4", "filter"]
    assert text.rules == ["-A FORWARD %s" % rule] and text.whole and not text.doubts
