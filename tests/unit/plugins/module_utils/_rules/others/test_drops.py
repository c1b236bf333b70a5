# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusals on the path to Services and pods, and refusals with a known reason."""

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.drops import ask_drops
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service

FLANNEL = [":FLANNEL-FWD - [0:0]", "-A FORWARD -j FLANNEL-FWD", "-A FLANNEL-FWD -s 10.244.0.0/16 -j ACCEPT"]
ask = texts.asking(ask_drops, "kind chain text")


def added(*lines, **where):
    return ask(texts.adding(texts.healthy(), "filter", *lines, **where))


@cases
@pytest.mark.parametrize("first", [True, False])
def test_a_refusal_nobody_of_kubernetes_wrote(rule, first):
    assert added(rule, first=first) == [("unexpected_drop", rule.split()[1], rule)]


@cases
def test_a_refusal_with_a_known_reason(rule):
    assert added(rule) == []


@pytest.mark.parametrize("endpoints, doubted", [(frozenset(), False), (frozenset([("198.51.100.7", 80, "tcp")]), True),
                                                (None, True)])
def test_a_ban_is_doubted_where_the_address_may_be_an_endpoint(endpoints, doubted):
    """Endpoints are None in nftables mode where the chains of a large cluster are not read."""
    rule = "-A FORWARD -s 198.51.100.7/32 -j DROP"
    rule_set = texts.read(texts.adding(texts.healthy(), "filter", rule))
    service = Service("ipv4", "10.96.0.10", 53, "udp", "kube-system/kube-dns:dns", endpoints, True, True)
    rows = ask_drops(rule_set, texts.setting(rule_set), [service])
    assert [row["text"] for row in rows if row["kind"] == "unexpected_drop"] == [rule] * doubted


@cases
def test_what_others_refuse_in_their_own_chains_is_theirs(name, rule):
    assert added(":%s - [0:0]" % name, "-A %s %s" % (name, rule)) == []


def policy(*lines, **known):
    return ask(texts.dropping(texts.adding(texts.healthy(), "filter", *lines), "filter", "FORWARD"), **known)


FORWARD_DROP = [("forward_drop", "FORWARD", ":FORWARD DROP")]
DOCKER = [":DOCKER - [0:0]", ":DOCKER-USER - [0:0]", "-A FORWARD -j DOCKER-USER",
          "-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
          "-A FORWARD -o docker0 -j DOCKER", "-A FORWARD -i docker0 ! -o docker0 -j ACCEPT",
          "-A FORWARD -i docker0 -o docker0 -j ACCEPT", "-A DOCKER-USER -j RETURN",
          "-A DOCKER -d 172.17.0.2/32 ! -i docker0 -o docker0 -p tcp -m tcp --dport 5000 -j ACCEPT"]
UFW = [":ufw-before-forward - [0:0]", "-A FORWARD -j ufw-before-forward",
       "-A ufw-before-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
       "-A ufw-before-forward -p icmp -m icmp --icmp-type 8 -j ACCEPT"]
BOTH = DOCKER + FLANNEL


@pytest.mark.parametrize("lines, who", [(DOCKER, "chains of Docker, which sets"), ([], "no chain of Docker, ufw or"),
                                        (DOCKER + UFW, "chains of Docker and ufw, which set ")])
def test_who_sets_the_policy(lines, who):
    rule_set = texts.read(texts.dropping(texts.adding(texts.healthy(), "filter", *lines), "filter", "FORWARD"))
    rows = ask_drops(rule_set, texts.setting(rule_set))
    assert [who in row["detail"] for row in rows if row["kind"] == "forward_drop"] == [True]


@cases
def test_a_policy_that_drops_what_nobody_accepted(lines):
    assert policy(*lines) == FORWARD_DROP


@cases
def test_a_policy_with_accepts_before_it(lines):
    assert policy(*lines) == []


@pytest.mark.parametrize("table, name", [("raw", "PREROUTING"), ("raw", "OUTPUT"), ("mangle", "PREROUTING"),
                                         ("mangle", "FORWARD"), ("mangle", "OUTPUT"), ("mangle", "POSTROUTING")])
@pytest.mark.parametrize("target", ["DROP", "REJECT --reject-with icmp-port-unreachable"])
def test_a_refusal_of_everything_before_the_filter(table, name, target):
    rule = "-A %s -j %s" % (name, target)
    for rules in ([rule], [rule, rule]):
        assert ask(texts.node_with(table, *rules)) == [("unexpected_drop", name, rule)]
    assert ask(texts.node_with(table, "-A %s -s 198.51.100.1/32 -j DROP" % name)) == []
    assert ask(texts.node_with(table, "-A %s -j ACCEPT" % name, rule)) == [], "it is not reached"
    assert ask(texts.small(table, "", [rule]), mode=None) == [], "no Service is served here"


@pytest.mark.parametrize("target", ["DROP", "RETURN", "ACCEPT"])
@pytest.mark.parametrize("chain, before",
                         [("KUBE-SERVICES", "-A KUBE-SERVICES ! -d"), ("KUBE-NODEPORTS", "-A KUBE-NODEPORTS -p tcp")])
def test_a_rule_that_hides_the_virtual_addresses(target, chain, before):
    rule = "-A %s -j %s" % (chain, target)
    text = texts.adding(texts.healthy(), "nat", rule, first=True)
    assert ask(text) == [("unexpected_drop", chain, rule)]
    assert ask(text, mode="ipvs") == [], "there it is a rule whose match was lost"
    last = ask(texts.adding(texts.healthy(), "nat", rule))
    assert last == ([] if target == "RETURN" else [("unexpected_drop", chain, rule)]), "at its end it only returns"
    between = texts.instead(text, rule + "\n", "").replace(before, rule + "\n" + before)
    assert ask(between) == [("unexpected_drop", chain, rule)]
    for rule in ("-A %s -s 10.244.3.0/24 -j %s" % (chain, target), "-A %s -d 10.96.0.1/32 -j %s" % (chain, target)):
        assert ask(texts.adding(texts.healthy(), "nat", rule, first=True)) == [("unexpected_drop", chain, rule)]


@pytest.mark.parametrize("name", ["FORWARD", "INPUT", "OUTPUT", "KUBE-FORWARD"])
@pytest.mark.parametrize("comment", ["", "-m comment --comment %d "])
def test_twenty_thousand_refusals_are_gone_through_once(name, comment):
    lines = ["-A %s %s-j DROP" % (name, comment % number if comment else "") for number in range(20000)]
    rule_set = texts.read(texts.adding(texts.healthy(), "filter", *lines))
    chain = rule_set.tables["filter"].chains[name]
    chain.rules = texts.Counted(chain.rules)
    assert list(ask_drops(rule_set, texts.setting(rule_set))) != []
    assert 20000 <= chain.rules.passed <= 10 * 20000
