# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kube-proxy's syncs leave: one IP family flushed beside the other, a flush half repaired or not noticed, marks
that do not fit, numbers of rules."""

import functools

import chain_texts as texts
import kube_audit
import kube_captures
import kube_proxy_captures
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_running import is_waiting
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.ruleset import RuleSet
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save import SaveReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kube.kube_proxy_answers import (
    parse_kube_proxy_metrics,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.anchors import ask_unrepaired
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.emptied import ask_families
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.marks import ask_marks
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.proxy import compare_rules, own_rules
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import Setting

# One IP family flushed beside the other, as real kube-proxies leave it; and families that kube-proxy never wrote to.

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
    row, = ask(rule_sets, lambda rule_set: setting_by(rule_set, kubernetes=kubernetes))[0]
    assert row["family"] == family and texts.told([row]) == [("anchor_missing", "nat", "KUBE-SERVICES")]
    assert ask(rule_sets[:1], setting_by)[0] == [], "a dump of one family tells nothing of the other"


def test_tables_that_nft_deleted():
    healthy = texts.read(texts.healthy())
    assert asked(healthy, empty()) == [("anchor_missing", "ipv6", "nat", "KUBE-SERVICES")]
    assert asked(healthy, empty(), ipv6=False) == asked(healthy, empty(), ipv6=None) == [], "the kernel has no IPv6"
    other = asked(texts.read(texts.healthy("ipv6")), empty("ipv4"), ipv6=None)
    assert other == [("anchor_missing", "ipv4", "nat", "KUBE-SERVICES")]
    assert asked(texts.read(texts.healthy("ipv4", "legacy")), empty(backend="legacy")) == [], "legacy tables do not go"
    assert asked(texts.read(texts.healthy(), "a file"), empty(source="a file")) == [], "a file need not hold all tables"


def test_a_family_that_kube_proxy_never_used():
    healthy, filters = texts.read(texts.healthy()), texts.small("filter", "DOCKER", ["-A FORWARD -j DOCKER"], "ipv6")
    assert asked(healthy, texts.read(filters)) == [], "ip6tables has no table nat here"
    nat = texts.read(filters + texts.small("nat", "DOCKER", ["-A OUTPUT -j DOCKER"], "ipv6"))
    assert asked(healthy, nat) == [("anchor_missing", "ipv6", "nat", "KUBE-SERVICES")]
    assert asked(healthy, nat, mode="nftables") == asked(healthy, nat, mode=None) == []
    assert asked(healthy, nat, kubernetes=(1, 20)) == [], "one family only, unless asked for both"
    older = texts.healthy().replace(":KUBE-NODEPORTS - [0:0]\n:KUBE-PROXY-CANARY", ":KUBE-PROXY-CANARY", 1)
    older = older.replace(":KUBE-PROXY-FIREWALL - [0:0]\n", "")
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


# Lost rules that kube-proxy does not write again by itself.

HEALTHY = texts.healthy()
CANARY = ":KUBE-PROXY-CANARY - [0:0]"


def unrepaired(text, **known):
    rule_set = texts.read(text)

    def setting_of(_rule_set):
        return texts.setting(rule_set, **known)

    observations = ask([rule_set], setting_of)[0]
    return [(row["family"], row["backend"], row["count"])
            for row in ask_unrepaired(observations, [rule_set], setting_of)]


@pytest.mark.parametrize("text", [
    texts.flushed(HEALTHY, "nat"), texts.flushed(HEALTHY, "nat", True), texts.without(HEALTHY, texts.TO_SERVICES)])
def test_the_canary_in_mangle_is_left(text):
    ((family, backend, count),) = unrepaired(text)
    assert (family, backend) == ("ipv4", "nft") and count > 0


def test_nothing_is_lost_or_kube_proxy_notices_it():
    assert unrepaired(HEALTHY) == []
    assert unrepaired(texts.without(texts.flushed(HEALTHY, "nat"), CANARY)) == [], "it notices that within 30 s"
    assert unrepaired(texts.flushed(HEALTHY, "nat"), mode="ipvs") == [], "it writes all rules every 30 s"
    emptied = "\n".join(line for line in HEALTHY.split("\n") if not line.startswith("-A %s " % texts.SVC))
    assert emptied != HEALTHY and unrepaired(emptied) == [], "a Service is no flush"


# The mark that kube-proxy's rules set and the one they look for.

SET = "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000"
MASQUERADED = ("mark_mismatch", "nat", "KUBE-POSTROUTING")
ask_of_marks = texts.asking(ask_marks, "kind table chain")


def marking(*rules):
    return texts.instead(texts.healthy(), SET, "\n".join("-A KUBE-MARK-MASQ " + rule for rule in rules))


@cases
def test_what_a_mark_amounts_to(rules, told):
    assert (MASQUERADED in ask_of_marks(marking(*rules))) is told


@cases
def test_forms_of_postrouting(rules, told):
    lines = [line for line in texts.healthy().split("\n") if not line.startswith("-A KUBE-POSTROUTING")]
    text = texts.adding("\n".join(lines), "nat", *["-A KUBE-POSTROUTING " + rule for rule in rules])
    assert (MASQUERADED in ask_of_marks(text)) is told


# Rules that kube-proxy counts against rules in the kernel: real captures of both.

def counted(text):
    reader = SaveReader("test")
    reader.feed(text)
    return {name: own_rules(table) for rules in reader.close() for name, table in rules.tables.items()}


def compared(place):
    """{"family/table": (promised, in the kernel, state)} of a capture, where they are not equal."""
    text = kube_proxy_captures.texts()[place]["metrics"].decode("utf-8")
    families = parse_kube_proxy_metrics(text)["families"]
    dumps = kube_captures.packed().get(place[0], {}).get(place[1], {})
    readings = {family: [counted(dumps.get(name + "-save-c.txt", b""))]
                for family, name in (("ipv4", "iptables"), ("ipv6", "ip6tables"))}
    rows = compare_rules({family: row["rules"] for family, row in families.items()}, readings,
                         [family for family, row in families.items() if is_waiting(row)])
    return {"%(family)s/%(table)s" % row: (row["promised"], row["in_kernel"], row["state"])
            for row in rows if row["state"] != "equal"}


def test_every_healthy_capture_is_equal():
    places = [place for place in kube_proxy_captures.texts() if place[0].startswith("iptables-mode/") and not place[1]]
    assert len(places) >= 9
    assert [place for place in places if compared(place)] == []


@cases
def test_what_was_provoked(directory, snapshot, found):
    assert compared(("failures/" + directory, snapshot)) == found


@cases
def test_chains_of_kubelet_and_kube_router_are_not_counted(text, counts):
    assert counted(text.encode()) == counts
    # KUBE-FIREWALL belongs to kube-proxy or to kubelet.
    one, two, three = (compare_rules({"ipv4": {"filter": promised}}, {"ipv4": [counts], "ipv6": [{}]}, [])[0]
                       for promised in (1, 2, 3))
    assert (one["state"], two["state"], three["in_kernel"]) == ("equal", "equal", 2)


@cases
def test_rules_of_two_backends_and_rules_that_could_not_be_read(readings, state, why):
    row = compare_rules({"ipv4": {"nat": 5}}, {"ipv4": readings, "ipv6": [{}]}, [])[0]
    assert (row["state"], row["because"]) == (state, why)


def test_a_version_that_counts_nothing():
    assert compare_rules({"all": None}, {"ipv4": [{}], "ipv6": [{}]}, []) == []
