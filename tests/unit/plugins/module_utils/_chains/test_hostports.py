# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host ports that capture the node's own, and those that do not."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._chains.hostports import ask_hostports

DN = "CNI-DN-4b4398da9cebdf54f85fe"
PORTMAP = ":CNI-HOSTPORT-DNAT - [0:0]", ":%s - [0:0]" % DN, "-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT"
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
    rule = "-A PREROUTING -p tcp -m addrtype --dst-type LOCAL -m tcp --dport 10250 -j DNAT --to-destination [fd00:10:244::9]:80"
    assert len(ask(rule, family="ipv6")) == 1


@pytest.mark.parametrize("lines", [
    (":DOCKER - [0:0]", "-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER", "-A DOCKER ! -i docker0 -p tcp -m tcp --dport 10250" + TO_POD),
    ("-A PREROUTING -p tcp -m tcp --dport 10000:10500" + TO_POD,), ("-A PREROUTING -p tcp -m multiport --dports 80,6000:7000" + TO_POD,),
    ("-A PREROUTING -i eth0 -p tcp -m tcp --dport 6443" + TO_POD,),
    ("-A PREROUTING -d 192.0.2.0/24 -p tcp -m addrtype --dst-type LOCAL -m tcp --dport 6443" + TO_POD,),
    (":KUBE-HOSTPORTS - [0:0]", ":KUBE-HP-AAAAAAAAAAAAAAAA - [0:0]", "-A PREROUTING -m addrtype --dst-type LOCAL -j KUBE-HOSTPORTS",
     "-A KUBE-HOSTPORTS -p tcp -m tcp --dport 10250 -j KUBE-HP-AAAAAAAAAAAAAAAA", "-A KUBE-HP-AAAAAAAAAAAAAAAA -p tcp -m tcp" + TO_POD),
])
def test_others_that_take_a_port(lines):
    assert len(ask(*lines)) == 1


@pytest.mark.parametrize("lines", [
    portmap("8080"), portmap("10250", "-d 192.0.2.11/32 "), portmap("6443", "-d 127.0.0.1/32 "),
    ("-A PREROUTING -p udp -m udp --dport 10250" + TO_POD,), ("-A PREROUTING -p tcp -m multiport ! --dports 80,443" + TO_POD,),
    ("-A PREROUTING -s 10.244.0.0/16 -p tcp -m tcp --dport 6443" + TO_POD,), ("-A PREROUTING -p tcp -m tcp --dport 10250 -j RETURN",),
    ("-A PREROUTING -p tcp -m tcp --sport 10250" + TO_POD,), ("-A OUTPUT -p tcp -m tcp --dport 10251" + TO_POD,),
    (":%s - [0:0]" % DN, "-A %s -p tcp -m tcp --dport 10250%s" % (DN, TO_POD)),
    ('-A PREROUTING -p tcp -m comment --comment "--dport 10250" -m tcp --dport 80' + TO_POD,),
])
def test_ports_that_are_not_taken(lines):
    assert ask(*lines) == []


def test_only_ports_that_somebody_listens_on():
    assert ask(*portmap("10250"), ports={}) == []
    assert ask(*portmap("10250"), ports={("tcp", 16443): "the API server"}) == []


def test_a_table_that_is_cut_off_captures_nothing():
    text = texts.adding(texts.healthy(), "nat", *portmap("10250"))
    rule_set = texts.read(text[:text.rindex("COMMIT")])
    assert ask_hostports(rule_set, texts.setting(rule_set)) == []
