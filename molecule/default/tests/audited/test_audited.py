# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking at a broken node: names what is broken, and changes nothing."""

import pytest

# (check, subject) of what prepare broke on each node, apart from what a node that was never hardened lacks.
BROKEN = {
    "node61": {("KMOD002", "xt_comment"), ("KMOD002", "xt_statistic"), ("CTRACK013", "/etc/modprobe.d/site.conf:3")},
    # Without the module kube-proxy's mode is out of reach as well.
    "node612": {("KMOD001", "xt_MASQUERADE"), ("KMOD014", "iptables mode")},
    "node72": {("KMOD016", "xt_REDIRECT")},
}

# Checks about modules that are there and only not loaded or not listed for the boot yet, and about sysctls that nobody
# set yet.
NOT_YET = {"KMOD003", "KMOD004", "KMOD005", "KMOD006", "CTRACK004", "CTRACK014", "CTRACK015", "CTRACK016",
           "KMOD019", "KMOD020", "CTRACK022", "CTRACK023"}


@pytest.mark.parametrize("part", ["files", "modules", "sys_module", "sysctls", "rules"])
def test_nothing_changed(snapshot, part):
    assert snapshot("audited")[part] == snapshot("broken")[part]


@pytest.mark.parametrize("label", ["audit", "check"])
def test_findings_name_exactly_the_breakage(findings, node, label):
    failing = findings(label, "fail")
    assert {(check, subject) for check, subject in failing if check not in NOT_YET} == BROKEN[node]
    assert not findings(label, "unknown")


def test_both_ways_to_look_agree(findings):
    assert set(findings("audit", "fail")) == set(findings("check", "fail"))


def test_what_is_built_in_is_not_reported(findings, node):
    subjects = {subject for _check, subject in findings("audit", "fail")}
    assert "sch_fq_codel" not in subjects
    assert node != "node72" or "nfnetlink" not in subjects
