# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node that was flushed, and what a partial sync brought back."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.repaired import ask_repaired

JUMPS = (texts.TO_SERVICES, texts.FROM_NODE)


def ask(text, **known):
    rule_set = texts.read(text)
    return [(row["kind"], row["table"], row["chain"], row["count"])
            for row in ask_repaired(rule_set, texts.setting(rule_set, **known))]


def emptied(text, *chains):
    ours = tuple("-A %s " % chain for chain in chains + tuple(chain.replace("SVC", "SEP") for chain in chains))
    return "\n".join(line for line in text.split("\n") if not line.startswith(ours))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_flushed_and_one_service_brought_back(family, backend):
    text = emptied(texts.healthy(family, backend), texts.OTHER_SVC, texts.THIRD_SVC)
    assert ask(texts.without(text, *JUMPS)) == [("half_repaired", "nat", texts.OTHER_SVC, 2)]
    assert ask(text) == [("half_repaired", "nat", texts.OTHER_SVC, 2)], "jumps are there, most chains are empty"
    assert ask(text, mode=None) == [("half_repaired", "nat", texts.OTHER_SVC, 2)]


def test_flushed_and_nothing_brought_back():
    assert ask(texts.flushed(texts.healthy(), "nat")) == [("half_repaired", "nat", texts.SVC, 3)]


def test_not_without_reason():
    assert ask(texts.healthy()) == []
    assert ask(texts.without(texts.healthy(), *JUMPS)) == [], "deleted jumps are missing anchors"
    assert ask(emptied(texts.healthy(), texts.OTHER_SVC)) == [], "a single empty chain is told as that"
    assert ask(texts.flushed(texts.healthy(), "nat", True)) == [], "with its chains gone anchors are missing"


def test_only_where_kube_proxy_cannot_have_noticed():
    text = texts.flushed(texts.healthy(), "nat")
    assert ask(texts.without(text, ":KUBE-PROXY-CANARY - [0:0]")) == [], "it notices that the one of mangle is gone"
    assert ask(text, mode="ipvs") == []


@pytest.mark.parametrize("at", range(0, len(texts.healthy()), 107))
def test_a_dump_that_ends_anywhere_was_not_flushed(at):
    assert ask(texts.healthy()[:at]) == []
    assert ask(texts.healthy()[:at] + "\nCOMMIT\n" if at < 700 else texts.healthy()[:at]) == []
