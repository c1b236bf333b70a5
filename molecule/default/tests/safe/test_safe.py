# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hardening without leave to lift blocks: does the rest, and touches no file but its own."""

OWN = "etc/modules-load.d/kubenode-netfilter.conf"
FOLDERS = {"etc/modules-load.d", "etc/sysctl.d", "etc/modprobe.d"}
CONNTRACK = {folder + "/zz-kubenode-netfilter.conf" for folder in FOLDERS}
CANNOT = {"node61": {"xt_comment", "xt_statistic"}, "node612": {"xt_MASQUERADE"}, "node72": set()}
NEEDED = {"br_netfilter", "nf_conntrack", "nf_nat", "nf_tables", "nft_chain_nat", "nft_compat", "xt_comment",
          "xt_MASQUERADE", "xt_statistic"}


def test_only_their_own_files_are_written(snapshot):
    before, after = snapshot("broken")["files"], snapshot("safe")["files"]
    # The folders that hold the files have a new time.
    assert {path for path in set(before) | set(after)
            if before.get(path) != after.get(path)} == {OWN} | CONNTRACK | FOLDERS


def test_the_node_forwards_and_its_table_is_large_enough(findings, snapshot):
    sysctls = snapshot("safe")["sysctls"]
    assert (sysctls["net/ipv4/ip_forward"], sysctls["net/bridge/bridge-nf-call-iptables"]) == (["1"], ["1"])
    assert int(sysctls["net/netfilter/nf_conntrack_max"][0]) >= 32768
    assert {check for check, _subject in findings("safe", "fail") if check.startswith("CTRACK")} == set()


def test_all_but_the_blocked_and_absent_ones_are_loaded(snapshot, node):
    assert NEEDED - set(snapshot("safe")["modules"]) == CANNOT[node]


def test_nothing_was_unloaded(snapshot):
    assert set(snapshot("broken")["modules"]) <= set(snapshot("safe")["modules"])


def test_what_could_not_be_done_is_still_a_finding(findings, node):
    failing = {subject for check, subject in findings("safe", "fail") if check in ("KMOD001", "KMOD002")}
    assert failing == CANNOT[node]


def test_a_built_in_module_is_not_listed_for_the_boot(host, node):
    listed = host.file("/" + OWN).content_string.split()
    # sch_fq_codel is built in on every installed kernel of each node, nfnetlink on that of node72.
    assert "sch_fq_codel" not in listed
    assert ("nfnetlink" in listed) == (node != "node72")
