# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps, canaries and the hint: missing, shadowed, or rightly not there."""

import chain_texts as texts
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.anchor_table import ANCHORS
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.anchors import (
    ask_anchors, ask_presence)

FAMILIES = pytest.mark.parametrize("family", ["ipv4", "ipv6"])
BACKENDS = pytest.mark.parametrize("backend", ["nft", "legacy"])
JUMPS = [line for line in texts.FILTER + texts.NAT
         if line.split()[1] in ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")]
# What came later than 1.18, and the chain of filter that came with it.
NEWER = [line for line in JUMPS if line.split()[-1] in ("KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL", "KUBE-FIREWALL")]
NEWER += [texts.LOCALNET, ":KUBE-FIREWALL - [0:0]", ":KUBE-PROXY-FIREWALL - [0:0]"]
NODE_PORTS = ":KUBE-NODEPORTS - [0:0]\n:KUBE-PROXY-CANARY", ":KUBE-PROXY-CANARY", 1


def ask(text, source="live", **known):
    rule_set = texts.read(text, source)
    return ask_anchors(rule_set, texts.setting(rule_set, **known))


def ipvs(*jumps):
    """A node of Kubernetes 1.20 in ipvs mode, with further jumps of filter."""
    jumps = ['-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD', *jumps]
    user = " ".join(sorted({jump.split()[-1] for jump in jumps}))
    nat = texts.small("nat", "KUBE-LOAD-BALANCER KUBE-MARK-MASQ KUBE-NODE-PORT KUBE-POSTROUTING KUBE-SERVICES",
                      [texts.TO_SERVICES, texts.FROM_NODE, texts.TO_POSTROUTING])
    return texts.small("mangle", "", []) + texts.small("filter", user, jumps) + nat


@FAMILIES
@BACKENDS
@pytest.mark.parametrize("jump", JUMPS)
def test_a_missing_jump_is_told_alone(family, backend, jump):
    row, = ask(texts.without(texts.healthy(family, backend), jump))
    chain, target = jump.split()[1], jump.split()[-1]
    assert (row["kind"], row["chain"], row["text"]) == ("anchor_missing", chain, "-A %s -j %s" % (chain, target))
    assert (row["family"], row["backend"]) == (family, backend)


@pytest.mark.parametrize("jump", JUMPS)
def test_without_a_version_a_chain_that_is_there_needs_its_jumps(jump):
    assert texts.told(ask(texts.without(texts.healthy(), jump), kubernetes=None))[0][0] == "anchor_missing"


@cases
def test_what_came_with_a_version_is_asked_for_from_then_on(version, newer):
    text = texts.without(texts.healthy(), *NEWER).replace(*NODE_PORTS)
    assert sorted(row["text"].split()[-1] for row in ask(text, kubernetes=version)) == newer


FROM_INPUT = "-A INPUT %s%s-j KUBE-SERVICES" % (texts.NEW, texts.PORTALS)
FORWARDED = "-A FORWARD %s%s-j KUBE-EXTERNAL-SERVICES" % (texts.NEW, texts.EXTERNAL)


def before_1_20(*lines):
    """A node of Kubernetes 1.18 without these lines."""
    text = texts.without(texts.healthy(), FORWARDED, *NEWER).replace(*NODE_PORTS)
    return texts.without(texts.adding(text.replace("KUBE-EXT-", "KUBE-XLB-"), "filter", FROM_INPUT), *lines)


@pytest.mark.parametrize("kubernetes", [(1, 18), (1, 19), None])
def test_before_1_20_input_leads_to_services_and_forward_not_to_external_ones(kubernetes):
    assert ask(before_1_20(), kubernetes=kubernetes) == []
    gone = next(line for line in JUMPS if line.startswith("-A FORWARD") and line.endswith("-j KUBE-SERVICES"))
    assert texts.told(ask(before_1_20(gone), kubernetes=kubernetes)) == [("anchor_missing", "filter", "FORWARD")]
    if kubernetes:
        row, = ask(before_1_20(FROM_INPUT), kubernetes=kubernetes)
        assert row["text"] == "-A INPUT -j KUBE-SERVICES"


def test_before_1_17_there_is_no_canary():
    canary = ":KUBE-PROXY-CANARY - [0:0]"
    for kubernetes, missing in (((1, 16), 0), (None, 0), ((1, 18), 3)):
        assert len(ask(before_1_20(canary, canary, canary), kubernetes=kubernetes)) == missing
    assert texts.told(ask(before_1_20(canary), kubernetes=None)) == [("canary_missing", "mangle", "KUBE-PROXY-CANARY")]


def test_an_old_jump_beside_newer_chains_tells_no_age():
    text = texts.adding(texts.healthy(), "filter", FROM_INPUT)
    assert ask(text, kubernetes=None) == []
    assert texts.told(ask(texts.without(text, FORWARDED), kubernetes=None)) == [("anchor_missing", "filter", "FORWARD")]


@cases
def test_ipvs_mode_has_other_anchors_and_no_canary(version, jumps):
    lines = ["-A %s -j %s" % tuple(jump.split()) for jump in jumps]
    assert ask(ipvs(*lines), mode="ipvs", kubernetes=version) == []
    for line in lines:
        assert ask(texts.without(ipvs(*lines), line), mode="ipvs", kubernetes=version)[0]["text"] == line
    rows = ask(texts.without(ipvs(), texts.TO_POSTROUTING), mode="ipvs", kubernetes=None)
    assert texts.told(rows) == [("anchor_missing", "nat", "POSTROUTING")]


def test_a_family_without_chains_of_kube_proxy_is_not_in_use():
    mangle = texts.small("mangle", "KUBE-IPTABLES-HINT KUBE-KUBELET-CANARY", [], "ipv6")
    empty = texts.small("nat", "", [], "ipv6") + mangle
    older_kubelet = texts.small("nat", "KUBE-MARK-DROP KUBE-MARK-MASQ KUBE-POSTROUTING",
                                [texts.TO_POSTROUTING, texts.UNMARKED, texts.SNAT], "ipv6")
    docker = texts.small("nat", "DOCKER", ["-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER"], "ipv6")
    assert [ask(text) for text in (empty, older_kubelet, docker)] == [[], [], []]
    sets = [texts.read(text) for text in (texts.healthy(), empty, older_kubelet, docker)]
    assert ask_presence(sets, texts.setting_by()) == []


def nothing(family="ipv4"):
    return "".join(texts.small(name, "", [], family) for name in ("mangle", "filter", "nat"))


@pytest.mark.parametrize("mode", sorted(ANCHORS))
def test_no_chain_in_any_family_is_said_once(mode):
    rows = ask_presence([texts.read(nothing()), texts.read(nothing("ipv6"))], texts.setting_by(mode=mode))
    assert texts.told(rows) == [("chains_missing", "nat", "KUBE-SERVICES")]
    nat = texts.read("# Generated by iptables-nft-save v1.8.9 (nf_tables) on x\n*nat\nCOMMIT\n")
    assert ask_presence([nat], texts.setting_by(mode=mode))


@pytest.mark.parametrize("sets, known", [
    ([], {}), ([nothing()], {"mode": None}), ([nothing()], {"mode": "nftables"}),
    ([nothing(), texts.healthy("ipv6")], {}), ([nothing(), nothing("ipv6")[:-80]], {}),
    ([texts.small("mangle", "", []) + "# Table `nat' is incompatible, use 'nft' tool.\n"], {})])
def test_no_chain_anywhere_is_not_said_lightly(sets, known):
    assert ask_presence([texts.read(text) for text in sets], texts.setting_by(**known)) == []


def test_a_file_with_one_table_does_not_tell_of_the_others():
    nat = texts.healthy().partition("*filter")[2]
    nat = nat[nat.index("# Generated"):]
    assert ask(nat, "nat.txt") == []
    rows = ask(texts.without(nat, texts.TO_SERVICES), "nat.txt")
    assert texts.told(rows) == [("anchor_missing", "nat", "PREROUTING")]
    assert ask_presence([texts.read(texts.small("nat", "", []), "nat.txt")], texts.setting_by()) == []


@FAMILIES
@BACKENDS
@pytest.mark.parametrize("rule", ["-j ACCEPT", "-j DROP", "-j RETURN",
                                  "-m comment --comment \"all -s 10.0.0.0/8 of it\" -j ACCEPT",
                                  "-j REJECT --reject-with icmp-port-unreachable", "-g X"])
def test_a_rule_without_a_match_hides_the_anchors_behind_it(family, backend, rule):
    text = texts.adding(texts.healthy(family, backend), "filter", ":X - [0:0]", "-A FORWARD " + rule, first=True)
    rows = ask(text)
    assert texts.told(rows) == [("anchor_shadowed", "filter", "FORWARD")]
    assert (rows[0]["count"], rows[0]["text"]) == (4, "-A FORWARD " + rule)
    assert ("nft list table" in rows[0]["detail"]) == (backend == "nft")


@pytest.mark.parametrize("depth, times", [(40, 20), (3000, 1)])
def test_chains_of_an_edited_dump_that_lead_deep_or_often(depth, times):
    chains = [":X%d - [0:0]" % number for number in range(depth + 1)]
    rules = ["-A X%d -j X%d" % (number, number + 1) for number in range(depth) for _time in range(times)]
    text = texts.adding(texts.healthy(), "filter", "-A FORWARD -j X0", *chains + rules, first=True)
    assert ask(text, "filter.txt") == []
