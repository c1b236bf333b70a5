# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One IP family flushed beside the other, as real kube-proxies leave it; and families that kube-proxy never wrote
to."""

import functools

import chain_texts as texts
import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.ruleset import RuleSet
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.families import ask_families
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import Setting

# What was saved while the other family was healthy: iptables -F and -X of filter, nat and mangle.
REAL = [("kube-proxy-1.36.3-nft-ipv4", "kube-proxy-1.36.3-nft-ipv6-flushed", "ipv6"),
        ("kube-proxy-1.30.5-legacy-ipv6", "kube-proxy-1.30.5-legacy-ipv4-flushed", "ipv4")]


def setting_by(rule_set, mode="iptables", kubernetes=(1, 30), ipv6=True):
    return Setting(rule_set.family, rule_set.backend, mode, kubernetes, False, {}, ipv6=ipv6)


def asked(*rule_sets, **known):
    rows = ask_families(rule_sets, functools.partial(setting_by, **known))
    return [(row["kind"], row["family"], row["table"], row["chain"]) for row in rows]


def empty(family="ipv6", backend="nft", source="live"):
    return RuleSet(source, family, backend)


@pytest.mark.parametrize("healthy, flushed, family", REAL)
@pytest.mark.parametrize("kubernetes", [(1, 21), (1, 36), None])
def test_a_flushed_family_is_told_alone(healthy, flushed, family, kubernetes):
    rule_sets = [kube_audit.read(kube_audit.sample(name)) for name in (healthy, flushed)]
    rows = ask(rule_sets, lambda rule_set: setting_by(rule_set, kubernetes=kubernetes))[0]
    assert [(row["kind"], row["family"], row["table"], row["chain"])
            for row in rows] == [("anchor_missing", family, "nat", "KUBE-SERVICES")]
    assert ask(rule_sets[:1], setting_by)[0] == [], "a dump of one family tells nothing of the other"


@pytest.mark.parametrize("backend, version", [("nft", "1.36.3"), ("legacy", "1.30.5")])
def test_both_families_of_a_real_kube_proxy(backend, version):
    read = [kube_audit.read(kube_audit.sample("kube-proxy-%s-%s-%s" % (version, backend, family)))
            for family in ("ipv4", "ipv6")]
    assert ask(read, setting_by)[0] == []
    assert asked(read[0], empty(backend="nft" if backend == "legacy" else "legacy"), read[1]) == []


def test_tables_that_nft_deleted():
    healthy = texts.read(texts.healthy())
    assert asked(healthy, empty()) == [("anchor_missing", "ipv6", "nat", "KUBE-SERVICES")]
    assert asked(healthy, empty(), ipv6=False) == asked(healthy, empty(), ipv6=None) == [], "the kernel has no IPv6"
    assert asked(texts.read(texts.healthy("ipv6")), empty("ipv4"),
                 ipv6=None) == [("anchor_missing", "ipv4", "nat", "KUBE-SERVICES")]
    assert asked(texts.read(texts.healthy("ipv4", "legacy")), empty(backend="legacy")) == [], "legacy tables do not go"
    assert asked(texts.read(texts.healthy(), "a file"), empty(source="a file")) == [], "a file need not hold all tables"


def test_a_family_that_kube_proxy_never_used():
    healthy, filters = texts.read(texts.healthy()), texts.small("filter", "DOCKER", ["-A FORWARD -j DOCKER"], "ipv6")
    assert asked(healthy, texts.read(filters)) == [], "ip6tables has no table nat here"
    nat = texts.read(filters + texts.small("nat", "DOCKER", ["-A OUTPUT -j DOCKER"], "ipv6"))
    assert asked(healthy, nat) == [("anchor_missing", "ipv6", "nat", "KUBE-SERVICES")]
    assert asked(healthy, nat, mode="nftables") == asked(healthy, nat, mode=None) == []
    assert asked(healthy, nat, kubernetes=(1, 20)) == [], "one family only, unless asked for both"
    older = texts.healthy().replace(":KUBE-NODEPORTS - [0:0]\n:KUBE-PROXY-CANARY", ":KUBE-PROXY-CANARY",
                                    1).replace(":KUBE-PROXY-FIREWALL - [0:0]\n", "")
    assert asked(texts.read(older), nat, kubernetes=None) == [], "no chain tells that it is no such version"
    assert asked(healthy, nat, texts.read(texts.healthy("ipv6", "legacy"))) == [], "its chains are in the other backend"


def test_what_cannot_be_read_was_not_flushed():
    unread = empty()
    unread.unreadable = ["filter", "mangle", "nat"]
    healthy, flushed = texts.read(texts.healthy()), kube_audit.read(kube_audit.sample(REAL[0][1]))
    assert asked(healthy, unread) == []
    unread.backend = "legacy"
    assert asked(healthy, flushed, unread) == [], "they may be there"
    cut = kube_audit.sample(REAL[0][1])
    assert asked(healthy, kube_audit.read(cut[:cut.rindex("COMMIT")])) == []
