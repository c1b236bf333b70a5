# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Traffic that network plugins masquerade, and that no rule masquerades any more."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import questions
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.masquerade import ask_masquerade

POD, OTHER_POD = "CNI-5fcbd0cf0b0d4c3b8e7a1f20", "CNI-a1b2c3d4e5f60718293a4b5c"
# Chain -> (the jump to it, its rules that masquerade).
PLUGINS = {
    "FLANNEL-POSTRTG": ('-A POSTROUTING -m comment --comment "flanneld masq" -j FLANNEL-POSTRTG',
                        ["-A FLANNEL-POSTRTG -s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully"]),
    "WEAVE": ("-A POSTROUTING -j WEAVE", ["-A WEAVE -s 10.32.0.0/12 ! -d 10.32.0.0/12 -j MASQUERADE"]),
    "IP-MASQ-AGENT": ("-A POSTROUTING -m addrtype ! --dst-type LOCAL -j IP-MASQ-AGENT",
                      ["-A IP-MASQ-AGENT -d 10.0.0.0/8 -j RETURN", "-A IP-MASQ-AGENT -j MASQUERADE"]),
    POD: ("-A POSTROUTING -s 10.244.1.7/32 -j %s" % POD, ["-A %s ! -d 224.0.0.0/4 -j MASQUERADE" % POD]),
}
ELSEWHERE = "no rule of POSTROUTING jumps to it"
EMPTY = "none of its rules masquerades"


def dump(chains, *rules):
    """A healthy node with these additional chains and rules of nat."""
    return texts.adding(texts.healthy(), "nat", *([":%s - [0:0]" % name for name in chains.split()] + list(rules)))


def ask(text, **known):
    rule_set = texts.read(text, **known)
    return [(row["table"], row["chain"], row["count"], row["detail"])
            for row in ask_masquerade(rule_set, texts.setting(rule_set))]


@pytest.mark.parametrize("chain", sorted(PLUGINS))
def test_each_plugin(chain):
    jump, rules = PLUGINS[chain]
    assert ask(dump(chain, jump, *rules)) == []
    assert ask(dump(chain, jump)) == [("nat", chain, 1, EMPTY)]
    assert ask(dump(chain, jump, *rules[:-1])) == [("nat", chain, 1,
                                                    EMPTY)], "what is only let through is not masqueraded"
    assert ask(dump(chain, *rules)) == [("nat", chain, 1, ELSEWHERE)]


def test_a_flush_of_nat_is_told_beside_what_kube_proxy_lost():
    jump, rules = PLUGINS["FLANNEL-POSTRTG"]
    flushed = texts.flushed(dump("FLANNEL-POSTRTG", jump, *rules), "nat")
    rows = questions.ask([texts.read(flushed), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert [(row["kind"], row["chain"]) for row in rows
            if row["kind"] == "masquerade_missing"] == [("masquerade_missing", "FLANNEL-POSTRTG")]


def test_pods_are_counted():
    pods = [":%s - [0:0]" % name for name in (POD, OTHER_POD)]
    assert ask(texts.adding(texts.healthy(), "nat", *pods)) == [("nat", POD, 2, EMPTY)]


def test_source_addresses_and_chains_behind():
    rules = ["-A POSTROUTING -j AWS-SNAT-CHAIN-0", "-A AWS-SNAT-CHAIN-0 ! -d 10.0.0.0/16 -j AWS-SNAT-CHAIN-1",
             "-A AWS-SNAT-CHAIN-1 -j AWS-SNAT-CHAIN-0"]
    snat = "-A AWS-SNAT-CHAIN-1 -m addrtype ! --dst-type LOCAL -j SNAT --to-source 192.0.2.4 --random-fully"
    assert ask(dump("AWS-SNAT-CHAIN-0 AWS-SNAT-CHAIN-1", *(rules + [snat]))) == []
    assert ask(dump("AWS-SNAT-CHAIN-0 AWS-SNAT-CHAIN-1", *rules)) == [("nat", "AWS-SNAT-CHAIN-0", 1, EMPTY)]


@pytest.mark.parametrize("text",
                         [
                             texts.healthy(), texts.healthy("ipv6"), dump("AWS-SNAT-CHAIN-0 AWS-CONNMARK-CHAIN-0"),
                             dump("cali-nat-outgoing CILIUM_POST_nat ANTREA-POSTROUTING"),
                             dump("CNI-HOSTPORT-MASQ CNI-DN-0123456789abcdef01234 CNI-FORWARD DOCKER WEAVE-EXPOSE"),
                             texts.small("filter", "FLANNEL-FWD WEAVE", []),
                         ], ids=["IPv4", "IPv6", "AWS with its SNAT elsewhere", "pods that keep their addresses",
                                 "other chains of plugins", "another table"])
def test_look_alikes(text):
    assert ask(text) == []


@pytest.mark.parametrize("at", range(0, 6000, 171))
def test_a_dump_that_ends_anywhere_lost_nothing(at):
    jump, rules = PLUGINS["FLANNEL-POSTRTG"]
    assert ask(dump("FLANNEL-POSTRTG", jump, *rules)[:at], source="bundle.txt") == []
