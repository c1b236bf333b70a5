# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of others that lead to the chains of Services."""

import chain_texts as texts
import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask


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


@pytest.mark.parametrize("rule", ["-A PREROUTING -p tcp -m tcp --dport 8081 -j KUBE-MARK-MASQ",
                                  "-A OUTPUT -d 10.96.0.1/32 -j KUBE-SERVICES",
                                  "-A POSTROUTING -d 192.0.2.7/32 -j KUBE-POSTROUTING"])
def test_chains_that_kube_proxy_never_deletes(rule):
    assert [row for row in found(texts.adding(texts.healthy(), "nat", rule)) if row[0] == "foreign_jump"] == []
