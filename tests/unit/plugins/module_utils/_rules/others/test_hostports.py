# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host ports that capture the node's own ports, and host ports that do not."""

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.hostports import ask_hostports

DN = "CNI-DN-4b4398da9cebdf54f85fe"
PORTMAP = (":CNI-HOSTPORT-DNAT - [0:0]", ":%s - [0:0]" % DN,
           "-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT")
TO_POD = " -j DNAT --to-destination 10.244.1.9:80"


def ask(*lines, **known):
    rule_set = texts.read(texts.adding(texts.healthy(known.pop("family", "ipv4")), "nat", *lines))
    return [(row["chain"], row["detail"]) for row in ask_hostports(rule_set, texts.setting(rule_set, **known))]


def portmap(port, before=""):
    return PORTMAP + ("-A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports %s -j %s" % (port, DN),
                      "-A %s %s-p tcp -m tcp --dport %s%s" % (DN, before, port, TO_POD))


def test_a_healthy_node_captures_nothing():
    assert ask() == []


def test_portmap_takes_kubelets_port():
    assert ask(*portmap("10250")) == [(DN, "takes port 10250/tcp of kubelet on every address of the node")]
    assert len(ask(*portmap("6443"))) == 1


def test_and_in_ipv6():
    rule = ("-A PREROUTING -p tcp -m addrtype --dst-type LOCAL -m tcp --dport 10250 -j DNAT --to-destination "
            "[fd00:10:244::9]:80")
    assert len(ask(rule, family="ipv6")) == 1


@cases
def test_others_that_take_a_port(lines):
    assert len(ask(*lines)) == 1


@pytest.mark.parametrize(
    "lines", [
        portmap("8080"), portmap("10250", "-d 192.0.2.11/32 "), portmap("6443", "-d 127.0.0.1/32 "),
        ("-A PREROUTING -p udp -m udp --dport 10250" + TO_POD,),
        ("-A PREROUTING -p tcp -m multiport ! --dports 443,6443,10000:11000" + TO_POD,),
        ("-A PREROUTING -s 10.244.0.0/16 -p tcp -m tcp --dport 6443" + TO_POD,),
        ("-A PREROUTING -p tcp -m tcp --dport 10250 -j RETURN",),
        ("-A PREROUTING -p tcp -m tcp --sport 10250" + TO_POD,), ("-A OUTPUT -p tcp -m tcp --dport 10251" + TO_POD,),
        (":%s - [0:0]" % DN, "-A %s -p tcp -m tcp --dport 10250%s" % (DN, TO_POD)),
        ('-A PREROUTING -p tcp -m comment --comment "--dport 10250" -m tcp --dport 80' + TO_POD,),
    ])
def test_ports_that_are_not_taken(lines):
    assert ask(*lines) == []


REDIRECTED = "-A PREROUTING -p tcp -m tcp --dport 10250 -j REDIRECT --to-ports 8443"
ALL = "-A PREROUTING -p tcp -j REDIRECT --to-ports 3129"


@pytest.mark.parametrize(
    "lines, ports", [
        ((REDIRECTED,), 1), (("-A OUTPUT -o lo -p tcp -m tcp --dport 6443 -j REDIRECT --to-ports 16443",), 1),
        ((ALL,), 2), ((ALL.replace("-p tcp ", ""),), 2),
        (("-A PREROUTING -p tcp -m multiport ! --dports 80,443" + TO_POD,), 2),
        (("-A PREROUTING ! -p udp -m addrtype --dst-type LOCAL" + TO_POD,), 2),
        (("-A PREROUTING -p tcp -m multiport --dports 22,6443 -j RETURN", ALL), 1),
        (("-A PREROUTING -s 192.0.2.0/24 -p tcp -j ACCEPT", ALL), 2),
        (("-A PREROUTING -p tcp -m set --match-set nodes src -m tcp --dport 10250 -j RETURN", REDIRECTED), 1),
        ((REDIRECTED, "-A PREROUTING -p tcp -m tcp --dport 10250 -j RETURN"), 1),
        ((":MINE - [0:0]", "-A PREROUTING -j MINE", REDIRECTED.replace("PREROUTING", "MINE")), 1),
    ])
def test_redirections_and_rules_for_all_ports(lines, ports):
    assert len(ask(*lines)) == ports


@pytest.mark.parametrize(
    "lines", [
        (REDIRECTED.replace(" --to-ports 8443", ""),), (REDIRECTED.replace("8443", "10250"),),
        (REDIRECTED.replace("10250", "80"),),
        ("-A PREROUTING -p tcp -m multiport --dports 22,6443,10250 -j RETURN", ALL), ("-A PREROUTING -j ACCEPT", ALL),
        ("-A PREROUTING -p tcp -m tcp --dport 10250 -j ACCEPT", REDIRECTED), (ALL.replace("-p tcp", "-p udp"),),
        (ALL.replace("-p tcp", "-i lo -p tcp"),),
        # Transparent proxies redirect packets that are not for the node itself, or packets of one user.
        (ALL.replace("-p tcp", "-p tcp -m addrtype ! --dst-type LOCAL"),),
        (ALL.replace("PREROUTING -p tcp", "OUTPUT -p tcp -m owner --uid-owner 1337"),),
        (ALL.replace("-p tcp", "-s 10.244.0.0/16 -p tcp"),), (ALL.replace("-p tcp", "-p tcp -m mark --mark 0x1/0x1"),),
        (":MINE - [0:0]", "-A PREROUTING -s 10.244.0.0/16 -j MINE", ALL.replace("PREROUTING", "MINE")),
        # A load balancer's address that is in a set.
        ("-A PREROUTING -p tcp -m set --match-set vips dst -m tcp --dport 6443" + TO_POD,),
        ("-A PREROUTING -p tcp -m addrtype --dst-type UNICAST" + TO_POD,),
    ])
def test_redirections_of_something_else(lines):
    assert ask(*lines) == []


def test_only_ports_that_somebody_listens_on():
    assert ask(*portmap("10250"), ports={}) == []
    assert ask(*portmap("10250"), ports={("tcp", 16443): "the API server"}) == []


def test_what_was_read_of_a_table_that_is_cut_off_captures():
    text = texts.adding(texts.healthy(), "nat", *portmap("10250"))
    rule_set = texts.read(text[:text.rindex("COMMIT")])
    assert [row["kind"] for row in ask_hostports(rule_set, texts.setting(rule_set))] == ["hostport_capture"]
