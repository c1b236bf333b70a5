# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role harden_iptables_backend decides by: what is to be done, whether the node is cordoned, whether a migration is through."""

import json

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _backends, _policy, _select

NOTHING = {"align": [], "leftovers": []}
SPLIT = {"backend": "mixed", "backend_by_family": {"ipv4": "nft", "ipv6": "legacy"}}


def facts(backend=None, reached=True, policy=None, **changes):
    policy = _policy.policy_of(policy or {})
    evidence = healthy(policy.module_names, None, dict(changes, node_iptables_backend=backend or {})) if reached else {}
    return _assess.exported(evidence, policy, _assess.chosen_checks(None), None, not_reached=None if reached else "unreachable: x")


def row(backend, family="ipv4", **changes):
    return dict({"backend": backend, "family": family, "readable": True, "rules": 0, "kube_rules": 0, "drops": 0, "hint": False,
                 "kubelet_canary": False, "proxy_canary": False}, **changes)


def to_fix(known, target="auto", fix="disruptive"):
    return _backends.backends_to_fix(known, target, fix)


def test_a_healthy_node_needs_nothing():
    assert to_fix(facts()) == NOTHING and to_fix(facts(), "nft") == NOTHING


def test_families_that_differ_are_aligned():
    assert to_fix(facts(SPLIT))["align"] == ["BACKEND002", "BACKEND008"]
    assert to_fix(facts(SPLIT), fix="guarded") == NOTHING


def test_nothing_is_disrupted_in_an_image():
    image = facts(dict(SPLIT, mixing={"verdict": "unknown", "because": "only a live node has rules"}), node_host={"place": "image"})
    assert to_fix(image, fix="guarded")["align"] == ["BACKEND002"]
    assert to_fix(image, fix="safe") == NOTHING
    rows = [row for row in image["node_assess_findings"] if row["check"] == "BACKEND002"]
    assert rows[0]["remediation"].endswith("Role harden_iptables_backend does it (guarded).")
    assert _select.fixable(rows, "guarded", "harden_iptables_backend", "image") == rows
    assert _select.fixable(rows, "guarded", "harden_iptables_backend", "live") == []


def test_another_backend_is_asked_for():
    assert to_fix(facts(), "legacy")["align"] == ["the programs are nft, not legacy"]
    assert to_fix(facts({"=backend": None}), "nft")["align"] == ["the programs are undecided, not nft"]
    assert to_fix(facts({"backend": "none"}), "nft") == NOTHING
    assert to_fix(facts(policy={"node_policy_iptables_backend": "legacy"}))["align"] == ["BACKEND010"]


def test_chains_elsewhere_are_leftovers():
    sets = [row("nft", kube_rules=171), row("legacy", proxy_canary=True), row("nft", "ipv6", hint=True), row("legacy", "ipv6", rules=4)]
    assert to_fix(facts({"sets": sets}))["leftovers"] == ["ipv4"]
    assert to_fix(facts({"sets": sets}), "legacy")["leftovers"] == ["ipv4", "ipv6"]
    used = {"ipv4": "both", "ipv6": "none"}
    assert to_fix(facts({"sets": sets, "kubelet_backend": used, "backend": "legacy"}))["leftovers"] == ["ipv4", "ipv6"]
    assert to_fix(facts({"sets": sets, "kubelet_backend": used, "backend": "mixed"}))["leftovers"] == []
    assert to_fix(facts({"sets": sets, "kubelet_backend": used, "backend": "mixed"}), "nft")["leftovers"] == ["ipv4"]


def test_an_immutable_node_is_left_alone():
    assert to_fix(facts(SPLIT, node_host={"immutable": True, "immutable_by": "talos"}), "legacy") == NOTHING


def test_a_node_of_which_nothing_is_known_is_left_alone():
    assert to_fix(facts(reached=False)) == NOTHING and to_fix({}, "nft") == NOTHING


def answer(name="worker-7", rc=0, **spec):
    return {"rc": rc, "stdout": json.dumps({"kind": "Node", "metadata": {"name": name}, "spec": spec}), "stderr": ""}


def test_a_cordoned_node():
    assert _backends.cordon_doubt(answer(unschedulable=True), "worker-7") == ""


