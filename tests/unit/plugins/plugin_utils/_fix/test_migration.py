# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a migration between the backends is complete, which conditions are not met, and whether the answer of the
API server shows that its node is cordoned."""

import json

import pytest
from backend_facts import facts
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
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


def answer(name="worker-7", rc=0, **spec):
    return {"rc": rc, "stdout": json.dumps({"kind": "Node", "metadata": {"name": name}, "spec": spec}), "stderr": ""}


def test_a_cordoned_node():
    assert migration.cordon_doubt(answer(unschedulable=True), "worker-7") == ""


@cases
def test_anything_else_is_a_doubt(result, said):
    doubt = migration.cordon_doubt(result, "worker-7")
    assert said in doubt and "\n" not in doubt


def test_a_wrong_type_is_refused():
    with pytest.raises(BadInput):
        migration.cordon_doubt("", "x")
