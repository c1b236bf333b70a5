# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of others: whose chain is whose, plugins beside each other, jumps to Services, masqueraded traffic."""

import ipaddress

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.listing import save_text_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.cni_config import CniResult
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.foreign import (
    ask_masquerade, ask_other_cni,
)
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
    wanted = [("docker", 2, 1), ("kube_proxy", 9 + 3 + 3 + 4 + 15 + 4, 1 + 6 + 5 + 7),
              ("kubelet", 2 + localnet, 2 + 2 + 1), ("other", 1, 0)]
    assert count_owners(texts.read(text)) == [
        {"owner": owner, "family": family, "backend": backend, "rules": rules, "chains": chains}
        for owner, rules, chains in wanted]


def test_of_a_table_that_was_cut_off_counts_what_was_read():
    text = texts.healthy()
    assert count_owners(texts.read(text[:text.index("-A FORWARD")])) == [
        {"owner": "kube_proxy", "family": "ipv4", "backend": "nft", "rules": 3, "chains": 7},
        {"owner": "kubelet", "family": "ipv4", "backend": "nft", "rules": 1, "chains": 4}]


# Network plugins beside each other: what was left behind, and who works together.

CHAINS = {"calico": "cali-FORWARD", "flannel": "FLANNEL-FWD", "weave": "WEAVE-NPC", "cilium": "CILIUM_FORWARD",
          "kube_router": "KUBE-NWPLCY-ABCDEFGH", "aws": "AWS-SNAT-CHAIN-0", "portmap": "CNI-HOSTPORT-DNAT"}


def ask_of_other_cni(*plugins):
    lines = ["-A %s -j ACCEPT" % CHAINS[name] for name in plugins for _number in range(1 + sorted(CHAINS).index(name))]
    text = texts.small("filter", " ".join(CHAINS[name] for name in plugins), lines)
    return [(row["kind"], row["chain"]) for row in ask_other_cni([texts.read(text)])]


@cases
def test_a_plugin_that_was_left_behind(one, other, told):
    assert ask_of_other_cni(one, other) == ask_of_other_cni(other, one) == [("other_cni", told)]


@cases
def test_plugins_that_work_together(plugins):
    assert ask_of_other_cni(*plugins) == []


@pytest.mark.parametrize("target, told", [("MASQUERADE", ["FLANNEL-POSTRTG"]), (None, [])])
def test_flannel_beside_a_calico_that_masquerades_may_be_canal(target, told):
    lines = ["-A FLANNEL-POSTRTG -s 10.244.0.0/16 -j MASQUERADE", "-A cali-POSTROUTING -j cali-nat-outgoing"]
    if target:
        lines.append("-A cali-nat-outgoing -m set --match-set cali40masq-ipam-pools src -j " + target)
    text = texts.small("nat", "FLANNEL-POSTRTG cali-nat-outgoing cali-POSTROUTING", lines)
    rows = list(ask_other_cni([texts.read(text)]))
    assert [row["chain"] for row in rows] == told and all("unless this is Canal" in row["detail"] for row in rows)


def test_empty_chains_refuse_nobody():
    text = texts.small("filter", "cali-FORWARD WEAVE-NPC", ["-A WEAVE-NPC -j DROP"])
    assert list(ask_other_cni([texts.read(text)])) == []


# Rules of others that lead to the chains of Services.

def found(text, **known):
    return [(row["kind"], row["chain"], row["text"], row["count"])
            for row in ask([texts.read(text)], texts.setting_by(kubelet=False, **known))[0]]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("target", [texts.SVC, texts.EXT, texts.SVC.replace("SVC", "SEP")])
def test_whatever_chain_of_a_service(target, family):
    rule = "-A MINE -p tcp -m tcp --dport 8081 -j %s" % target
    text = texts.adding(texts.healthy(family), "nat", ":MINE - [0:0]", "-A PREROUTING -j MINE", rule,
                        rule.replace("8081", "8082"))
    assert found(text) == [("foreign_jump", "MINE", rule, 2)]
    later = [row for row in found(text, mode="nftables") if row[0] == "foreign_jump"]
    assert later == [], "nobody writes these chains any more"


@cases
def test_chains_that_kube_proxy_never_deletes(rule):
    assert [row for row in found(texts.adding(texts.healthy(), "nat", rule)) if row[0] == "foreign_jump"] == []


# Traffic that network plugins masquerade, and that no rule masquerades any more.

def test_a_flush_of_nat_is_told_beside_what_kube_proxy_lost():
    flushed = texts.flushed(texts.adding(texts.healthy(), "nat", ":FLANNEL-POSTRTG - [0:0]"), "nat")
    rows = ask([texts.read(flushed), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert [row["chain"] for row in rows if row["kind"] == "masquerade_missing"] == ["FLANNEL-POSTRTG"]


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
