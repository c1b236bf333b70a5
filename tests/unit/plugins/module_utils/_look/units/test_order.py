# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of units with drop-ins that are tried out; the rest is in tests/looks/units."""

import pytest

from case_rows import cases
import node_tree
import unit_trees
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units import order
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.units.units import Units

ETC, VENDOR = unit_trees.ETC + "/", unit_trees.VENDOR + "/"
BOOT = {VENDOR + name: text for name, text in unit_trees.BOOT.items()}
BOOT[VENDOR + "default.target"] = node_tree.link("multi-user.target")
BOOT[VENDOR + "network-online.target"] = "[Unit]\nAfter=network.target\n"
KUBELET = "[Unit]\nWants=network-online.target\nAfter=network-online.target\n[Service]\nExecStart=/usr/bin/kubelet\n"
IPTABLES = "[Service]\nType=oneshot\nExecStart=/sbin/restore\nExecStop=/sbin/flush\n[Unit]\n"
# The unit that sets up the network pulls in network.target; otherwise `network.target` orders nothing.
NETWORK = {VENDOR + "networking.service": "[Service]\nExecStart=/sbin/ifup\n[Unit]\nAfter=network-pre.target\n"
                                          "Before=network.target\nWants=network.target\n",
           ETC + "multi-user.target.wants/networking.service": node_tree.link("../networking.service")}
WANTED = {VENDOR + "kubelet.service": KUBELET,
          ETC + "multi-user.target.wants/kubelet.service": node_tree.link("/usr/lib/systemd/system/kubelet.service")}
ENABLED = {ETC + "multi-user.target.wants/iptables.service": node_tree.link("/usr/lib/systemd/system/iptables.service")}


@pytest.fixture
def units(tmp_path):
    def made(*manifests):
        return Units(Host(node_tree.unpack(node_tree.merged(BOOT, NETWORK, *manifests), tmp_path)), {"place": "image"})
    return made


def test_a_drop_in_is_tried_out(units):
    found = units(WANTED, ENABLED, {VENDOR + "iptables.service": IPTABLES, VENDOR + "t@.service": IPTABLES,
                                    VENDOR + "u.service": IPTABLES})
    no_stop = "[Service]\nExecStop=\n"
    tried = found.with_drop_ins({"iptables.service": no_stop + "[Unit]\nBefore=kubelet.service\n",
                                 "t@.service": no_stop})
    assert [line.key for line in tried.unit("iptables.service").exec_lines()] == ["ExecStart"]
    assert [line.key for line in tried.unit("t@x.service").exec_lines()] == ["ExecStart"]
    assert tried.unit("u.service").values("Service", "ExecStop")
    assert order.ordered_before(tried, "iptables.service", "kubelet.service")
    assert [line.key for line in found.unit("iptables.service").exec_lines()] == ["ExecStart", "ExecStop"]
    assert not order.ordered_before(found, "iptables.service", "kubelet.service")


@cases
def test_cycles(units, drop_ins, expected):
    found = units(WANTED, ENABLED, {VENDOR + "iptables.service": IPTABLES, VENDOR + "t@.service": IPTABLES})
    cycle = order.cycle_with(found, drop_ins)
    assert sorted(set(cycle)) == sorted(set(expected)) or set(cycle) < set(expected)
    assert bool(cycle) == bool(expected)
    changed = found.with_drop_ins(drop_ins)
    assert all(order.ordered_before(changed, earlier, later) for earlier, later in zip(cycle, cycle[1:]))