@pytest.mark.parametrize("result, said", [
    (answer(), "the node worker-7 is not cordoned"),
    (answer(unschedulable=False), "not cordoned"),
    (answer(unschedulable="true"), "not cordoned"),
    (answer("worker-8", unschedulable=True), "is not the node worker-7"),
    ({"rc": 0, "stdout": '{"kind": "NodeList", "items": []}'}, "is not the node worker-7"),
    ({"rc": 0, "stdout": "[]"}, "is not the node worker-7"),
    ({"rc": 0, "stdout": "{\"kind\": "}, "no JSON"),
    ({"rc": 0, "stdout": ""}, "no JSON"),
    ({"rc": 0, "stdout": '{"kind": "Node", "metadata": {"name": "worker-7"}, "spec": null}'}, "not cordoned"),
    ({"rc": 0, "stdout": '{"kind": "Node", "metadata": [], "spec": {"unschedulable": true}}'}, "is not the node"),
    ({"rc": 1, "stdout": "", "stderr": 'Error from server (NotFound): nodes "worker-7" not found\nmore'}, 'nodes "worker-7" not found'),
    ({"rc": 1, "stdout": "", "stderr": ""}, "did not tell: no answer"),
    ({"unreachable": True, "msg": "Failed to connect"}, "could not be asked for the node worker-7: Failed to connect"),
    ({"failed": True, "msg": "The command action failed to execute in the expected time frame (60) and was terminated"}, "could not be asked"),
    ({}, "no answer"),
])
def test_anything_else_is_a_doubt(result, said):
    doubt = _backends.cordon_doubt(result, "worker-7")
    assert said in doubt and "\n" not in doubt


def unsettled(known, target="nft", before=None):
    return _backends.backends_unsettled(known, target, before)


def test_a_migration_that_is_through():
    assert unsettled(facts()) == []
    none = {"kubelet_backend": {"ipv6": "none"}, "kube_proxy_backend": {"ipv6": "none"}}
    assert unsettled(facts(none), before={"kubelet_backend": {"ipv6": "none"}}) == []


@pytest.mark.parametrize("change, before, said", [
    ({"backend": "legacy"}, None, ["the node's programs are legacy"]),
    ({"kubelet_backend": {"ipv4": "legacy"}}, None, ["kubelet has its IPv4 chains in the legacy backend"]),
    ({"kubelet_backend": {"=ipv4": None}}, None, ["kubelet has its IPv4 chains in a backend that could not be told"]),
    ({"kube_proxy_backend": {"ipv6": "both"}}, None, ["kube-proxy has its IPv6 chains in both backends"]),
    ({"kube_proxy_backend": {"ipv6": "none"}}, {"kube_proxy_backend": {"ipv6": "legacy"}}, ["kube-proxy has its IPv6 chains in no backend"]),
    ({"sets": [row("nft", hint=True), row("legacy", kube_rules=3)]}, None, ["IPv4 chains of Kubernetes are in the legacy backend"]),
    ({"sets": [row("legacy", kube_rules=None, readable=False)]}, None, ["IPv4 chains of Kubernetes cannot be ruled out in the legacy backend"]),
    ({"sets": [row("legacy", rules=12)]}, None, []),
])
def test_what_is_missing(change, before, said):
    assert unsettled(facts(change), before=before) == said


def test_anchors_that_are_missing_or_unknown():
    anchor = {"kind": "anchor_missing", "family": "ipv4", "backend": "nft", "table": "nat", "chain": "OUTPUT", "detail": "KUBE-SERVICES"}
    told = unsettled(facts(node_iptables_chains={"observations": [anchor]}))
    assert any("CHAIN001 is fail: ipv4 nft nat OUTPUT: KUBE-SERVICES missing" in text for text in told)
    unread = [{"source": "nft_ipv4", "table": None, "evidence": "iptables-save did not end"}]
    assert any(text.startswith("CHAIN001 is unknown") for text in unsettled(facts(node_iptables_chains={"unread": unread})))


def test_a_node_that_did_not_come_back():
    assert unsettled(facts(reached=False)) == ["nothing is known of the node: unreachable: x"]
    assert unsettled({}) == ["nothing is known of the node: it was not assessed"]


def test_what_was_tried_is_told_where_it_was_to_help():
    rows = _backends.failed_backends(facts(SPLIT), "reboot pending")
    assert {row["subject"] for row in rows} == {"iptables", "iptables and ip6tables", "kubelet for IPv6"}
    assert {row["text"] for row in rows} == {"reboot pending"}
    assert _backends.failed_backends(facts(SPLIT), "") == []


@pytest.mark.parametrize("call", [
    lambda: _backends.backends_to_fix([], "auto", "safe"), lambda: _backends.backends_to_fix({}, "nftables", "safe"),
    lambda: _backends.cordon_doubt("", "x"), lambda: _backends.backends_unsettled([], "nft", {}), lambda: _backends.backends_unsettled({}, "auto", {}),
    lambda: _backends.failed_backends(None, "x"),
])
def test_wrong_types_are_refused(call):
    with pytest.raises(BadInput):
        call()
