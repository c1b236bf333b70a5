# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that refuse nothing and cut Services off; in ipvs mode, and similar rules that do no harm."""

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.drops import ask_drops
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service


# Rules that refuse nothing and cut Services off: NOTRACK, marks that are cleared, pods accepted before they are
# masqueraded; and similar rules that do no harm.

# chain_texts' Services are 10.96.0.1 to .3, port 80/tcp, with the endpoints 10.244.1.1 to .3, port 8080.
def found(text, **known):
    rows = ask([texts.read(text)], texts.setting_by(**dict({"kubelet": False}, **known)))[0]
    return [(row["kind"], row["table"], row["chain"], row["text"]) for row in rows]


@cases
def test_what_else_is_not_tracked(rule):
    assert found(texts.node_with("raw", "-A PREROUTING " + rule)) == []


@pytest.mark.parametrize("hook", ["FORWARD", "POSTROUTING"])
@cases
def test_a_mark_that_is_cleared(rule, hook):
    rule = "-A %s %s" % (hook, rule)
    assert found(texts.node_with("mangle", rule)) == [("mark_cleared", "mangle", hook, rule)]
    assert [row for row in found(texts.node_with("mangle", rule), mode="ipvs") if row[0] == "mark_cleared"] == []


@cases
def test_a_mark_that_stays(rule):
    assert found(texts.node_with("mangle", rule)) == []


@cases
def test_what_else_stands_before_the_masquerade(lines):
    assert [row for row in found(texts.node_with("nat", *lines)) if row[0] != "masquerade_missing"] == []


@pytest.mark.parametrize("table, rule", [("raw", "-A PREROUTING -j CT --notrack"),
                                         ("mangle", "-A POSTROUTING -j MARK --set-xmark 0x0/0xffffffff"),
                                         ("nat", "-A POSTROUTING -s 10.244.0.0/16 -j ACCEPT")])
def test_a_table_that_breaks_off(table, rule):
    text = texts.node_with(table, rule)
    end = text.index("COMMIT", text.index("*%s\n" % table))
    assert [row for row in found(text[:end]) if row[0] in ("untracked", "mark_cleared", "anchor_shadowed")] == []


# In ipvs mode packets to Services take other chains.

refused = texts.asking(ask_drops, "table chain text")
IPVS = [Service("ipv4", "10.96.0.1", 443, "tcp", "", (("192.0.2.11", 6443, "tcp"),), True, None),
        Service("ipv4", "10.96.0.2", 80, "tcp", "", (("10.244.1.2", 8080, "tcp"), ("10.244.2.3", 8080, "tcp")), True,
                None)]


def ipvs(*lines, **how):
    """The findings on a node in ipvs mode; its chains do not matter."""
    table = how.pop("table", "filter")
    return refused(texts.node_with(table, *lines, first=how.pop("first", True)), how.pop("services", IPVS), mode="ipvs")


@cases
def test_in_ipvs_mode_packets_to_virtual_addresses_go_through_input(rule):
    """Their destination is a virtual server, and that is the node itself."""
    for first in (True, False):
        told = ipvs(":MINE - [0:0]", "-A INPUT -j MINE", "-A MINE " + rule, first=first)
        assert told == [("filter", "MINE", "-A MINE " + rule)]
    assert ("filter", "INPUT", "-A INPUT " + rule) in ipvs("-A INPUT " + rule, first=False)
    assert ("mangle", "INPUT", "-A INPUT " + rule) in ipvs("-A INPUT " + rule, table="mangle")
    assert ipvs(":MINE - [0:0]", "-A INPUT -j MINE", "-A MINE " + rule, services=[]) == [], "nobody knows them"


@cases
def test_in_ipvs_mode_the_firewall_of_the_node_stays_its_own(rule):
    assert ipvs(":MINE - [0:0]", "-A INPUT -j MINE", "-A MINE " + rule) == []


@cases
def test_in_ipvs_mode_a_firewall_that_closes_the_node(before, told):
    lines = [":KUBE-NODE-PORT - [0:0]", "-A INPUT " + before]
    assert bool(ipvs(*(lines + ["-A INPUT -j DROP"]), first=False)) is told
    healthy = texts.dropping(texts.adding(texts.healthy(), "filter", *lines, first=False), "filter", "INPUT")
    assert bool(refused(healthy, IPVS, mode="ipvs")) is told
    assert refused(healthy, IPVS, mode="nftables") == []


def test_in_ipvs_mode_packets_leave_to_endpoints():
    rule = "-A MINE -d 10.244.0.0/16 -j DROP"
    for hook in ("FORWARD", "OUTPUT"):
        assert ipvs(":MINE - [0:0]", "-A %s -j MINE" % hook, rule) == [("filter", "MINE", rule)]
        assert ipvs(":MINE - [0:0]", "-A %s -j MINE" % hook, "-A MINE -m conntrack --ctstate DNAT -j ACCEPT",
                    rule) == [("filter", "MINE", rule)]


@pytest.mark.parametrize("mode", ["ipvs", "nftables"])
def test_services_of_ipv6_that_no_rules_tell(mode):
    text = "\n".join(line for line in texts.healthy("ipv6").split("\n")
                     if not line.startswith((":KUBE-S", "-A KUBE-S", ":KUBE-E", "-A KUBE-E")))
    text = texts.adding(text, "filter", ":MINE - [0:0]", "-A FORWARD -j MINE", "-A MINE -j DROP")
    service = Service("ipv6", "fd00:10:96::1", 80, "tcp", "", (("fd00:10:244::1", 8080, "tcp"),), True, None)
    assert refused(text, [service], mode=mode) == [("filter", "MINE", "-A MINE -j DROP")]
    assert refused(text, IPVS, mode=mode) == []
