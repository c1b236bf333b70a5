# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that lost a match, and rules that rightly have none; verdicts that kube-proxy does not write."""

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.lost_match import ask_lost_match

# Rules whose match was lost, and rules that rightly have none.

LOCALNET, UNMARKED, MARKED, INVALID = texts.LOCALNET, texts.UNMARKED, texts.MARKED, texts.INVALID
SVC, EXT = texts.SVC, texts.EXT


def ask(text):
    rule_set = texts.read(text)
    return list(ask_lost_match(rule_set, texts.setting(rule_set)))


@pytest.mark.parametrize("backend", ["nft", "legacy"])
@cases
def test_a_stripped_rule_is_told_alone(backend, old, new, chain_name):
    rows = ask(texts.instead(texts.healthy("ipv4", backend), old, new))
    assert [(row["kind"], row["chain"], row["text"]) for row in rows] == [("lost_match", chain_name, new)]
    assert ("nft list table" in rows[0]["detail"]) == (backend == "nft")


@cases
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_these_never_go_without_a_match(family, table, name, rule):
    text = texts.small(table, name, ["-A %s %s" % (name, rule)], family)
    assert [(row["kind"], row["family"], row["chain"], row["text"])
            for row in ask(text)] == [("lost_match", family, name, "-A %s %s" % (name, rule))]
    matched = "-A %s -m mark --mark 0x1/0x1 %s" % (name, rule)
    if " DNAT " not in rule:
        assert ask(texts.small(table, name, [matched], family)) == []


@cases
def test_these_may_be_bare(table, name, rules):
    user = "X KUBE-MARK-MASQ KUBE-MARK-DROP" if name in ("FORWARD", "INPUT") else "X KUBE-MARK-MASQ " + name
    assert ask(texts.small(table, user, ["-A %s %s" % (name, rule) for rule in rules])) == []


@cases
def test_a_lost_port_is_a_lost_match(table, old, new):
    user = "KUBE-SERVICES KUBE-NODEPORTS KUBE-EXTERNAL-SERVICES CNI-DN-4b4398da9cebdf54f85fe %s %s" % (SVC, EXT)
    assert ask(texts.small(table, user, [old])) == []
    rows = ask(texts.small(table, user, [new, new.replace("-p tcp", "-p udp", 1)]))
    assert [(row["text"], row["detail"].split(";")[0], row["count"])
            for row in rows] == [(new, "the destination port is missing", 2)]


def test_what_was_read_of_a_table_that_is_cut_off_is_judged():
    whole = texts.small("filter", "KUBE-FIREWALL", ["-A KUBE-FIREWALL -j DROP"])
    assert ask(texts.instead(whole, "COMMIT\n", "")) == ask(whole) != []


JUMPS = [("KUBE-SERVICES", SVC), ("KUBE-SERVICES", EXT), ("KUBE-SERVICES", "KUBE-FW-AAAAAAAAAAAAAAAA"),
         ("KUBE-NODEPORTS", EXT), ("KUBE-NODEPORTS", SVC), ("KUBE-NODEPORTS", "KUBE-XLB-AAAAAAAAAAAAAAAA"),
         ("KUBE-SERVICES", "KUBE-MARK-MASQ"), ("KUBE-NODEPORTS", "KUBE-MARK-MASQ"),
         ("KUBE-NODE-PORT", "KUBE-MARK-MASQ"), (SVC, "KUBE-MARK-MASQ"), ("KUBE-SVL-AAAAAAAAAAAAAAAA", "KUBE-MARK-MASQ")]
MASQUERADING = "-A %s -d 10.96.0.1/32 -p tcp -m comment --comment web -m tcp --dport 80 -j KUBE-MARK-MASQ" % SVC


