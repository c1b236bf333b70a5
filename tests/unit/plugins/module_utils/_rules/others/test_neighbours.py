# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of others: whose chain is whose, plugins beside each other, jumps to Services, masqueraded traffic."""

import ipaddress

import chain_texts as texts
import kube_audit
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.listing import save_text_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.cni_result import CniResult
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import questions
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.foreign import (
    ask_masquerade, ask_other_cni)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.owners import count_owners, owner_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.pod_chains import rules_of_pod
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask


# Whose chain is whose, and what each owner holds.

@cases
def test_a_name_tells_its_owner(owner, chains):
    assert [(chain, owner_of(chain)) for chain in chains.split()] == [(chain, owner) for chain in chains.split()]


def test_kube_firewall_of_nat_is_not_kubelets():
    assert [owner_of("KUBE-FIREWALL", table) for table in ("nat", "filter")] == ["kube_proxy", "kubelet"]


@pytest.mark.parametrize("family, localnet", [("ipv4", 1), ("ipv6", 0)])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_what_each_holds(family, localnet, backend):
    text = texts.adding(texts.healthy(family, backend), "filter", ":DOCKER-USER - [0:0]", "-A FORWARD -j DOCKER-USER",
                        "-A DOCKER-USER -j RETURN", "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT")
    # kube-proxy: 9 jumps and 3 rules of filter, 3 jumps, 4 rules and 3 Services of 5 rules, a node port and its chain
    # of nat.
    assert count_owners(texts.read(text)) == [
        {"owner": "docker", "family": family, "backend": backend, "rules": 2, "chains": 1},
        {"owner": "kube_proxy", "family": family, "backend": backend, "rules": 9 + 3 + 3 + 4 + 15 + 4,
         "chains": 1 + 6 + 5 + 7},
        {"owner": "kubelet", "family": family, "backend": backend, "rules": 2 + localnet, "chains": 2 + 2 + 1},
        {"owner": "other", "family": family, "backend": backend, "rules": 1, "chains": 0},
    ]


def test_of_a_table_that_was_cut_off_counts_what_was_read():
    text = texts.healthy()
    assert count_owners(texts.read(text[:text.index("-A FORWARD")])) == [
        {"owner": "kube_proxy", "family": "ipv4", "backend": "nft", "rules": 3, "chains": 7},
        {"owner": "kubelet", "family": "ipv4", "backend": "nft", "rules": 1, "chains": 4}]


# Network plugins beside each other: what was left behind, and who works together.

CHAINS = {"calico": "cali-FORWARD", "flannel": "FLANNEL-FWD", "weave": "WEAVE-NPC", "cilium": "CILIUM_FORWARD",
          "kube_router": "KUBE-NWPLCY-ABCDEFGH", "aws": "AWS-SNAT-CHAIN-0", "portmap": "CNI-HOSTPORT-DNAT"}


def ask_of_other_cni(*plugins):
    lines = ["*filter", ":FORWARD ACCEPT [0:0]"] + [":%s - [0:0]" % CHAINS[name] for name in plugins]
    lines += ["-A %s -j ACCEPT" % CHAINS[name] for name in plugins for _number in range(1 + sorted(CHAINS).index(name))]
    return [(row["kind"], row["chain"]) for row in ask_other_cni([texts.read("\n".join(lines + ["COMMIT", ""]))])]


@cases
def test_a_plugin_that_was_left_behind(one, other, told):
    assert ask_of_other_cni(one, other) == ask_of_other_cni(other, one) == [("other_cni", told)]


@cases
def test_plugins_that_work_together(plugins):
    assert ask_of_other_cni(*plugins) == []


@pytest.mark.parametrize("target, told", [("MASQUERADE", ["FLANNEL-POSTRTG"]), (None, [])])
def test_flannel_beside_a_calico_that_masquerades_may_be_canal(target, told):
    text = "*nat\n:POSTROUTING ACCEPT [0:0]\n:FLANNEL-POSTRTG - [0:0]\n:cali-nat-outgoing - [0:0]\n" \
        "-A FLANNEL-POSTRTG -s 10.244.0.0/16 -j MASQUERADE\n:cali-POSTROUTING - [0:0]\n" \
        "-A cali-POSTROUTING -j cali-nat-outgoing\n%sCOMMIT\n" % (
            "-A cali-nat-outgoing -m set --match-set cali40masq-ipam-pools src -j %s\n" % target if target else "")
    rows = list(ask_other_cni([texts.read(text)]))
    assert [row["chain"] for row in rows] == told and all("unless this is Canal" in row["detail"] for row in rows)


def test_empty_chains_refuse_nobody():
    text = "*filter\n:FORWARD ACCEPT [0:0]\n:cali-FORWARD - [0:0]\n:WEAVE-NPC - [0:0]\n-A WEAVE-NPC -j DROP\nCOMMIT\n"
    assert list(ask_other_cni([texts.read(text)])) == []


