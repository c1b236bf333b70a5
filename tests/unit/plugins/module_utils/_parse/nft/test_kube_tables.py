# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nft commands are run, and what their output gives; against the real nft too."""

import re

import pytest

import kube_cluster
import kube_nft
from node_processes import needs_root
from parsed_texts import shown
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft import kube_tables
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.kube_tables import (
    BALANCING, FIRST, NOT_DEEP, SETS, WHOLE_CHAINS, KubeTablesReader, leads_nowhere, lost_addresses, read_kube_tables)

CASES = [(family, layout) for family in ("ipv4", "ipv6") for layout in kube_nft.LAYOUTS]
SET_COMMANDS = [["list", kind, "ip", "kube-proxy", name] for kind, name in SETS]


def small(family="ipv4", layout="1.36", **options):
    return kube_nft.table(kube_cluster.every_kind(family), layout, **options)


def asked(answer, deep=False, whole_chains=0):
    """(KubeTables, commands that were run); by default even a small table counts as large."""
    commands = []

    def noted(arguments):
        commands.append(arguments)
        return answer(arguments)
    return read_kube_tables(noted, deep, whole_chains), commands


def not_deep(table):
    return NOT_DEEP % (len(table.chains), sum(name.startswith(BALANCING) for name in table.chains))


def test_only_tables_that_are_there_are_asked_for():
    found, commands = asked(lambda arguments: "table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority "
                                              "filter; policy accept;\n\t}\n}\n")
    assert commands == [FIRST]
    assert (found.status, found.looked, found.tables, found.others) == ("absent", True, {}, {("ip", "filter")})
    found, commands = asked(kube_nft.answers(small()))
    assert commands == [FIRST] + SET_COMMANDS + [["list", "chain", "ip", "kube-proxy", name]
                                                 for name in ("nat-prerouting", "services")]
    assert (found.status, sorted(found.tables), found.deep,
            found.unread) == ("ok", ["ipv4"], {"ipv4": not_deep(small())}, {})
    table = found.tables["ipv4"]
    assert table.chains["services"].rules == 3 and table.chains["masquerading"].rules is None


@pytest.mark.parametrize("family, layout", CASES)
def test_deep_knows_the_rules_of_all_chains(family, layout):
    table = small(family, layout)
    found, commands = asked(kube_nft.answers(table), deep=True)
    assert commands[-1] == ["list", "table", table.family, "kube-proxy"] and found.deep == {family: None}
    kept = found.tables[family]
    assert {name: chain.rules for name, chain in kept.chains.items()} == {
        name: len(rules) for name, (_head, rules) in table.chains.items()}
    assert leads_nowhere(kept) == {} and lost_addresses(kept) == [] and found.notices == {}


@cases
def test_no_chains_no_knowledge(status, rc, message, expected):
    reader = KubeTablesReader(False, 0)
    commands = []
    for arguments in reader.commands():
        commands.append(arguments)
        reader.end(status, rc, message)
    found = reader.close()
    assert commands == [FIRST]
    assert (found.status, found.looked, found.tables) == (expected, False, {})


def test_a_map_that_could_not_be_read_is_not_absent():
    table, reader = small(), KubeTablesReader(False, 0)
    for arguments in reader.commands():
        if arguments[-1] == "service-ips":
            reader.feed(b"table ip kube-proxy {\n\tmap serv")
            reader.end("timeout")
            continue
        reader.feed((kube_nft.answers(table)(arguments) or "").encode())
        reader.end("ok")
    found = reader.close()
    assert found.unread == {("ipv4", "service-ips"): "timeout"} and "service-ips" not in found.tables["ipv4"].sets