@pytest.mark.parametrize("name, target", JUMPS)
@pytest.mark.parametrize("mode", ["iptables", "ipvs", None])
@pytest.mark.parametrize("comment", ["", '-m comment --comment "shop/web:http -d 10.96.0.1/32" '])
def test_a_bare_jump_to_a_chain_of_services(name, target, mode, comment):
    rule = "-A %s %s-j %s" % (name, comment, target)
    rule_set = texts.read(texts.small("nat", " ".join(sorted({name, target})), [rule, rule.replace("-d ", "-s ")]))
    rows = list(ask_lost_match(rule_set, texts.setting(rule_set, mode=mode)))
    assert [(row["kind"], row["chain"], row["text"], row["count"]) for row in rows] == [("lost_match", name, rule, 2)]


def test_a_service_masquerades_its_own_address_only():
    text = texts.instead(texts.healthy(), "-A %s -m comment" % SVC, MASQUERADING + "\n-A %s -m comment" % SVC)
    assert ask(text) == [], "also where everything that goes to a Service is masqueraded"
    bare = "-A %s -j KUBE-MARK-MASQ" % SVC
    rows = ask(texts.instead(text, MASQUERADING, bare))
    assert [(row["kind"], row["text"]) for row in rows] == [("lost_match", bare)]


@pytest.mark.parametrize("target", ["DROP", "RETURN"])
def test_a_service_that_ends_before_its_balancing(target):
    for first in (("-j " + target,), ("-m comment --comment mine -j " + target, "-s 198.51.100.1/32 -j ACCEPT")):
        rules = "".join("-A %s %s\n" % (SVC, rule) for rule in first)
        rows = ask(texts.instead(texts.healthy(), "-A %s -m comment" % SVC, rules + "-A %s -m comment" % SVC))
        assert texts.told(rows) == [("unexpected_drop", "nat", SVC)]
        assert rows[0]["text"] == "-A %s %s" % (SVC, first[0])
    before = ("-A %s -m comment --comment other -m statistic --mode random --probability 0.5 -j "
              "KUBE-SEP-AAAAAAAAAAAAAAAA" % SVC)
    rows = ask(texts.small("nat", SVC + " KUBE-SEP-AAAAAAAAAAAAAAAA", ["-A %s -j %s" % (SVC, target), before]))
    assert texts.told(rows) == [("unexpected_drop", "nat", SVC)], "what comes behind it need not be folded"


# Rules that lost one of several matches, and verdicts that kube-proxy does not write.

@cases
def test_a_rule_that_lost_one_of_its_matches(table, name, rule, lost):
    def asked(line):
        chains = {name, SVC, "KUBE-NODEPORTS", "KUBE-MARK-MASQ", "cali-from-wl-dispatch", "cali-wl-to-host"}
        return [(row["kind"], row["text"]) for row in ask(texts.small(table, " ".join(sorted(chains)), [line]))]
    stripped = "-A %s %s" % (name, rule)
    assert asked(stripped) == [("lost_match", stripped)]
    before, option, target = stripped.rpartition("-g " if " -g " in stripped else "-j ")
    assert asked(before + lost + option + target) == []


@cases
def test_a_way_of_external_traffic_that_everybody_takes(rules, told):
    lines = ["-A %s %s" % (EXT, rule) for rule in rules]
    rows = ask(texts.small("nat", "%s %s KUBE-SVL-AAAAAAAAAAAAAAAA KUBE-MARK-MASQ" % (EXT, SVC), lines))
    wanted = [] if told is None else [("lost_match", lines[told])]
    assert [(row["kind"], row["text"]) for row in rows] == wanted


@cases
def test_twenty_thousand_rules_are_gone_through_once(table, name, rule):
    lines = ["-A %s %s" % (name, rule % number if "%d" in rule else rule) for number in range(20000)]
    rule_set = texts.read(texts.small(table, name + " X", lines))
    chain_read = rule_set.tables[table].chains[name]
    chain_read.rules = texts.Counted(chain_read.rules)
    list(ask_lost_match(rule_set, texts.setting(rule_set)))
    assert 20000 <= chain_read.rules.passed <= 10 * 20000
