# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All questions at once: healthy nodes give nothing, one damage gives one finding, an odd dump never an error."""

import chain_texts as texts
import pytest
import work
from hypothesis import given
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask

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
    left = [texts.small(*chain, [], "ipv4", "legacy") for chain in (("mangle", "KUBE-PROXY-CANARY"),
                                                                    ("nat", "KUBE-SERVICES"))]
    assert of(texts.healthy(), "".join(left)) == [], "what is left there needs no anchors"


def test_what_follows_from_a_flush_is_not_told_beside_it():
    rows = of(texts.flushed(texts.healthy(), "nat"), texts.healthy("ipv6"))
    assert {(row["kind"], row["family"]) for row in rows} == {("anchor_missing", "ipv4"), ("half_repaired", "ipv4")}


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
