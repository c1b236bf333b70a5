# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking at rules, backends, the lock and IPVS of real kernels: tells what is there and leaves no trace."""

import re

import pytest

PARTS = ["files", "modules", "sys_module", "sysctls", "rules", "interfaces", "lock"]

# What none of the kernels has loaded after its boot, and what only some have not.
NEVER_LOADED = {"nf_tables", "nft_compat", "ip6_tables", "iptable_filter", "ip_set", "ip_vs", "nf_conntrack"}
NOT_LOADED = {"node61": {"nfnetlink"}, "node612": set(), "node72": {"ip_tables", "x_tables"}}

# (check, subject) of what prepare damaged, with a pattern of what the finding must tell.
BROKEN = {
    "node61": {
        ("BACKEND003",
         "nft and legacy rules"): r"IPv4 rules of Kubernetes are in both backends: \d+ in nft, \d+ in legacy",
        ("CHAIN001", "ipv4 nft nat PREROUTING: KUBE-SERVICES: no rule of PREROUTING jumps to it"): r"missing",
        ("CHAIN014",
         "ipv4 legacy filter KUBE-FORWARD"): r"chains of kube-proxy with rules, while kube-proxy has rules in nft, too",
        ("KPROXY015", "ipv4 in the backend nft"): r"rules were deleted, but KUBE-PROXY-CANARY in mangle exists, .*",
        ("XLOCK003", "the xtables lock"): r"held by flock for [\d.]+ s",
    },
    "node612": {
        ("IPVS001", "virtual servers"): r"75 % \(3\) have no real server that takes connections, among them "
                                        r"10\.96\.1\.1 80 tcp.*10\.96\.1\.3 80 tcp",
        ("IPVS003", "kube-ipvs0"): r"the interface is there; addresses of virtual servers that are on no interface: 1 "
                                   r"\(10\.96\.1\.1\)",
        # The stand-in for kube-proxy sets none of them, as kube-proxy does at its start.
        ("IPVS007", "net.ipv4.vs.conntrack"): "0",
        ("IPVS008", "net.ipv4.vs.expire_nodest_conn"): "0",
        ("IPVS008", "net.ipv4.vs.expire_quiescent_template"): "0",
    },
    "node72": {
        ("CHAIN001", "ipv4 nft ip kube-proxy nat-prerouting: this base chain does not exist"): r"missing",
        ("KPROXY006", "table ip kube-proxy"): r".*",
        ("CHAIN018", "ipv4 nft ip kube-proxy"): r"cluster-ips has a ClusterIP that .* has: 10\.96\.1\.3",
    },
}


def of_rules(rows):
    """Apart from checks about modules, connection tracking and sysctls: nobody hardened these nodes."""
    return {key: observed for key, observed in rows.items() if not key[0].startswith(("KMOD", "CTRACK"))}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_changed_on_a_pristine_node(snapshot, part):
    assert snapshot("looked_at")[part] == snapshot("pristine")[part]


def test_a_pristine_node_had_nothing_loaded(snapshot, node):
    assert not (NEVER_LOADED | NOT_LOADED[node]) & set(snapshot("pristine")["modules"])


def test_a_pristine_node_has_no_fault_in_its_rules(findings):
    assert not of_rules(findings("pristine", "fail"))
    assert not findings("pristine", "unknown")


@pytest.mark.parametrize("part", PARTS)
def test_nothing_changed_on_a_damaged_node(snapshot, part):
    assert snapshot("audited")[part] == snapshot("broken")[part]


def test_findings_name_exactly_the_damage(findings, node):
    found = of_rules(findings("broken", "fail"))
    assert set(found) == set(BROKEN[node])
    assert not [observed for key, observed in found.items() if not re.fullmatch(BROKEN[node][key], observed)]
    # The stand-in for kube-proxy answers with its version and its sync alone, so checks of its health are unknown.
    assert not [check for check, _subject in findings("broken", "unknown") if not check.startswith("KPROXY")]


def test_the_look_did_not_wait_for_the_lock(snapshot, node):
    rows = (snapshot("audited")["lock"] or [None])[1:]
    # One holds it, one waits; and no other node has the file.
    assert sorted(row.startswith("-> FLOCK") for row in rows) == ([False, True] if node == "node61" else [])


def test_the_snapshots_saw_what_there_was_to_see(snapshot, node):
    rules = snapshot("broken")["rules"]
    seen = {name for name, text in rules.items() if text}
    assert seen >= {"node61": {"nft", "iptables-legacy-save"}, "node612": {"nft", "ip_vs", "ipset"},
                    "node72": {"nft"}}[node]
