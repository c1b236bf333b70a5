# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a migration between the backends is complete, and which conditions are not met."""

from backend_facts import facts
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import migration


def unsettled(known, target="nft", before=None):
    return migration.missing(known, target, before)


def test_a_migration_that_is_through():
    assert unsettled(facts()) == []
    none = {"kubelet_backend": {"ipv6": "none"}, "kube_proxy_backend": {"ipv6": "none"}}
    assert unsettled(facts(none), before={"kubelet_backend": {"ipv6": "none"}}) == []


@cases
def test_what_is_missing(change, before, said):
    assert unsettled(facts(change), before=before) == said


def test_anchors_that_are_missing_or_unknown():
    anchor = {"kind": "anchor_missing", "family": "ipv4", "backend": "nft", "table": "nat", "chain": "OUTPUT",
              "detail": "KUBE-SERVICES"}
    told = unsettled(facts(node_iptables_chains={"observations": [anchor]}))
    assert any("CHAIN001 is fail: ipv4 nft nat OUTPUT: KUBE-SERVICES missing" in text for text in told)
    unread = [{"source": "nft_ipv4", "table": None, "evidence": "iptables-save did not end"}]
    assert any(text.startswith("CHAIN001 is unknown")
               for text in unsettled(facts(node_iptables_chains={"unread": unread})))


def test_a_node_that_did_not_come_back():
    assert unsettled(facts(reached=False)) == ["the node was not assessed: unreachable: x"]
    assert unsettled({}) == ["the node was not assessed: no assessment ran"]


def test_without_a_target_the_rules_alone_must_be_whole():
    assert unsettled(facts({"backend": "legacy"}), None) == []
    anchor = {"kind": "anchor_missing", "family": "ipv4", "backend": "nft", "table": "nat", "chain": "OUTPUT",
              "detail": "KUBE-SERVICES"}
    assert len(unsettled(facts(node_iptables_chains={"observations": [anchor]}),
                         None)) == 1 and unsettled(facts(reached=False), None)
