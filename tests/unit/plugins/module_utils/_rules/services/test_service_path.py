# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""User-defined chains that refuse packets of Services, and user-defined chains that only guard other traffic."""

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import questions
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.drops import ask_drops
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services import service_packets, service_path
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


def mine(hook, *rules, **how):
    """The findings in a user-defined chain that the built-in chain jumps to."""
    lines = [":MINE - [0:0]", "-A %s %s-j MINE" % (hook, how.pop("by", ""))] + ["-A MINE " + rule for rule in rules]
    return ask(node(how.pop("table", "filter"), *lines, **how))


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
    assert ask(node("filter", *lines)) == []


@cases
@pytest.mark.parametrize("hook", ["FORWARD", "OUTPUT"])
def test_what_accepts_others_before_changes_nothing(hook, before):
    lines = [":MINE - [0:0]", ":OTHER - [0:0]", "-A %s -j MINE" % hook, "-A MINE " + before, "-A MINE -j REJECT"]
    assert ask(node("filter", *lines)) == [("filter", "MINE", "-A MINE -j REJECT")]


@cases
def test_who_gets_there_at_all(by, hook, told):
    assert bool(mine(hook, "-j DROP", by=by)) is told


def test_chains_behind_chains_and_circles():
    lines = [":A - [0:0]", ":B - [0:0]", ":C - [0:0]", "-A FORWARD -j A", "-A A -g B", "-A B -j C",
             "-A C -d 10.244.0.0/16 -j DROP"]
    assert ask(node("filter", *lines)) == [("filter", "C", lines[-1])]
    circle = lines[:-1] + ["-A C -j A", lines[-1]]
    assert ask(node("filter", *circle)) == [], "no kernel has such rules, and no packet comes to an end"


@cases
def test_in_other_tables(table, hook, rule, told):
    rule = "-A %s %s" % (hook, rule)
    assert ask(node(table, rule)) == ([(table, hook, rule)] if told else [])
    in_chain = [":MINE - [0:0]", "-A %s -j MINE" % hook, rule.replace(hook, "MINE")]
    assert ask(node(table, *in_chain)) == ([(table, "MINE", in_chain[-1])] if told else [])


@cases
def test_a_policy_of_drop(table, hook, accept, told):
    text = texts.dropping(node(table, *(["-A %s %s -j ACCEPT" % (hook, accept)] if accept else [])), table, hook)
    assert ask(text) == ([(table, hook, ":%s DROP" % hook)] if told else [])
    returned = texts.dropping(node(table, "-A %s -i eth9 -j RETURN" % hook), table, hook)
    assert ask(returned) == ([]
                             if hook == "INPUT" else [(table, hook, ":%s DROP" % hook)]), "a RETURN leads to the policy"


@cases
def test_what_keeps_packets_from_the_services(rule, told):
    lines = [":MINE - [0:0]", "-A PREROUTING " + rule, "-A MINE -p tcp -j ACCEPT"]
    place = "MINE" if "-j MINE" in rule else "PREROUTING"
    rule_set = texts.read(node("nat", *lines))
    rows = list(ask_drops(rule_set, texts.setting(rule_set)))
    assert [(row["kind"], row["chain"]) for row in rows] == ([("anchor_shadowed", place)] if told else [])
    assert ask(node("nat", *lines, first=False)) == [], "behind them it may stand"


