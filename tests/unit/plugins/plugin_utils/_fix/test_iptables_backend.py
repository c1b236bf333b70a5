# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about backends to the module iptables_backend, and to a migration."""

from backend_facts import SPLIT, facts, row
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _run
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import iptables_backend, migration, select
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix.outcomes import FAILED, REFUSED
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

SETTINGS = policies.role_settings("harden_iptables_backend", {}, lambda _name, value: value)


def checks_to_fix(known, target="auto", up_to=None):
    work = iptables_backend.work(known, dict(SETTINGS, target=target), up_to)
    return sorted({row["check"] for row in work.findings}), bool(work.options)


def elsewhere(known, target="auto"):
    return migration.families_elsewhere(_run.section_of(known, "node_iptables_backend"), target)


@cases
def test_what_is_to_be_fixed(changes, target, up_to, policy, checks, called):
    assert checks_to_fix(facts(changes, policy=policy), target, up_to) == (checks, called)


def test_nothing_is_disrupted_in_an_image():
    image = facts(dict(SPLIT, mixing={"verdict": "unknown", "because": "only a live node has rules"}),
                  node_host={"place": "image"})
    assert checks_to_fix(image, up_to="guarded") == (["BACKEND002"], True)
    assert checks_to_fix(image, up_to="safe") == ([], False)
    rows = [row for row in image["node_assess_findings"] if row["check"] == "BACKEND002"]
    assert rows[0]["remediation"].endswith("; or role harden_iptables_backend (guarded).")
    assert select.fixable(rows, "guarded", "harden_iptables_backend", "image") == rows
    assert select.fixable(rows, "guarded", "harden_iptables_backend", "live") == []


def test_chains_elsewhere_are_leftovers():
    sets = [row("nft", kube_rules=171), row("legacy", proxy_canary=True), row("nft", "ipv6", hint=True),
            row("legacy", "ipv6", rules=4)]
    assert elsewhere(facts({"sets": sets})) == ["ipv4"]
    assert elsewhere(facts({"sets": sets}), "legacy") == ["ipv4", "ipv6"]
    used = {"ipv4": "both", "ipv6": "none"}
    assert elsewhere(facts({"sets": sets, "kubelet_backend": used, "backend": "legacy"})) == ["ipv4", "ipv6"]
    assert elsewhere(facts({"sets": sets, "kubelet_backend": used, "backend": "mixed"})) == []
    assert elsewhere(facts({"sets": sets, "kubelet_backend": used, "backend": "mixed"}), "nft") == ["ipv4"]


def test_a_migration_is_due_where_rules_depend_on_the_old_backend():
    left = facts({"sets": [row("nft", kube_rules=171), row("legacy", proxy_canary=True)]})
    due = migration.due(left, "auto", {"changed": False, "backend": "nft"})
    assert due["backend"] == "nft" and len(due["before"]["sets"]) == 2
    assert migration.due(facts(), "nft", {"live_rules": True, "refused": "x"})["backend"] == "nft"
    assert migration.due(facts(), "nft", {"changed": True}) is None
    for result in ({"unreachable": True}, {"failed": True, "msg": "x"}, {"refused": "no such backend"}):
        assert migration.due(left, "auto", result) is None
    image = facts({"sets": [row("legacy", proxy_canary=True)]}, node_host={"place": "image"})
    assert migration.due(image, "nft", {"live_rules": True}) is None


def test_a_refusal_is_that_of_every_finding():
    findings = [{"subject": "iptables and ip6tables"}]
    refused = iptables_backend.refusals({"refused": "Kubernetes has rules in it"}, findings)
    assert [(row.subject, row.outcome) for row in refused] == [("iptables", REFUSED),
                                                               ("iptables and ip6tables", REFUSED)]
    assert {row.outcome for row in iptables_backend.refusals({"failed": True, "msg": "x"}, findings)} == {FAILED}
    assert iptables_backend.refusals({"refused": None}, findings) == []