# Rules of others that lead to the chains of Services.

def found(text, **known):
    return [(row["kind"], row["chain"], row["text"], row["count"])
            for row in ask([texts.read(text)], texts.setting_by(kubelet=False, **known))[0]]


@pytest.mark.parametrize("name", ["kube-proxy-1.36.3-nft-ipv4", "kube-proxy-1.30.5-legacy-ipv4"])
def test_a_rule_as_it_was_on_a_real_node(name):
    rule = "-A OUTPUT -d 172.30.0.4/32 -j KUBE-SVC-I5LIAMPLWKMBJ54B"
    assert found(texts.adding(kube_audit.sample(name), "nat", rule)) == [("foreign_jump", "OUTPUT", rule, 1)]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("target", [texts.SVC, texts.EXT, texts.SVC.replace("SVC", "SEP")])
def test_whatever_chain_of_a_service(target, family):
    rule = "-A MINE -p tcp -m tcp --dport 8081 -j %s" % target
    text = texts.adding(texts.healthy(family), "nat", ":MINE - [0:0]", "-A PREROUTING -j MINE", rule,
                        rule.replace("8081", "8082"))
    assert found(text) == [("foreign_jump", "MINE", rule, 2)]
    assert [row for row in found(text, mode="nftables")
            if row[0] == "foreign_jump"] == [], "nobody writes these chains any more"


@cases
def test_chains_that_kube_proxy_never_deletes(rule):
    assert [row for row in found(texts.adding(texts.healthy(), "nat", rule)) if row[0] == "foreign_jump"] == []


# Traffic that network plugins masquerade, and that no rule masquerades any more.

FLANNEL = ["-A POSTROUTING -m comment --comment \"flanneld masq\" -j FLANNEL-POSTRTG",
           "-A FLANNEL-POSTRTG -s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully"]


def dump(chains, *rules):
    """A healthy node with these additional chains and rules of nat."""
    return texts.adding(texts.healthy(), "nat", *([":%s - [0:0]" % name for name in chains.split()] + list(rules)))


def masqueraded(text, **known):
    rule_set = texts.read(text, **known)
    return [(row["table"], row["chain"], row["count"], row["detail"])
            for row in ask_masquerade(rule_set, texts.setting(rule_set))]


def test_a_flush_of_nat_is_told_beside_what_kube_proxy_lost():
    flushed = texts.flushed(dump("FLANNEL-POSTRTG", *FLANNEL), "nat")
    rows = questions.ask([texts.read(flushed), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert [(row["kind"], row["chain"]) for row in rows
            if row["kind"] == "masquerade_missing"] == [("masquerade_missing", "FLANNEL-POSTRTG")]


@pytest.mark.parametrize("at", range(0, 6000, 171))
def test_a_dump_that_ends_anywhere_lost_nothing(at):
    assert masqueraded(dump("FLANNEL-POSTRTG", *FLANNEL)[:at], source="bundle.txt") == []


# Rules of single pods: the names that tests of containernetworking/plugins have.

@cases
def test_names_of_the_rules_of_a_pod(network, sandbox, entry, chain, sign):
    result = CniResult(sandbox, network, "eth0", [], [ipaddress.ip_address("192.0.2.1")], {"ipv4": 1}, "shop/web")
    found, = rules_of_pod(result, [entry])
    assert (found.chain, found.nft[3]) == (chain, sign)


# Listings of single chains: the number of references is that of the kernel.

LISTED = """\
Chain POSTROUTING (policy ACCEPT)
target     prot opt source               destination
KUBE-POSTROUTING  all  --  0.0.0.0/0            0.0.0.0/0            /* kubernetes postrouting rules */
Chain %s (%d references)
target     prot opt source               destination
RETURN     all  --  10.32.0.0/12         224.0.0.0/4
%s  all  --  10.32.0.0/12        !10.32.0.0/12
"""


@pytest.mark.parametrize("chain, references, target, found", [
    ("WEAVE", 0, "MASQUERADE", ["WEAVE"]), ("FLANNEL-POSTRTG", 0, "MASQUERADE", ["FLANNEL-POSTRTG"]),
    ("IP-MASQ-AGENT", 0, "MASQUERADE", ["IP-MASQ-AGENT"]), ("WEAVE", 1, "MASQUERADE", []),
    ("WEAVE", 0, "RETURN", []), ("WEAVE-EXPOSE", 0, "MASQUERADE", []), ("DOCKER", 0, "MASQUERADE", [])])
def test_a_listed_chain_without_references(chain, references, target, found):
    text = save_text_of((LISTED % (chain, references, target)).splitlines(), "nat")
    rule_set = texts.read("\n".join(text.lines() + [""]), "files")
    rule_set.unreferenced = [(text.table, name) for name in text.unreferenced]
    assert [row["chain"] for row in ask_masquerade(rule_set, None)] == found