@pytest.mark.parametrize("given, status", [(lambda text: text[:len(text) // 2], "ok"), (lambda text: "", "ok"),
                                           (lambda text: text, "unparsed")])
@pytest.mark.parametrize("how", [(True, 0), (False,)])
def test_a_table_above_the_limit_or_cut_off_is_not_deep(given, status, how):
    table, reader = small(), KubeTablesReader(*how)
    for arguments in reader.commands():
        text = kube_nft.answers(table)(arguments)
        reader.feed((given(text) if arguments[1] == "table" else text).encode())
        reader.end(status if arguments[1] == "table" else "ok")
    found = reader.close()
    assert found.deep["ipv4"] and found.deep["ipv4"] != not_deep(table)
    assert (found.tables["ipv4"].chains["masquerading"].rules is None
            and found.tables["ipv4"].sets["service-ips"].elements)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_small_table_is_read_as_a_whole(family):
    table = small(family)
    found, commands = asked(kube_nft.answers(table), False, WHOLE_CHAINS)
    assert commands == [FIRST, ["list", "table", table.family, "kube-proxy"]] and found.deep == {family: None}
    assert shown(found.tables) == shown(asked(kube_nft.answers(table), True)[0].tables)
    assert asked(kube_nft.answers(table), False, len(table.chains))[1] == commands
    assert asked(kube_nft.answers(table), False, len(table.chains) - 1)[0].deep == {family: not_deep(table)}


def test_both_families_together_have_one_bound():
    """Where both tables together have too many chains, the smaller is read whole; the other has a reason why not."""
    big, tiny = small(), kube_nft.table(kube_cluster.cluster("ipv6", []))
    total = len(big.chains) + len(tiny.chains)
    assert asked(kube_nft.answers(big, tiny), False, total)[0].deep == {"ipv4": None, "ipv6": None}
    found, commands = asked(kube_nft.answers(big, tiny), False, total - 1)
    assert found.deep == {"ipv4": not_deep(big), "ipv6": None}
    assert [arguments[2] for arguments in commands if arguments[1] == "table"] == ["ip6"]


def test_too_many_maps_are_not_read_and_too_many_chains_not_probed(monkeypatch):
    monkeypatch.setattr(kube_tables, "WHOLE_BALANCING", 5)
    table = small()
    assert asked(kube_nft.answers(table), False, WHOLE_CHAINS)[0].deep == {"ipv4": not_deep(table)}
    assert asked(kube_nft.answers(table), True, WHOLE_CHAINS)[0].deep == {"ipv4": None}
    monkeypatch.setattr(kube_tables, "PROBED_CHAINS", 10)
    found, commands = asked(kube_nft.answers(small()))
    assert [arguments for arguments in commands if arguments[1] == "chain"] == []
    assert found.tables["ipv4"].chains["services"].rules is None


def test_the_second_table_is_known_before_the_first_was_read():
    reader, ahead = KubeTablesReader(), []
    tables = [small("ipv4"), small("ipv6")]
    for arguments in reader.commands():
        ahead.append((arguments[1:3], reader.next_table()))
        reader.feed((kube_nft.answers(*tables)(arguments) or "").encode())
        reader.end("ok")
    assert ahead == [(["chains"], None), (["table", "ip"], ["list", "table", "ip6", "kube-proxy"]),
                     (["table", "ip6"], None)]


def test_what_came_or_went_meanwhile_is_no_fault():
    def read(before, after, at):
        """The command of this number is answered before the change, all others after it."""
        commands = []

        def answer(arguments):
            commands.append(arguments)
            return kube_nft.answers(before if len(commands) == at else after)(arguments)
        return read_kube_tables(answer, False, 0).tables["ipv4"], commands
    more = small()
    more.sets["service-ips"][2].append("10.96.3.3 . tcp . 80 : goto service-ABCDEFGH-default/new/tcp/")
    more.chains["service-ABCDEFGH-default/new/tcp/"] = ([], ["meta l4proto tcp dnat to 10.244.0.9:80"])
    table, commands = read(small(), more, 1)
    assert commands.count(FIRST) == 2 and leads_nowhere(table) == {} and table.chains["services"].rules == 3
    more = small()
    more.sets["cluster-ips"][2].append("10.96.3.3")
    table, commands = read(more, small(), 2)
    assert commands[1][-1] == "cluster-ips" and lost_addresses(table) == []


def test_what_leads_nowhere():
    table = small()
    gone = next(name for name in table.chains if name.startswith("service-") and "/" in name)
    del table.chains[gone]
    assert leads_nowhere(asked(kube_nft.answers(table))[0].tables["ipv4"]) == {gone: "service-ips"}


@needs_root
@pytest.mark.parametrize("family, layout", CASES)
@pytest.mark.parametrize("all_addresses", [False, True])
def test_the_real_nft_prints_what_the_fixture_says(family, layout, all_addresses):
    """The words are the same, except for the order of elements, and each listing gives the same result."""
    table = small(family, layout, all_addresses=all_addresses)
    with kube_nft.RealNft() as real:
        real.load(table.text())
        for deep in (False, True):
            here, there = asked(kube_nft.answers(table), deep), asked(real.answer, deep)
            assert shown(here[0].tables) == shown(there[0].tables) and here[1] == there[1]
            assert there[0].notices == {} and there[0].unread == {}
        printed = real.answer(["list", "table", table.family, "kube-proxy"])
    # The kernel chooses the order in sets.
    assert sorted(re.split(r"[\s,{}]+", printed)) == sorted(re.split(r"[\s,{}]+", table.text()))


@needs_root
@pytest.mark.parametrize("layout", ["1.30", "1.36"])
def test_5000_services_of_the_real_nft(layout):
    made = kube_nft.table(kube_cluster.plain_cluster("ipv4", 5000, 2), layout)
    with kube_nft.RealNft() as real:
        empty = read_kube_tables(real.answer, True)
        assert (empty.status, empty.looked, empty.tables) == ("absent", True, {})
        real.load(made.text())
        found = read_kube_tables(real.answer)
        deep = read_kube_tables(real.answer, True)
        parts = read_kube_tables(real.answer, False, 0)
    assert found.status == "ok" and found.notices == deep.notices == {} and deep.deep == found.deep == {"ipv4": None}
    assert (shown(found.tables) == shown(deep.tables) and parts.deep == {"ipv4": not_deep(made)}
            and leads_nowhere(parts.tables["ipv4"]) == {})
    assert len(found.tables["ipv4"].sets["service-ips"].elements) == len(
        found.tables["ipv4"].sets["cluster-ips"].elements) == 5000
    assert leads_nowhere(found.tables["ipv4"]) == leads_nowhere(deep.tables["ipv4"]) == {}
