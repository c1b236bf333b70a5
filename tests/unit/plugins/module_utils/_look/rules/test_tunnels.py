# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnel of the network plugin, by the interfaces and routes of a node."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.node_packets import tunnel_of


@pytest.mark.parametrize("interfaces, routed, tunnel", [
    (["tunl0", "eth0"], ["tunl0"], "tunl0"), (["tunl0", "eth0"], ["eth0"], None),
    (["tunl0", "vxlan.calico"], ["tunl0", "vxlan.calico"], "vxlan.calico"),
    (["tunl0", "vxlan.calico"], ["tunl0"], "tunl0"), (["vxlan.calico"], ["eth0"], None),
    (["flannel.1", "cni0"], ["eth0", "cni0"], None), (["flannel.1"], ["eth0", "flannel.1"], "flannel.1"),
    (["flannel.1"], [], "flannel.1"), (["flannel.1", "flannel-v6.1"], ["flannel.1"], "flannel.1"),
    (["flannel-v6.1"], ["eth0"], None), (["flannel.1", "vxlan.calico"], ["vxlan.calico"], "vxlan.calico"),
    (["cilium_vxlan"], ["eth0"], "cilium_vxlan"), (["wireguard.cali"], ["eth0"], "wireguard.cali"),
    (["vxlan-6784"], ["eth0"], "vxlan-6784"), (["genev_sys_6081"], ["eth0"], "genev_sys_6081"),
    (["flannel.ipip"], [], "flannel.ipip"),
    (["tun-1721630212", "kube-bridge"], [], "tun-1721630212"), (["tun-office1", "eth0"], [], None),
    (["flannel.1", "vxlan.calico"], [], None)])
def test_which_tunnel_is_in_use(interfaces, routed, tunnel):
    found = tunnel_of(set(interfaces), set(routed))
    assert (found and found[0]) == tunnel