def test_what_keeps_all_packets_from_the_services_is_told_of_the_anchors():
    lines = [":MINE - [0:0]", "-A PREROUTING -j MINE", "-A MINE -d 10.96.0.0/12 -j ACCEPT", "-A MINE -j ACCEPT"]
    assert ask(node("nat", *lines)) == []
    rows = questions.ask([texts.read(node("nat", *lines)), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert texts.told(rows) == [("anchor_shadowed", "nat", "PREROUTING")]


@cases
@pytest.mark.parametrize("first", [True, False])
def test_in_built_in_chains_of_the_node_itself(rule, told, first):
    assert ask(node("filter", rule, first=first)) == ([("filter", rule.split()[1], rule)] if told else [])


def test_ipv6():
    assert mine("FORWARD", "-d fd00:10:244::/64 -j DROP",
                family="ipv6") == [("filter", "MINE", "-A MINE -d fd00:10:244::/64 -j DROP")]
    assert mine("FORWARD", "-d fd00:10:96::2/128 -j DROP",
                family="ipv6") == [("filter", "MINE", "-A MINE -d fd00:10:96::2/128 -j DROP")]
    assert mine("FORWARD", "-s fd00:10:244::/56 -j DROP", family="ipv6") != []
    assert mine("FORWARD", "-d 2001:db8::/32 -j DROP", family="ipv6") == []


# Rules of other programs, as on healthy nodes; this collection knows some of the owners, and some it does not.
OTHERS = {
    "fail2ban": [":f2b-sshd - [0:0]", "-A INPUT -p tcp -m multiport --dports 22 -j f2b-sshd",
                 "-A f2b-sshd -s 198.51.100.7/32 -j REJECT", "-A f2b-sshd -j RETURN"],
    "tailscale": [":ts-forward - [0:0]", ":ts-input - [0:0]", "-A INPUT -j ts-input", "-A FORWARD -j ts-forward",
                  "-A ts-input -s 100.64.0.0/10 ! -i tailscale0 -j DROP",
                  "-A ts-forward -i tailscale0 -j MARK --set-xmark 0x40000/0xff0000",
                  "-A ts-forward -s 100.64.0.0/10 -o tailscale0 -j DROP"],
    "libvirt": [":LIBVIRT_FWI - [0:0]", ":LIBVIRT_FWX - [0:0]", "-A FORWARD -j LIBVIRT_FWX",
                "-A FORWARD -j LIBVIRT_FWI", "-A LIBVIRT_FWX -i virbr0 -o virbr0 -j ACCEPT",
                "-A LIBVIRT_FWI -o virbr0 -j REJECT --reject-with icmp-port-unreachable"],
    "podman": [":NETAVARK_FORWARD - [0:0]", ":NETAVARK_ISOLATION_2 - [0:0]", ":NETAVARK_ISOLATION_3 - [0:0]",
               "-A FORWARD -j NETAVARK_FORWARD", "-A NETAVARK_FORWARD -m conntrack --ctstate INVALID -j DROP",
               "-A NETAVARK_FORWARD -i podman1 ! -o podman1 -j NETAVARK_ISOLATION_2",
               "-A NETAVARK_ISOLATION_2 -o podman1 -j DROP", "-A NETAVARK_ISOLATION_3 -o podman1 -j DROP"],
    "openshift": [":OPENSHIFT-BLOCK-OUTPUT - [0:0]", "-A FORWARD -j OPENSHIFT-BLOCK-OUTPUT",
                  "-A OUTPUT -j OPENSHIFT-BLOCK-OUTPUT",
                  "-A OPENSHIFT-BLOCK-OUTPUT -p tcp -m tcp --dport 22623 --tcp-flags FIN,SYN,RST,ACK SYN -j REJECT "
                  "--reject-with icmp-port-unreachable"],
    "crowdsec": [":CROWDSEC_CHAIN - [0:0]", "-A INPUT -j CROWDSEC_CHAIN", "-A FORWARD -j CROWDSEC_CHAIN",
                 "-A CROWDSEC_CHAIN -m set --match-set crowdsec-blacklists-0 src -m comment --comment \"CrowdSec: "
                 "lists\" -j DROP"],
    "docker": [":DOCKER-ISOLATION-STAGE-1 - [0:0]", ":DOCKER-ISOLATION-STAGE-2 - [0:0]",
               "-A FORWARD -j DOCKER-ISOLATION-STAGE-1",
               "-A DOCKER-ISOLATION-STAGE-1 -i docker0 ! -o docker0 -j DOCKER-ISOLATION-STAGE-2",
               "-A DOCKER-ISOLATION-STAGE-2 -o docker0 -j DROP"],
    "a firewall of the node itself": [
        ":MYFW - [0:0]", "-A INPUT -j MYFW", "-A MYFW -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
        "-A MYFW -i lo -j ACCEPT", "-A MYFW -p tcp -m multiport --dports 22,10250 -j ACCEPT",
        "-A MYFW -p tcp -m tcp --dport 80 -j DROP", "-A MYFW -j DROP"],
    "network policies": [":cali-FORWARD - [0:0]", ":cali-to-wl-dispatch - [0:0]", ":cali-tw-cali1 - [0:0]",
                         "-A FORWARD -j cali-FORWARD", "-A cali-FORWARD -j cali-to-wl-dispatch",
                         "-A cali-to-wl-dispatch -d 10.244.1.1/32 -g cali-tw-cali1", "-A cali-tw-cali1 -j DROP"],
}


@pytest.mark.parametrize("owner", sorted(OTHERS))
@pytest.mark.parametrize("first", [True, False])
def test_others_that_refuse_what_is_theirs(owner, first):
    lines = OTHERS[owner]
    assert ask(node("filter", *lines, first=first)) == []


@pytest.mark.parametrize("chain", ["DOCKER-USER", "CNI-ADMIN", "ufw-user-forward", "FWDI_public_deny"])
def test_what_an_administrator_put_into_the_chain_of_another_program(chain):
    lines = [":%s - [0:0]" % chain, "-A FORWARD -j " + chain, "-A %s -d 10.244.0.0/16 -j DROP" % chain]
    assert ask(node("filter", *lines)) == [("filter", chain, lines[-1])]


def test_behind_a_policy_engine_that_may_accept_nothing_is_certain():
    lines = [":AZURE-NPM - [0:0]", ":MINE - [0:0]", "-A FORWARD -j AZURE-NPM", "-A FORWARD -j MINE",
             "-A AZURE-NPM -j ACCEPT", "-A MINE -d 10.244.0.0/16 -j DROP"]
    assert ask(node("filter", *lines)) == []
    answers_only = [line.replace("-A AZURE-NPM -j", "-A AZURE-NPM -m conntrack --ctstate ESTABLISHED -j")
                    for line in lines]
    assert ask(node("filter", *answers_only)) == [("filter", "MINE", lines[-1])]


def test_where_the_services_are_not_in_rules():
    """In nftables mode they are given, without endpoints where these are not known; in ipvs mode none are given."""
    lines = [":MINE - [0:0]", "-A FORWARD -j MINE", "-A OUTPUT -d 10.96.0.0/12 -p tcp -m tcp --dport 443 -j DROP"]
    given = [Service("ipv4", "10.96.0.1", 443, "tcp", "default/kubernetes", None, True, None),
             Service("ipv6", "fd00::1", 443, "tcp", "", None, True, None)]
    empty = texts.small("filter", "MINE", lines[1:] + ["-A MINE -m conntrack --ctstate NEW -j DROP"])
    assert ask(empty, given, mode="nftables") == [("filter", "OUTPUT", lines[-1])]
    assert ask(empty, [], mode="ipvs") == [("filter", "MINE", "-A MINE -m conntrack --ctstate NEW -j DROP")]
    assert ask(empty, [service._replace(endpoints=frozenset([("10.244.0.9", 6443, "tcp")])) for service in given[:1]],
               mode="nftables") == [
                   ("filter", "MINE", "-A MINE -m conntrack --ctstate NEW -j DROP"), ("filter", "OUTPUT", lines[-1])]
    assert ask(empty, given, mode=None) == [], "no kube-proxy is here"


def test_a_service_without_endpoints_refuses_by_itself():
    refused = ('-A KUBE-SERVICES -d 10.96.0.9/32 -p tcp -m comment --comment "shop/db has no endpoints" -m tcp --dport '
               '80 -j REJECT '
               "--reject-with icmp-port-unreachable\n")
    assert ask(texts.instead(node("raw", "-A PREROUTING -d 10.96.0.9/32 -j DROP"), texts.INVALID,
                             refused + texts.INVALID)) == []


def test_long_lists_of_refusals_are_bounded(monkeypatch):
    tried = []
    real = service_path.list_services
    monkeypatch.setattr(service_path, "list_services", lambda rule_set: tried.append(1) or real(rule_set))
    blocked = [":BLOCKED - [0:0]", "-A FORWARD -j BLOCKED"] + [
        "-A BLOCKED -s 198.51.%d.%d/32 -j DROP" % (number // 250, number % 250) for number in range(20000)]
    assert ask(node("filter", *blocked)) == [] and tried == [1]
    all_hit = [":BLOCKED - [0:0]", "-A FORWARD -j BLOCKED"] + ["-A BLOCKED -d 10.244.1.1/32 -p tcp -m tcp --dport %d "
                                                               "-j DROP" % (8081 + number) for number in range(2000)]
    assert ask(node("filter", *all_hit)) == []
    ports = [":BLOCKED - [0:0]", "-A FORWARD -j BLOCKED"] + ["-A BLOCKED -p tcp -m tcp --dport %d -j DROP" % number
                                                             for number in range(20000, 40000)]
    services = [Service("ipv4", "10.96.%d.%d" % (number // 250, number % 250), 40001 + number, "tcp", "", frozenset(
        [("10.244.9.9", 50000 + number % 5000, "tcp")]), True, True) for number in range(10000)]
    looked, meets = [], service_packets.meets
    monkeypatch.setattr(service_packets, "meets", lambda *given: looked.append(1) or meets(*given))
    assert ask(node("filter", *ports), services) == []
    assert 20000 < len(looked) <= service_packets._LOOKED_ALL
    every = [":BLOCKED - [0:0]", "-A FORWARD -j BLOCKED"] + ["-A BLOCKED -m comment --comment %d -j DROP" % number
                                                             for number in range(20000)]
    assert ask(node("filter", *every)) == [("filter", "BLOCKED", "-A BLOCKED -m comment --comment 0 -j DROP")]


@pytest.mark.parametrize("at", range(0, len(texts.healthy()), 211))
def test_a_dump_that_ends_anywhere(at):
    text = node("filter", ":MINE - [0:0]", "-A FORWARD -j MINE", "-A MINE -d 10.244.0.0/16 -j DROP")
    end = text.index("COMMIT", text.index("*filter"))
    assert ask(text[:min(at, end - 1)]) == []
