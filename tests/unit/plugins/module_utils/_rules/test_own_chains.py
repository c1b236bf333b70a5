# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose chains go, by table and exact name."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.own_chains import MARKS, is_own


@pytest.mark.parametrize(
    "table, chain", [
        ("nat", "KUBE-SERVICES"), ("filter", "KUBE-SERVICES"), ("nat", "KUBE-SVC-ERIFXISQEP7F7OF4"),
        ("nat", "KUBE-SEP-IT2ZTR26TO4XFPTO"), ("nat", "KUBE-XLB-ERIFXISQEP7F7OF4"), ("filter", "KUBE-PROXY-FIREWALL"),
        ("filter", "KUBE-IPVS-OUT-FILTER"), ("nat", "KUBE-LOAD-BALANCER"), ("mangle", "KUBE-IPTABLES-HINT"),
        ("filter", "KUBE-FIREWALL"), ("nat", "KUBE-FIREWALL"), ("nat", "KUBE-MARK-DROP"),
    ])
def test_chains_of_kube_proxy_and_kubelet(table, chain):
    assert is_own(table, chain)


@pytest.mark.parametrize(
    "table, chain", [
        ("filter", "KUBE-ROUTER-INPUT"), ("filter", "KUBE-POD-FW-ERIFXISQEP7F7OF4"), ("filter", "KUBE-NWPLCY-DEFAULT"),
        ("nat", "KUBE-ROUTER-SERVICES"), ("nat", "KUBE-HOSTPORTS"), ("nat", "KUBE-HP-ERIFXISQEP7F7OF4"),
        ("nat", "KUBE-SVC-MINE"), ("nat", "KUBE-SVC-ERIFXISQEP7F7OF41"), ("nat", "KUBE-SVC-erifxisqep7f7of4"),
        ("nat", "KUBE-SVC-ERIFXISQEP7F7OF1"), ("nat", "KUBE-SVCM-ERIFXISQEP7F7OF4"), ("raw", "KUBE-SERVICES"),
        ("security", "KUBE-SERVICES"), ("mangle", "KUBE-SERVICES"), ("filter", "KUBE-SEP-IT2ZTR26TO4XFPTO"),
        ("nat", "KUBE-SERVICES\n"), ("nat", "PREROUTING"), ("nat", "kube-services"), ("filter", "KUBE-FORWARD-X"),
        ("nat", "cali-PREROUTING"), ("nat", "MY-KUBE-SERVICES"),
    ])
def test_look_alikes_stay(table, chain):
    assert not is_own(table, chain)


def test_marks_are_their_own():
    assert all(is_own("mangle", chain) for chain in MARKS)
