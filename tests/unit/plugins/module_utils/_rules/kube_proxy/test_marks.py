# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark that kube-proxy's rules set and the one they look for."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import questions
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.marks import ask_marks

SET = "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000"
MASQUERADED, ACCEPTED = ("mark_mismatch", "nat", "KUBE-POSTROUTING"), ("mark_mismatch", "filter", "KUBE-FORWARD")


def ask(text, **known):
    rule_set = texts.read(text)
    return texts.told(ask_marks(rule_set, texts.setting(rule_set, **known)))


def marking(*rules):
    return texts.instead(texts.healthy(), SET, "\n".join("-A KUBE-MARK-MASQ " + rule for rule in rules))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_a_mark_that_nobody_looks_for(family, backend):
    healthy = texts.healthy(family, backend)
    assert ask(healthy) == []
    other = texts.instead(healthy, SET, SET.replace("0x4000", "0x8000"))
    assert ask(other) == [MASQUERADED, ACCEPTED]
    assert ask(other, mode="ipvs") == ask(other, mode=None) == [MASQUERADED, ACCEPTED]
    assert ask(other, mode="nftables") == []
    assert ask(texts.instead(healthy, texts.UNMARKED, texts.UNMARKED.replace("0x4000", "0x8000"))) == [MASQUERADED]
    assert ask(texts.instead(healthy, texts.MARKED, texts.MARKED.replace("0x4000", "0x8000"))) == [ACCEPTED]
    assert ask(healthy.replace("0x4000", "0x40000")) == [], "the bit is configurable"


def test_it_is_told_alone_and_with_the_rule():
    text = texts.instead(texts.healthy(), texts.UNMARKED, texts.UNMARKED.replace("0x4000", "0x8000"))
    rows = questions.ask([texts.read(text), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert [(row["kind"], row["text"])
            for row in rows] == [("mark_mismatch", texts.UNMARKED.replace("0x4000", "0x8000"))]


@pytest.mark.parametrize(
    "rules, told", [
        (["-j MARK --set-xmark 0x4000/0x4000", "-j MARK --set-xmark 0x8000/0x8000"], False),
        (["-j MARK --or-mark 0x4000"], False), (["-j MARK --set-mark 0x4000"], False),
        (["-j MARK --set-mark 0x4000/0xf000"], False), (["-j MARK --set-xmark 0x4000/0xffffffff"], False),
        (["-j MARK --set-xmark 16384/16384"], False),
        (["-j MARK --set-xmark 0x2000/0x2000", "-j MARK --xor-mark 0x6000"], False),
        (["-j MARK --set-xmark 0x4000/0x4000", "-j MARK --and-mark 0xff"], True),
        (["-j MARK --set-xmark 0x4000/0x4000", "-j MARK --set-mark 0x1"], True),
        (["-j MARK --set-xmark 0x1/0x1"], True), (["-p tcp -j MARK --set-xmark 0x1/0x1"], False), (["-j MARK"], False),
        (["-j MARK --set-xmark what"], False), (["-j RETURN"], False),
    ])
def test_what_a_mark_amounts_to(rules, told):
    assert (MASQUERADED in ask(marking(*rules))) is told


@pytest.mark.parametrize("rules, told", [
    # Up to 1.18 the rule that masquerades matches the mark itself; so do kubelet's rules beside those of kube-proxy.
    (["-m mark --mark 0x4000/0x4000 -j MASQUERADE"], False), (["-m mark --mark 0x8000/0x8000 -j MASQUERADE"], True),
    (["-m mark --mark 0x8000/0x8000 -j MASQUERADE", "-m mark --mark 0x4000/0x4000 -j MASQUERADE"], False),
    # ipvs mode: a set matches packets that return to their own endpoint.
    (["-m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE", "-m mark ! --mark 0x4000/0x4000 -j RETURN",
      "-j MASQUERADE"], False),
    (["-m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE", "-m mark ! --mark 0x8000/0x8000 -j RETURN",
      "-j MASQUERADE"], True),
    (["-m mark --mark 0x4000/0x4000 -j RETURN", "-j MASQUERADE"], True),
    (["-m mark ! --mark 0x4000 -j RETURN", "-j MASQUERADE"], False),
    (["-j MARK --set-xmark 0x4000/0x0", "-m mark ! --mark 0x4000/0x4000 -j RETURN", "-j MASQUERADE"], True),
    (["-m mark ! --mark 0x4000/0x4000 -j RETURN", "-j MARK --set-xmark 0x4000/0x0", "-j MASQUERADE"], False),
    (["-o eth1 -j MARK --set-xmark 0x4000/0x0", "-m mark ! --mark 0x4000/0x4000 -j RETURN", "-j MASQUERADE"], False),
    (["-j RETURN", "-j MASQUERADE"], False),  # This is reported as lost_match.
    (["-o eth1 -j RETURN", "-m mark ! --mark 0x8000/0x8000 -j RETURN", "-j MASQUERADE"], False),
    (["-m mark ! --mark none -j RETURN"], False),
    (["-o eth1 -j ACCEPT", "-m mark ! --mark 0x8000/0x8000 -j RETURN", "-j MASQUERADE"], False), ([], False),
])
def test_forms_of_postrouting(rules, told):
    lines = [line for line in texts.healthy().split("\n") if not line.startswith("-A KUBE-POSTROUTING")]
    text = texts.adding("\n".join(lines), "nat", *["-A KUBE-POSTROUTING " + rule for rule in rules])
    assert (MASQUERADED in ask(text)) is told


def test_nothing_is_said_of_what_is_not_known():
    other = marking("-j MARK --set-xmark 0x8000/0x8000")
    assert ask(other[:other.rindex("COMMIT")]) == []
    assert ask(texts.without(other, ":KUBE-MARK-MASQ - [0:0]")) == []
    only = texts.small("nat", "KUBE-MARK-MASQ KUBE-POSTROUTING",
                       [SET.replace("0x4000", "0x1"), texts.UNMARKED, texts.SNAT])
    assert ask(only) == [], "kubelet's own, up to 1.27"
