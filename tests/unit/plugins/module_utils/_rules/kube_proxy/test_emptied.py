# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that kube-proxy never leaves empty."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import questions
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.emptied import ask_emptied


def ask(text, **known):
    rule_set = texts.read(text)
    return [(row["kind"], row["table"], row["chain"], row["count"])
            for row in ask_emptied(rule_set, texts.setting(rule_set, **known))]


def emptied(chain, text=None):
    return "\n".join(line for line in (text or texts.healthy()).split("\n") if not line.startswith("-A %s " % chain))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize("table, chain", [("nat", "KUBE-POSTROUTING"), ("nat", "KUBE-MARK-MASQ"),
                                          ("filter", "KUBE-FORWARD"), ("nat", texts.EXT)])
def test_an_emptied_chain_is_told_alone(family, backend, table, chain):
    assert ask(texts.healthy(family, backend)) == []
    assert ask(emptied(chain, texts.healthy(family, backend))) == [("emptied_chain", table, chain, 1)]


def test_not_without_reason():
    assert ask(emptied("KUBE-FIREWALL")) == [], "guards.py knows where it may be empty"
    assert ask(emptied("KUBE-POSTROUTING"), mode=None) == [], "nobody knows what belongs into it"
    unused = "\n".join(line for line in texts.healthy().split("\n") if "KUBE-EXT-" not in line)
    assert ask(emptied("KUBE-NODEPORTS", unused)) == [], "there may be no NodePort"
    no_services = "\n".join(line for line in unused.split("\n") if "KUBE-SVC-" not in line and "KUBE-SEP-" not in line)
    assert ask(emptied("KUBE-SERVICES",
                       no_services)) == [], "there may be no Service, and no address that serves NodePorts"
    assert ask(texts.without(texts.healthy(), texts.INVALID)) == [], "it is not there where conntrack is liberal"


@pytest.mark.parametrize("chain", ["KUBE-SERVICES", "KUBE-NODEPORTS"])
def test_the_chains_in_the_middle(chain):
    text = emptied(chain)
    assert ask(text) == [("emptied_chain", "nat", chain, 1)]
    assert ask(text, mode="ipvs") == ([("emptied_chain", "nat", chain, 1)] if chain == "KUBE-SERVICES" else [])
    rows = questions.ask([texts.read(text), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert texts.told(rows) == [("emptied_chain", "nat", chain)], "what was behind it follows"


@pytest.mark.parametrize(
    "table, chain, rule", [
        ("nat", "KUBE-POSTROUTING", texts.SNAT),
        ("nat", "KUBE-POSTROUTING", "-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0"),
        ("filter", "KUBE-FORWARD", texts.MARKED),
        ("filter", "KUBE-FORWARD", "-A KUBE-FORWARD -m comment --comment \"kubernetes forwarding conntrack rule\" -m "
                                   "conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"),
    ])
def test_a_chain_that_lost_one_of_its_rules(table, chain, rule):
    rows = questions.ask([texts.read(texts.without(texts.healthy(), rule)), texts.read(texts.healthy("ipv6"))],
                         texts.setting_by())[0]
    assert texts.told(rows) == [("emptied_chain", table, chain)]


@pytest.mark.parametrize("at", range(0, len(texts.healthy()), 211))
def test_a_dump_that_ends_anywhere_was_not_emptied(at):
    assert ask(texts.healthy()[:at]) == []


@pytest.mark.parametrize("mode", ["iptables", "ipvs"])
def test_the_one_rule_of_1_18_that_looks_for_the_mark_takes_it_nowhere(mode):
    marked = "-A KUBE-POSTROUTING -m mark --mark 0x4000/0x4000 -j MASQUERADE"
    text = texts.instead(texts.without(texts.healthy(), texts.UNMARKED,
                                       "-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0"), texts.SNAT, marked)
    for kubernetes in ((1, 18), (1, 30), None):
        rule_set = texts.read(text)
        assert ask_emptied(rule_set, texts.setting(rule_set, mode=mode, kubernetes=kubernetes)) == []


@pytest.mark.parametrize("kubernetes, found", [((1, 18), 0), ((1, 30), 1), (None, 1)])
def test_before_1_20_kube_forward_may_accept_marked_packets_only(kubernetes, found):
    text = texts.without(texts.healthy(), texts.FILTER[-1])
    rule_set = texts.read(text)
    assert len(ask_emptied(rule_set, texts.setting(rule_set, kubernetes=kubernetes))) == found
