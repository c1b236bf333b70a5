# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In ipvs mode packets to Services take other chains."""

import chain_texts as texts
import pytest
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.drops import ask_drops
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service


def ask(text, services=None, **known):
    rule_set = texts.read(text)
    return [(row["table"], row["chain"], row["text"])
            for row in ask_drops(rule_set, texts.setting(rule_set, **known), services)]


def node(table, *lines, **how):
    """A healthy node with these lines in one of its tables; the rules come first unless `first=False`."""
    healthy = texts.healthy(how.get("family", "ipv4"))
    if table in ("raw", "security"):
        return texts.small(table, " ".join(line.split()[0][1:] for line in lines if line[0] == ":"),
                           [line for line in lines if line[0] == "-"]) + healthy
    return texts.adding(healthy, table, *lines, first=how.get("first", True))


IPVS = [Service("ipv4", "10.96.0.1", 443, "tcp", "", (("192.0.2.11", 6443, "tcp"),), True, None),
        Service("ipv4", "10.96.0.2", 80, "tcp", "", (("10.244.1.2", 8080, "tcp"), ("10.244.2.3", 8080, "tcp")), True,
                None)]


def ipvs(*lines, **how):
    """The findings on a node in ipvs mode; its chains do not matter."""
    table = how.pop("table", "filter")
    return ask(node(table, *lines, first=how.pop("first", True)), how.pop("services", IPVS), mode="ipvs")


@pytest.mark.parametrize(
    "rule", [
        "-d 10.96.0.0/12 -j DROP", "-d 10.96.0.0/12 -p tcp -m tcp --dport 443 -j REJECT --reject-with tcp-reset",
        "-s 10.244.0.0/16 -j DROP", "-j DROP", "-d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j DROP",
        "-m conntrack --ctstate NEW -j DROP", "-p tcp -m multiport --dports 80,8080 -j DROP",
    ])
def test_in_ipvs_mode_packets_to_virtual_addresses_go_through_input(rule):
    """Their destination is a virtual server, and that is the node itself."""
    for first in (True, False):
        told = ipvs(":MINE - [0:0]", "-A INPUT -j MINE", "-A MINE " + rule, first=first)
        assert told == [("filter", "MINE", "-A MINE " + rule)]
    assert ("filter", "INPUT", "-A INPUT " + rule) in ipvs("-A INPUT " + rule, first=False)
    assert ("mangle", "INPUT", "-A INPUT " + rule) in ipvs("-A INPUT " + rule, table="mangle")
    assert ipvs(":MINE - [0:0]", "-A INPUT -j MINE", "-A MINE " + rule, services=[]) == [], "nobody knows them"


@pytest.mark.parametrize(
    "rule", [
        "-s 198.51.100.0/24 -j DROP", "-i eth0 -j DROP", "-p tcp -m tcp --dport 22 -j DROP", "-p udp -j DROP",
        "-m conntrack --ctstate INVALID -j DROP", "-p tcp -m tcp --dport 30080 -j DROP", "-d 192.0.2.11/32 -j DROP",
        "-m set --match-set blocked src -j DROP", "-d 10.96.0.0/12 -p udp -j DROP",
        "-m addrtype --dst-type BROADCAST -j DROP", "-m conntrack --ctstate DNAT -j DROP",
    ])
def test_in_ipvs_mode_the_firewall_of_the_node_stays_its_own(rule):
    assert ipvs(":MINE - [0:0]", "-A INPUT -j MINE", "-A MINE " + rule) == []


@pytest.mark.parametrize(
    "before, told", [
        ("-i cni0 -j ACCEPT", False), ("-s 10.244.0.0/16 -j ACCEPT", False), ("-d 10.96.0.0/12 -j ACCEPT", False),
        ("-m addrtype --dst-type LOCAL -j ACCEPT", False),
        ("-m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT", False), ("-i lo -j ACCEPT", True),
        ("-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", True), ("-p tcp -m tcp --dport 22 -j ACCEPT", True),
        ("-m mark --mark 0x4000/0x4000 -j ACCEPT", True), ("-j KUBE-NODE-PORT", True),
    ])
def test_in_ipvs_mode_a_firewall_that_closes_the_node(before, told):
    lines = [":KUBE-NODE-PORT - [0:0]", "-A INPUT " + before]
    assert bool(ipvs(*(lines + ["-A INPUT -j DROP"]), first=False)) is told
    healthy = texts.dropping(texts.adding(texts.healthy(), "filter", *lines, first=False), "filter", "INPUT")
    assert bool(ask(healthy, IPVS, mode="ipvs")) is told
    assert ask(healthy, IPVS, mode="nftables") == []


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
    assert ask(text, [service], mode=mode) == [("filter", "MINE", "-A MINE -j DROP")]
    assert ask(text, IPVS, mode=mode) == []
