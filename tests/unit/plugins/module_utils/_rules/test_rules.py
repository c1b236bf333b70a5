# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small questions asked of one rule, and which tables may be judged."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import rules, tables
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import since


def rule(words):
    return texts.read(texts.small("filter", "A", ["-A A " + words])).tables["filter"].chains["A"].rules[0]


@pytest.mark.parametrize(
    "words, ranges", [
        ("-p tcp -m tcp --dport 80", [(80, 80)]), ("-p tcp -m tcp --dport 80:90", [(80, 90)]),
        ("-p tcp -m tcp --dport 60000:", [(60000, 65535)]),
        ("-p udp -m multiport --dports 53,80:90", [(53, 53), (80, 90)]), ("-p tcp -m tcp ! --dport 80", None),
        ("-p tcp -m multiport ! --dports 1,2", None), ("-p tcp -m tcp --sport 80", None), ("-p tcp", None),
        ('-m comment --comment "--dport 80"', None), ("-p tcp -m tcp --dport http", []),
    ])
def test_destination_ports(words, ranges):
    assert rules.port_ranges(rule(words)) == ranges


@pytest.mark.parametrize("words, states",
                         [
                             ("-m conntrack --ctstate NEW,RELATED", {"NEW", "RELATED"}),
                             ("-m state --state INVALID", {"INVALID"}), ("-m conntrack ! --ctstate INVALID", set()),
                             ("-m comment --comment \"--ctstate NEW\"", set()), ("-s 192.0.2.1/32", set()),
                         ])
def test_connection_states(words, states):
    assert rules.states(rule(words)) == states


def test_other_matches():
    some = rule("! -s 192.0.2.1/32 -d 192.0.2.2/32 -m addrtype --dst-type LOCAL -j ACCEPT")
    assert (rules.plain_value(some, "-s"), rules.plain_value(some, "-d"),
            rules.plain_value(some, "-i")) == (None, "192.0.2.2/32", None)
    assert rules.to_local(some) and rules.uses(some, "addrtype") and not rules.uses(some, "mark")
    assert (not rules.to_local(rule("-m addrtype ! --dst-type LOCAL"))
            and not rules.to_local(rule("-m addrtype --src-type LOCAL")))


def test_versions():
    known = texts.setting(kubernetes=(1, 27))
    assert (since(known, (1, 27)), since(known, (1, 28)),
            since(texts.setting(kubernetes=None), (1, 20))) == (True, False, None)


def test_what_a_table_lacks_is_told_if_it_was_printed_to_the_end():
    whole = texts.healthy()
    cut = texts.read(whole[:whole.index("-A FORWARD")])
    assert [name for name, _table in tables.readable(texts.read(whole))] == ["filter", "mangle", "nat"]
    assert [name for name, _table in tables.readable(cut)] == ["filter", "mangle"]
    assert (tables.table_of(cut, "filter").complete, tables.chains_of(cut, "filter"),
            tables.chains_of(cut, "nat")) == (False, None, None)


def test_what_a_live_reading_does_not_print_is_not_there():
    nat = texts.small("nat", "", [])
    assert (tables.chains_of(texts.read(nat), "mangle"),
            tables.chains_of(texts.read(nat, "nat.txt"), "mangle")) == ({}, None)
    incompatible = texts.read(nat + "# Table `mangle' is incompatible, use 'nft' tool.\n")
    assert tables.chains_of(incompatible, "mangle") is None
