# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that kube-proxy never leaves empty."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._chains.emptied import ask_emptied


def ask(text, **known):
    rule_set = texts.read(text)
    return [(row["kind"], row["table"], row["chain"], row["count"]) for row in ask_emptied(rule_set, texts.setting(rule_set, **known))]


def emptied(chain, text=None):
    return "\n".join(line for line in (text or texts.healthy()).split("\n") if not line.startswith("-A %s " % chain))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize("table, chain", [("nat", "KUBE-POSTROUTING"), ("nat", "KUBE-MARK-MASQ"), ("filter", "KUBE-FORWARD"), ("nat", texts.EXT)])
def test_an_emptied_chain_is_told_alone(family, backend, table, chain):
    assert ask(texts.healthy(family, backend)) == []
    assert ask(emptied(chain, texts.healthy(family, backend))) == [("emptied_chain", table, chain, 1)]


def test_not_without_reason():
    assert ask(emptied("KUBE-FIREWALL")) == [], "it may be empty"
    assert ask(emptied("KUBE-NODEPORTS")) == [], "there may be no NodePort"
    assert ask(emptied("KUBE-POSTROUTING"), mode=None) == [], "nobody knows what belongs into it"
    assert ask(emptied("KUBE-SERVICES")) == [], "in iptables mode a matter of anchors and Services"


@pytest.mark.parametrize("at", range(0, len(texts.healthy()), 211))
def test_a_dump_that_ends_anywhere_was_not_emptied(at):
    assert ask(texts.healthy()[:at]) == []
