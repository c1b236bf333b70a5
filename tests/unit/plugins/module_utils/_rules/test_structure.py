# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps into nothing, and chains without a jump."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.structure import LARGE_CLUSTER, ask_structure


def ask(text, **known):
    rule_set = texts.read(text)
    return list(ask_structure(rule_set, texts.setting(rule_set, **known)))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize("kubernetes", [None, (1, 20), (1, 36)])
def test_a_healthy_node_is_sound(family, backend, kubernetes):
    assert ask(texts.healthy(family, backend), kubernetes=kubernetes) == []


@pytest.mark.parametrize("rule", ["-A FORWARD -j GONE", "-A FORWARD -g GONE", "-A KUBE-FORWARD -s 10.0.0.0/8 -j GONE",
                                  "-A INPUT -j KUBE-SVC-ZZZZZZZZZZZZZZZZ"])
def test_a_jump_to_a_chain_that_is_not_there(rule):
    rows = ask(texts.adding(texts.healthy(), "filter", rule))
    assert [(row["kind"], row["chain"], row["text"]) for row in rows] == [("dangling_jump", rule.split()[1], rule)]


def test_a_chain_of_another_table_is_not_there():
    assert texts.told(ask(texts.adding(texts.healthy(), "filter",
                                       "-A INPUT -j KUBE-POSTROUTING"))) == [("dangling_jump", "filter", "INPUT")]


def test_folded_service_rules_that_lead_nowhere():
    endpoint = texts.SVC.replace("SVC", "SEP")
    text = "\n".join(line for line in texts.healthy().split("\n")
                     if not line.startswith(("-A %s " % endpoint, ":%s " % endpoint)))
    rows = ask(text)
    assert [row["kind"] for row in rows] == ["dangling_jump"]
    assert endpoint in rows[0]["chain"] + rows[0]["detail"]


@pytest.mark.parametrize("target",
                         ["LOG", "NFLOG --nflog-group 86", "CT --notrack", "TARPIT", "TEE --gateway 192.0.2.1",
                          "TPROXY --on-port 1 --on-ip 127.0.0.1 --tproxy-mark 0x1/0x1"])
def test_a_target_of_an_extension_is_no_chain(target):
    assert ask(texts.adding(texts.healthy(), "filter", "-A FORWARD -s 192.0.2.1/32 -j " + target)) == []


@pytest.mark.parametrize("chain", [texts.OTHER_SVC, texts.THIRD_SVC])
def test_a_service_nothing_leads_to(chain):
    text = "\n".join(line for line in texts.healthy().split("\n")
                     if not (line.startswith("-A KUBE-SERVICES") and line.endswith(chain)))
    assert texts.told(ask(text)) == [("orphan_chain", "nat", chain)]


def test_a_chain_of_kube_proxy_before_any_rule_leads_to_it():
    for name in ("KUBE-SVC-ZZZZZZZZZZZZZZZZ", "KUBE-SVL-ZZZZZZZZZZZZZZZZ", "KUBE-EXT-ZZZZZZZZZZZZZZZZ",
                 "KUBE-FW-ZZZZZZZZZZZZZZZZ"):
        assert texts.told(ask(texts.adding(texts.healthy(), "nat",
                                           ":%s - [0:0]" % name))) == [("orphan_chain", "nat", name)]


@pytest.mark.parametrize(
    "table, name", [
        ("nat", "KUBE-SEP-ZZZZZZZZZZZZZZZZ"), ("nat", "KUBE-XLB-ZZZZZZZZZZZZZZZZ"), ("nat", "KUBE-LOAD-BALANCER"),
        ("nat", "KUBE-FIREWALL"), ("filter", "KUBE-SOURCE-RANGES-FIREWALL"), ("mangle", "KUBE-MARK-DROP-X"),
        ("filter", "KUBE-SVC-ZZZZZZZZZZZZZZZZ"), ("filter", "KUBE-NWPLCY-ZZZZZZZZZZZZZZZZ"),
        ("filter", "KUBE-POD-FW-ZZZZZZZZZZZZZZZZ"), ("nat", "WEAVE-CANARY"), ("filter", "cali-failsafe-out"),
        ("filter", "OLD_CILIUM_INPUT"), ("nat", "CNI-SN-ZZZ"), ("nat", "DOCKER"), ("filter", "MINE"),
    ])
def test_these_need_no_jump(table, name):
    assert ask(texts.adding(texts.healthy(), table, ":%s - [0:0]" % name)) == []


def test_an_anchor_is_asked_for_elsewhere():
    assert ask(texts.without(texts.healthy(), texts.TO_SERVICES, texts.FROM_NODE, texts.TO_POSTROUTING)) == []


@pytest.mark.parametrize("kubernetes, told", [((1, 28), 1), ((1, 34), 1), ((1, 27), 0), ((1, 20), 0), (None, 0)])
def test_kube_mark_drop_is_stale_from_1_28_on(kubernetes, told):
    text = texts.adding(texts.healthy(), "nat", ":KUBE-MARK-DROP - [0:0]",
                        "-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000")
    assert texts.told(ask(text, kubernetes=kubernetes)) == told * [("orphan_chain", "nat", "KUBE-MARK-DROP")]


def test_in_a_large_cluster_stale_services_may_wait():
    many = [":KUBE-SEP-%016d - [0:0]" % number for number in range(LARGE_CLUSTER + 1)]
    assert ask(texts.adding(texts.healthy(), "nat", *many)) == []
    found = ask(texts.adding(texts.healthy(), "nat", ":KUBE-SVC-ZZZZZZZZZZZZZZZZ - [0:0]", *many))
    assert texts.told(found) == [("unsettled_chain", "nat", "KUBE-SVC-ZZZZZZZZZZZZZZZZ")]
    # A Service that lost its rule looks the same, and is never silently right.
    lost = "\n".join(line for line in texts.healthy().split("\n")
                     if not line.startswith("-A KUBE-SERVICES -d 10.96.0.2/32"))
    assert texts.told(ask(texts.adding(lost, "nat", *many))) == [("unsettled_chain", "nat", texts.OTHER_SVC)]


def test_of_a_damaged_dump_nothing_is_said():
    text = texts.healthy()
    unreadable = texts.instead(text, ":KUBE-FORWARD - [0:0]", ':KUBE-FORWARD" -')
    assert [row for row in ask(unreadable) if row["table"] == "filter"] == []
    for at in range(0, len(text), 89):
        assert ask(text[:at]) == []
