# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of a node: mode, backend, CNI and versions decide, and each requirement has a reason."""

import pytest
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._needs import auto_values, node_needs
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

FRESH = {
    "node_kube_proxy": {"running": False, "=mode": None},
    "node_kubelet": {"running": False, "=version": None, "=installed": None, "=distribution": None},
}
LEGACY = {"ip_tables", "ip6_tables", "iptable_filter", "iptable_nat", "iptable_mangle", "ip6table_filter",
          "ip6table_nat", "ip6table_mangle"}


def resolved(modules=None, changes=None, **overrides):
    policy = policies.policy_of({"node_policy_" + name: value for name, value in overrides.items()})
    return node_needs.resolve(healthy(policy.module_names, modules, changes), policy)


def required(answer):
    return {row["subject"] for row in answer["modules"] if not row["optional"]}


def optional(answer):
    return {row["subject"] for row in answer["modules"] if row["optional"]}


def test_the_mode_the_node_runs_is_judged():
    answer = resolved(changes={"node_kube_proxy": {"mode": "nftables"}})
    assert (answer["mode"], answer["mode_possible"]) == ("nftables", True)
    assert "the mode of the running kube-proxy" in answer["mode_because"]
    assert "could not be read" in resolved(changes={"node_kube_proxy": {"=mode": None}})["mode_because"]


def test_auto_on_a_fresh_node_takes_the_first_that_can_be_run_and_never_ipvs():
    assert resolved(changes=FRESH)["mode"] == "iptables"
    answer = resolved({"nft_compat": "absent"}, FRESH)
    assert answer["mode"] == "nftables" and "the first mode that the node can run" in answer["mode_because"]
    assert answer["mode_because"].startswith("no kube-proxy runs here; ")
    assert "is not known" in resolved(changes={"node_kube_proxy": {"running": None, "=mode": None}})["mode_because"]
    nothing = resolved({"*": "absent"}, FRESH)
    assert nothing["mode"] == "iptables" and "none of iptables, nftables" in nothing["mode_because"]


@cases
def test_modules_that_are_required_optional_or_neither(given, need, may, neither):
    answer = resolved(**given)
    assert set(need) <= required(answer) and set(may) <= optional(answer)
    assert not set(neither) & (required(answer) | optional(answer))


def row_of(subject, **given):
    return next(row for row in resolved(**given)["modules"] if row["subject"] == subject)


def test_modules_of_modes_and_of_network_plugins():
    iptables, nftables = required(resolved()), required(resolved(proxy_mode="nftables"))
    assert not iptables & LEGACY and required(resolved(iptables_backend="legacy")) >= LEGACY
    assert not [name for name in nftables if name.startswith(("xt_", "ip_set", "ip_vs", "x_tables", "nft_compat"))]
    alone = required(resolved(iptables_backend="legacy", ip_families=["ipv4"]))
    assert not [name for name in alone if name.startswith("ip6")]
    for cni in ("flannel", "kube-router"):
        row = row_of("br_netfilter", cni=cni)
        assert not row["optional"] and not row["on_demand"]
    assert "needed only by some versions of Kubernetes" in row_of("xt_nfacct", changes={
        "node_kubelet": {"=version": None}})["reason"]
    old = {"node_kernel_modules": {"judged_release": "5.10.0-30-amd64"}}
    assert row_of("ip_vs", proxy_mode="ipvs")["on_demand"]
    assert not row_of("ip_vs", proxy_mode="ipvs", changes=old)["on_demand"]


def test_one_of_several_is_enough_and_the_nearest_speaks():
    states = {"vxlan": "absent", "ipip": "loadable", "wireguard": "unknown"}
    row = row_of("vxlan or ipip or wireguard", modules=states, cni="calico")
    assert (row["name"], row["state"]) == ("ipip", "loadable")


def test_every_need_says_who_and_why():
    for row in resolved(cni="calico")["modules"]:
        assert ": " in row["reason"]


@pytest.mark.parametrize("mode", ["iptables", "ipvs", "nftables"])
def test_no_default_expression_is_undecided_on_full_evidence(mode):
    policy = policies.default_policy()
    evidence = healthy(policy.module_names, None, {"node_cni": {"name": "flannel"}})
    rows = {name: {"state": "loaded", "blocked_for": []} for name in policy.module_names}
    context = dict(evidence, policy=policy.values, mode=mode, ipvs_scheduler="rr", available=dict.fromkeys(rows, True),
                   states={})
    for requirement in policy.requirements:
        for module in requirement["modules"]:
            assert auto_values.needed(module, context)[1] == "", module


@cases
def test_advice_fits_kernel_and_kubernetes_and_is_never_ipvs(kernel, kubernetes, words):
    changes = {"node_kernel_modules": {"judged_release": kernel}, "node_kubelet": {"=version": None}}
    advice = resolved(changes=changes, proxy_mode="ipvs", kubernetes_version=kubernetes)["advice"]
    assert words in advice
    assert "in ipvs mode" not in advice


def test_a_mixed_backend_is_what_iptables_itself_is():
    changes = {"node_iptables_backend": {"backend": "mixed", "binaries": [{"name": "iptables", "backend": "legacy"}]}}
    assert resolved(changes=changes)["backend"] == "legacy"
    assert resolved(changes={"node_iptables_backend": {"backend": "none"}})["backend"] == "nft"


def test_a_module_the_node_did_not_report_is_unknown():
    policy = policies.default_policy()
    evidence = healthy([name for name in policy.module_names if name != "xt_comment"])
    row = next(row for row in node_needs.resolve(evidence, policy)["modules"] if row["subject"] == "xt_comment")
    assert row["state"] == "unknown"


def test_no_evidence_at_all_is_no_crash():
    answer = node_needs.resolve({}, policies.default_policy())
    assert answer["mode_possible"] is None and all(row["state"] == "unknown" for row in answer["modules"])


def test_what_only_the_user_needs_does_not_change_the_mode():
    answer = resolved({"ip_vs": "absent"}, FRESH, extra_modules=["ip_vs"])
    assert answer["mode"] == "iptables" and answer["mode_possible"] is True


@cases
def test_a_mode_is_advised_only_where_its_modules_and_tools_are(modules, changes, kubernetes, words):
    advice = resolved(modules, changes, proxy_mode="ipvs", kubernetes_version=kubernetes)["advice"]
    assert words in advice
    assert "nftables mode" not in advice or "nft_numgen" not in modules or modules["nft_numgen"] != "absent"
