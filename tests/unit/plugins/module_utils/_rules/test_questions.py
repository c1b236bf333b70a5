# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All questions at once: healthy nodes give nothing, one damage gives one finding, an odd dump never an error."""

import random

import chain_texts as texts
import pytest
import work
from hypothesis import given
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask

SETS = [(family, backend) for family in ("ipv4", "ipv6") for backend in ("nft", "legacy")]
KEYS = {"kind", "family", "backend", "table", "chain", "text", "count", "detail"}


def of(*dumps, **known):
    return ask([texts.read(text) for text in dumps], texts.setting_by(**known))[0]


@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize("known", [{}, {"mode": None}, {"kubernetes": None}, {"kubelet": None}, {"kubernetes": (1, 36)},
                                   {"mode": None, "kubernetes": None, "kubelet": None}])
def test_a_healthy_node_gives_nothing(backend, known):
    assert of(texts.healthy("ipv4", backend), texts.healthy("ipv6", backend), **known) == []


def test_nothing_read_gives_nothing():
    assert of() == []
    assert of("", "\n") == []


def test_an_empty_other_backend_gives_nothing():
    assert of(texts.healthy(), texts.healthy("ipv6"), texts.small("filter", "", [], "ipv4", "legacy"),
              texts.small("nat", "DOCKER", [], "ipv6", "legacy")) == []


def test_what_is_left_in_the_other_backend_needs_no_anchors():
    rows = of(texts.healthy(), texts.small("mangle", "KUBE-PROXY-CANARY", [], "ipv4",
                                           "legacy") + texts.small("nat", "KUBE-SERVICES", [], "ipv4", "legacy"))
    assert rows == []


@pytest.mark.parametrize("seed", random.sample(range(10 ** 6), 12))
@pytest.mark.parametrize("family, backend", SETS)
def test_one_damage_gives_its_finding_only(family, backend, seed):
    chance = random.Random(seed)
    damages = (
        (lambda text: texts.without(text, chance.choice([texts.TO_SERVICES, texts.FROM_NODE, texts.TO_POSTROUTING])),
         "anchor_missing"),
        (lambda text: texts.instead(text, texts.MARKED, "-A KUBE-FORWARD -j ACCEPT"), "lost_match"),
        (lambda text: texts.instead(text, texts.UNMARKED, "-A KUBE-POSTROUTING -j RETURN"), "lost_match"),
        (lambda text: texts.adding(text, "filter", chance.choice(texts.FILTER)), "duplicate_rule"),
        (lambda text: texts.adding(text, "filter", "-A FORWARD -j DROP", first=True), "anchor_shadowed"),
        (lambda text: texts.adding(text, "filter", "-A KUBE-FORWARD -i eth%d -j DROP" % chance.randrange(9)),
         "unexpected_drop"),
        (lambda text: texts.adding(text, "nat", "-A KUBE-MARK-MASQ -i eth%d -j NOWHERE" % chance.randrange(9)),
         "dangling_jump"),
        (lambda text: texts.adding(text, "nat", "-A PREROUTING -p tcp -m tcp --dport 10250 -j DNAT --to-destination "
                                                ":1"), "hostport_capture"),
        (lambda text: texts.without(text, ":KUBE-IPTABLES-HINT - [0:0]"), "hint_missing"),
        (lambda text: texts.adding(text, "nat", ":KUBE-XLB-AAAAAAAAAAAAAAAA - [0:0]"), "other_mode"),
        (lambda text: texts.dropping(text, "filter", "FORWARD"), "forward_drop"),
    )
    damage, kind = chance.choice(damages)
    rows = of(damage(texts.healthy(family, backend)))
    assert ([row["kind"] for row in rows], rows[0]["family"],
            rows[0]["backend"]) == ([kind], family, backend), "seed %d" % seed


@pytest.mark.parametrize("at", range(0, len(texts.healthy()), 31))
def test_a_file_that_ends_anywhere_is_no_defect_of_the_node(at):
    rule_set = texts.read(texts.healthy()[:at], "bundle.txt")
    assert [row["kind"] for row in ask([rule_set], texts.setting_by())[0]] == []


def test_what_follows_from_a_flush_is_not_told_beside_it():
    rows = of(texts.flushed(texts.healthy(), "nat"), texts.healthy("ipv6"))
    assert sorted({(row["kind"], row["family"]) for row in rows}) == [("anchor_missing", "ipv4"),
                                                                      ("half_repaired", "ipv4")]
    single = of("\n".join(line for line in texts.healthy().split("\n")
                          if not line.startswith("-A %s " % texts.OTHER_SVC)))
    assert [row["kind"] for row in single] == ["empty_service_chain"]


LINES = texts.healthy().split("\n") + ["-A KUBE-SERVICES -j DROP", "-A INPUT -j INPUT", ":KUBE-SVC-X -",
                                       "-A A -m recent", "-A  -j \x1b[31m", '-A KUBE-FIREWALL "', "*nat", "COMMIT"]


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=40)), max_size=60),
       st.sampled_from([None, "iptables", "ipvs", "nftables"]), st.sampled_from([None, (1, 20), (1, 33)]))
def test_whatever_a_dump_holds_the_answer_keeps_its_form(lines, mode, kubernetes):
    rows = of("\n".join(lines), texts.healthy("ipv6"), mode=mode, kubernetes=kubernetes)
    for row in rows:
        assert set(row) == KEYS
        assert row["count"] >= 1 and len(row["text"]) <= 200 and len(row["chain"]) <= 64 and len(row["detail"]) < 300


@cases
def test_twice_as_many_rules_are_at_most_twice_the_work(rule, monkeypatch):
    monkeypatch.setattr(save_lines, "_KEPT", 0)

    def calls(number):
        text = texts.adding(texts.healthy(), "filter", ":MINE - [0:0]",
                            *(rule.format(each // 200, each % 200) for each in range(number)))
        return work.calls_of(lambda: ask([texts.read(text), texts.read(texts.healthy("ipv6"))], texts.setting_by()))
    none, some, more = calls(0), calls(1500), calls(3000)
    assert more - none < 2.3 * (some - none)
