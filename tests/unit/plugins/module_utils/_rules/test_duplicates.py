# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that are there twice, and rules that may be."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.duplicates import ask_duplicates


def ask(text):
    rule_set = texts.read(text)
    return [(row["table"], row["chain"], row["text"], row["count"])
            for row in ask_duplicates(rule_set, texts.setting(rule_set))]


LINES = texts.FILTER + texts.NAT + [texts.LOCALNET]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_healthy_node_has_none(family):
    assert ask(texts.healthy(family)) == []


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_any_rule_twice(backend, line):
    name = "nat" if line in texts.NAT else "filter"
    assert ask(texts.adding(texts.healthy("ipv4", backend), name, line)) == [(name, line.split()[1], line, 1)]


def test_a_folded_service_rule_three_times():
    line = next(line for line in texts.healthy().split("\n") if line.startswith("-A KUBE-SERVICES -d"))
    assert ask(texts.adding(texts.healthy(), "nat", line, line)) == [("nat", "KUBE-SERVICES", line, 2)]


def test_a_jump_again_under_another_comment():
    again = '-A FORWARD -m comment --comment "mine" -j KUBE-FORWARD'
    assert ask(texts.adding(texts.healthy(), "filter", again)) == [("filter", "FORWARD", again, 1)]
    assert ask(texts.adding(texts.healthy(), "filter", "-A INPUT -j KUBE-FIREWALL",
                            '-A INPUT -m comment --comment "x" -j KUBE-FIREWALL')) == [
                                ("filter", "INPUT", "-A INPUT -j KUBE-FIREWALL", 1)]


@pytest.mark.parametrize(
    "table, rules", [
        ("nat", ["-A MINE -m statistic --mode random --probability 0.50000000000 -j KUBE-MARK-MASQ"] * 2),
        ("filter", ["-A MINE -m limit --limit 1/sec -j LOG"] * 2),
        ("filter", ["-A MINE"] * 2),
        ("filter", ["-A MINE -m recent --set --name X --mask 255.255.255.255 --rsource -j DROP"] * 2),
        ("filter", ["-A KUBE-POD-FW-AAAAAAAAAAAAAAAA -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"] * 2),
        ("nat", ["-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m tcp --dport 30080 -m nfacct --nfacct-name "
                 "localhost_nps_accepted_pkts -j KUBE-EXT-AAAAAAAAAAAAAAAA",
                 "-A KUBE-NODEPORTS -p tcp -m tcp --dport 30080 -j KUBE-EXT-AAAAAAAAAAAAAAAA"]),
        ("filter", ["-A INPUT -s 192.0.2.1/32 -j MINE", "-A INPUT -s 192.0.2.2/32 -j MINE",
                    "-A INPUT ! -s 192.0.2.1/32 -j MINE", "-A INPUT -j MINE"]),
        ("filter",
         ["-A FORWARD -m physdev --physdev-is-bridged -j MINE", "-A FORWARD -m addrtype --dst-type LOCAL -j MINE"]),
        ("filter", ["-A MINE -m comment --comment a -j ACCEPT", "-A MINE -m comment --comment b -j ACCEPT"]),
        # The second looks at, or sets, another mark than the first.
        ("nat", ["-A MINE -m mark --mark 0x1 -j RETURN", "-A MINE -s 192.0.2.1/32 -j MARK --set-xmark 0x1/0x1",
                 "-A MINE -m mark --mark 0x1 -j RETURN"]),
        ("nat", ["-A MINE -j MARK --set-xmark 0x0/0x1", "-A MINE -s 192.0.2.1/32 -j MARKS",
                 "-A MARKS -j CONNMARK --restore-mark", "-A MINE -j MARK --set-xmark 0x0/0x1"]),
        ("nat", ["-A MINE -m connmark --mark 0x1 -j RETURN", "-A MINE -j OTHER", "-A OTHER -j KUBE-MARK-MASQ",
                 "-A MINE -m connmark --mark 0x1 -j RETURN", "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000"]),
    ])
def test_repetition_that_has_a_meaning(table, rules):
    text = texts.small(table, "MINE MARKS OTHER KUBE-POD-FW-AAAAAAAAAAAAAAAA KUBE-NODEPORTS KUBE-EXT-AAAAAAAAAAAAAAAA "
                              "KUBE-MARK-MASQ", rules)
    assert ask(text) == []


def test_comments_and_counters_do_not_confuse():
    odd = '-A INPUT -m comment --comment "-m limit -j X" -j KUBE-FIREWALL'
    assert ask(texts.adding(texts.healthy(), "filter", odd)) == [("filter", "INPUT", odd, 1)]
    assert ask(texts.adding(texts.healthy(), "filter", odd, odd)) == [("filter", "INPUT", odd, 1)]
    text = texts.small("filter", "MINE",
                       ["[1:2] -A MINE -s 192.0.2.1/32 -j DROP", "[3:4] -A MINE -s 192.0.2.1/32 -j DROP"])
    assert ask(text) == [("filter", "MINE", "-A MINE -s 192.0.2.1/32 -j DROP", 1)]


@pytest.mark.parametrize("at", range(0, len(texts.healthy()), 101))
def test_what_was_read_of_a_table_that_is_cut_off_is_judged(at):
    start = texts.healthy()[:at]
    table = start.rpartition("\n*")[2].partition("\n")[0] if "\n*" in start else None
    expected = [(table, "KUBE-FIREWALL", "-A KUBE-FIREWALL -j X",
                 2)] if table in ("filter", "mangle", "nat") and "COMMIT" not in start.rpartition(
                     "\n*")[2] else []
    assert ask(start + "\n" + "-A KUBE-FIREWALL -j X\n" * 3) == expected


@pytest.mark.parametrize("limit", [0, 2, 1000])
def test_of_many_repeated_rules_all_copies_are_counted(limit, monkeypatch):
    monkeypatch.setattr(save_lines, "REPEATED_LIMIT", limit)
    rules = ["-A FORWARD -s 192.0.2.%d/32 -j ACCEPT" % number
             for number in range(5)] + ["-A FORWARD -m limit --limit 5/min -j ACCEPT"]
    jumps = ["-A FORWARD -s 192.0.2.%d/32 -j MINE" % number for number in range(5)]
    rule_set = texts.read(texts.adding(texts.healthy(), "filter", ":MINE - [0:0]", *(2 * (rules + jumps) + rules)))
    rows = list(ask_duplicates(rule_set, texts.setting(rule_set)))
    assert sum(row["count"] for row in rows) == 15
    assert len([row for row in rows if row["text"]]) == min(limit, 10)


@pytest.mark.parametrize(
    "between, copies", [
        ([], 2), (["-A MINE -s 192.0.2.1/32 -j ACCEPT", "-A MINE -s 192.0.2.1/32 -j OTHER"], 2),
        (["-A MINE -m mark --mark 0x2 -j RETURN"], 2), (["-A MINE -p tcp -j MARK --set-xmark 0x1/0x1"], 1)])
def test_a_rule_of_marks_again_with_the_same_mark(between, copies):
    for rule in ("-A MINE -m mark --mark 0x1 -j RETURN", "-A MINE -j MARK --set-xmark 0x4/0x4"):
        text = texts.small("nat", "MINE OTHER", [rule] + between + [rule, rule])
        assert ask(text) == [("nat", "MINE", rule, copies)]
