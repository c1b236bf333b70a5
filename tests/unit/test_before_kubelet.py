# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Severity by effect: nothing is broken on a Debian server before kubelet. With kubelet, or in an image, the same
values are as severe as what they break, whether a module or a sysctl is missing."""

import backend_trees
import conntrack_node
import pytest
import whole_nodes
from node_manifests import DEBIAN, WHOLE, kernel, running
from node_tree import link, merged, unpack

SERVER = merged(
    DEBIAN, {"usr/lib/modules": None}, kernel(whole_nodes.RELEASE, whole_nodes._MODULES, config=WHOLE),
    running(whole_nodes.RELEASE, ["nf_tables"]), conntrack_node.machine(), backend_trees.debian(),
    whole_nodes.saves("", ""),
    {"lib": None, "usr/bin/kubelet": None, "etc/cni": None, "proc/sys/net/ipv4/ip_forward": "0\n",
     "proc/sys/net/ipv6/conf/all/forwarding": "0\n", "proc/uptime": "86400.00 1.00\n", "proc/locks": "",
     "proc/1/ns/pid": link("pid:[4026531836]"), "proc/1/ns/net": link("net:[1]"), "proc/self/mountinfo": "",
     "usr/bin/systemctl": whole_nodes.answers("ActiveState=active\ncron.service networking.service\n")})
FORWARDS = {"proc/sys/net/ipv4/ip_forward": "1\n"}
KUBELET = {"usr/bin/kubelet": whole_nodes.answers("Kubernetes v1.30.2\n")}


def severities(tmp_path, place="live", **change):
    root = unpack(merged(SERVER, *change.values()), tmp_path / "node")
    found = whole_nodes.judged(whole_nodes.AnsweringNode(root), list(whole_nodes.CHECKS.values()), place)
    return {row["check"]: row["severity"] for row in found if row["status"] == "fail"}


@pytest.mark.parametrize("change", [{}, FORWARDS])
def test_a_stock_debian_has_no_finding_above_low(tmp_path, change):
    found = severities(tmp_path, change=change)
    assert set(found.values()) == {"low"}, found
    assert {"KMOD019", "KMOD020", "CTRACK023" if change else "CTRACK022"} <= set(found)


def test_with_kubelet_the_same_server_is_not_fit(tmp_path):
    found = severities(tmp_path, kubelet=KUBELET)
    assert (found["CTRACK015"], found["KMOD003"], found["KMOD005"]) == ("high", "high", "medium")
    assert not {"KMOD019", "KMOD020", "CTRACK022", "CTRACK023"} & set(found)


@pytest.mark.parametrize("place, change", [("live", {"kubelet": KUBELET, "forwards": FORWARDS}), ("image", {})])
def test_what_dies_at_a_reboot_is_one_severity(tmp_path, place, change):
    found = severities(tmp_path, place, **change)
    assert found["KMOD005"] == found["CTRACK016"] == "medium"
