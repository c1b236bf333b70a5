# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""User-defined chains that refuse packets of Services, and user-defined chains that only guard other traffic."""

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others import drops
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.drops import ask_drops
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services import service_packets
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service

ask = texts.asking(ask_drops, "table chain text")


def mine(hook, *rules, **how):
    """The findings in a user-defined chain that the built-in chain jumps to."""
    lines = [":MINE - [0:0]", "-A %s %s-j MINE" % (hook, how.pop("by", ""))] + ["-A MINE " + rule for rule in rules]
    return ask(texts.node_with(how.pop("table", "filter"), *lines, **how))


@cases
def test_a_refusal_in_a_chain_of_ones_own_that_services_pass(rule):
    told = [("filter", "MINE", "-A MINE " + rule)]
    assert mine("FORWARD", rule) == told
    assert mine("FORWARD", rule, first=False) == told, "kube-proxy accepts what is masqueraded and answers, and no more"
    if "-s " not in rule:
        assert mine("OUTPUT", rule) == told
    assert mine("INPUT", rule) == (told if "-d 10.96." in rule else []), "what comes to the node is the node's own"


@cases
@pytest.mark.parametrize("hook", ["FORWARD", "OUTPUT", "INPUT"])
def test_a_refusal_of_something_else(hook, rule):
    assert mine(hook, rule) == []


@cases
@pytest.mark.parametrize("hook", ["FORWARD", "OUTPUT"])
def test_what_may_have_been_accepted_before_is_not_told(hook, before):
    lines = [":MINE - [0:0]", ":OTHER - [0:0]", "-A %s -j MINE" % hook, "-A MINE " + before,
             "-A MINE -m conntrack --ctstate NEW -j DROP"]
    assert ask(texts.node_with("filter", *lines)) == []


@cases
@pytest.mark.parametrize("hook", ["FORWARD", "OUTPUT"])
def test_what_accepts_others_before_changes_nothing(hook, before):
    lines = [":MINE - [0:0]", ":OTHER - [0:0]", "-A %s -j MINE" % hook, "-A MINE " + before, "-A MINE -j REJECT"]
    assert ask(texts.node_with("filter", *lines)) == [("filter", "MINE", "-A MINE -j REJECT")]


@cases
def test_who_gets_there_at_all(by, hook, told):
    assert bool(mine(hook, "-j DROP", by=by)) is told


@cases
def test_in_other_tables(table, hook, rule, told):
    rule = "-A %s %s" % (hook, rule)
    assert ask(texts.node_with(table, rule)) == ([(table, hook, rule)] if told else [])
    in_chain = [":MINE - [0:0]", "-A %s -j MINE" % hook, rule.replace(hook, "MINE")]
    assert ask(texts.node_with(table, *in_chain)) == ([(table, "MINE", in_chain[-1])] if told else [])


@cases
def test_a_policy_of_drop(table, hook, accept, told):
    lines = ["-A %s %s -j ACCEPT" % (hook, accept)] if accept else []
    text = texts.dropping(texts.node_with(table, *lines), table, hook)
    assert ask(text) == ([(table, hook, ":%s DROP" % hook)] if told else [])
    returned = texts.dropping(texts.node_with(table, "-A %s -i eth9 -j RETURN" % hook), table, hook)
    refused = [] if hook == "INPUT" else [(table, hook, ":%s DROP" % hook)]
    assert ask(returned) == refused, "a RETURN leads to the policy"


@cases
def test_what_keeps_packets_from_the_services(rule, told):
    lines = [":MINE - [0:0]", "-A PREROUTING " + rule, "-A MINE -p tcp -j ACCEPT"]
    place = "MINE" if "-j MINE" in rule else "PREROUTING"
    rows = texts.asking(ask_drops, "kind chain")(texts.node_with("nat", *lines))
    assert rows == ([("anchor_shadowed", place)] if told else [])
    assert ask(texts.node_with("nat", *lines, first=False)) == [], "behind them it may stand"


@cases
@pytest.mark.parametrize("first", [True, False])
def test_in_built_in_chains_of_the_node_itself(rule, told, first):
    assert ask(texts.node_with("filter", rule, first=first)) == ([("filter", rule.split()[1], rule)] if told else [])


def test_where_the_services_are_not_in_rules():
    """In nftables mode they are given, without endpoints where these are not known; in ipvs mode none are given."""
    lines = [":MINE - [0:0]", "-A FORWARD -j MINE", "-A OUTPUT -d 10.96.0.0/12 -p tcp -m tcp --dport 443 -j DROP"]
    given = [Service("ipv4", "10.96.0.1", 443, "tcp", "default/kubernetes", None, True, None),
             Service("ipv6", "fd00::1", 443, "tcp", "", None, True, None)]
    empty = texts.small("filter", "MINE", lines[1:] + ["-A MINE -m conntrack --ctstate NEW -j DROP"])
    assert ask(empty, given, mode="nftables") == [("filter", "OUTPUT", lines[-1])]
    assert ask(empty, [], mode="ipvs") == [("filter", "MINE", "-A MINE -m conntrack --ctstate NEW -j DROP")]
    reached = [given[0]._replace(endpoints=frozenset([("10.244.0.9", 6443, "tcp")]))]
    assert ask(empty, reached, mode="nftables") == [
        ("filter", "MINE", "-A MINE -m conntrack --ctstate NEW -j DROP"), ("filter", "OUTPUT", lines[-1])]
    assert ask(empty, given, mode=None) == [], "no kube-proxy is here"


def test_long_lists_of_refusals_are_bounded(monkeypatch):
    tried = []
    real = drops.list_services
    monkeypatch.setattr(drops, "list_services", lambda rule_set: tried.append(1) or real(rule_set))

    def refusing(matches, *services):
        rules = ["-A BLOCKED %s -j DROP" % match for match in matches]
        return ask(texts.node_with("filter", ":BLOCKED - [0:0]", "-A FORWARD -j BLOCKED", *rules), *services)
    clients = ["-s 198.51.%d.%d/32" % (number // 250, number % 250) for number in range(20000)]
    assert refusing(clients) == [] and len(tried) <= 1
    assert refusing("-d 10.244.1.1/32 -p tcp -m tcp --dport %d" % port for port in range(8081, 10081)) == []
    services = [Service("ipv4", "10.96.%d.%d" % (number // 250, number % 250), 40001 + number, "tcp", "", frozenset(
        [("10.244.9.9", 50000 + number % 5000, "tcp")]), True, True) for number in range(10000)]
    looked, holds = [], service_packets.holds
    monkeypatch.setattr(service_packets, "holds", lambda *given: looked.append(1) or holds(*given))
    assert refusing(("-p tcp -m tcp --dport %d" % port for port in range(20000, 40000)), services) == []
    assert 20000 < len(looked) <= service_packets._LOOKED_ALL
    all_of_them = refusing("-m comment --comment %d" % number for number in range(20000))
    assert all_of_them == [("filter", "BLOCKED", "-A BLOCKED -m comment --comment 0 -j DROP")]
