# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MTU of pods against that of the uplink."""

import json

import pytest

import node_tree
from node_manifests import DEBIAN, merged
from node_sections import collect_sections

HEADER = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
DEFAULT = "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
# 10.244.2.0/24 via 10.244.2.0 dev X onlink, and the network of X itself.
THROUGH = "%s\t0002F40A\t0002F40A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
V6 = ("fd00000100020000%s 40 " % ("0" * 16) + "0" * 32 + " 00 fd00000100020000%s 00000400 00000001 00000000 00000003 "
      % ("0" * 16) + "%12s\n")
OWN = "%s\t0002F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"


def device(name, mtu, up=True, **more):
    files = {"mtu": "%d\n" % mtu, "flags": "0x%x\n" % (0x1003 if up else 0x1002)}
    return {"sys/class/net/%s/%s" % (name, key): text for key, text in dict(files, **more).items()}


def ports(bridge, **mtus):
    found = {"sys/class/net/%s/brif/%s" % (bridge, name): node_tree.DIRECTORY for name in mtus}
    return merged(device(bridge, 1500), found, *[device(name, mtu) for name, mtu in mtus.items()])


def look(tmp_path, plugins, routes, *manifests):
    tree = node_tree.unpack(merged(DEBIAN, {
        "proc/1/comm": "systemd\n", "proc/net/route": HEADER + DEFAULT + routes,
        "etc/cni/net.d/10-x.conflist": json.dumps({"name": "x", "plugins": plugins})}, *manifests), tmp_path)
    row = collect_sections(["cni"], tree, "live")["node_cni"]["mtu"]
    return row and tuple(row[key] for key in ("pods_mtu", "pods_source", "tunnel", "carried_bytes", "too_large"))


PTP, ANTREA, OVN = [{"type": "ptp"}], [{"type": "antrea"}], [{"type": "ovn-k8s-cni-overlay"}]
FLANNEL, CALICO, BRIDGE = [{"type": "flannel"}], [{"type": "calico"}], [{"type": "bridge", "bridge": "br1"}]
WEAVE = [{"name": "weave", "type": "weave-net", "hairpinMode": True}, {"type": "portmap"}]
ETH0 = device("eth0", 1500, device=node_tree.DIRECTORY)


@pytest.mark.parametrize("plugins, routes, more, found", [
    (FLANNEL, THROUGH % "flannel.1", [device("flannel.1", 1450), ports("cni0", veth1=1450)],
     (1450, "veth1", "flannel.1", 1450, False)),
    # The uplink was 9000 when flannel started, and a pod was made before its MTU changed.
    (FLANNEL, THROUGH % "flannel.1", [device("flannel.1", 8950), {"run/flannel/subnet.env": "FLANNEL_MTU=8950\n"}],
     (8950, "/run/flannel/subnet.env", "flannel.1", 1450, True)),
    (FLANNEL, THROUGH % "flannel.1", [device("flannel.1", 1450), ports("cni0", veth1=1450, veth2=1500)],
     (1500, "veth2", "flannel.1", 1450, True)),
    # Both families, as flannel sets them up.
    (FLANNEL, THROUGH % "flannel.1", [device("flannel.1", 1450), device("flannel-v6.1", 1430), ports(
        "cni0", veth1=1450), {"proc/net/ipv6_route": V6 % "flannel-v6.1"}], (1450, "veth1", "flannel.1", 1450, False)),
    (FLANNEL, "", [device("flannel-v6.1", 1430), ports("cni0", veth1=1500), {
        "proc/net/ipv6_route": V6 % "flannel-v6.1"}], (1500, "veth1", "flannel-v6.1", 1450, True)),
    # A node alone, or routes of host-gw: nothing is encapsulated.
    (FLANNEL, OWN % "flannel.1", [device("flannel.1", 1450), ports("cni0", veth1=1500)],
     (1500, "veth1", None, 1500, False)),
    (FLANNEL, "", [ports("cni0", veth1=1500)], (1500, "veth1", None, 1500, False)),
    (FLANNEL, "", [device("flannel-wg", 1420), ports("cni0", veth1=1450)], (1450, "veth1", "flannel-wg", 1440, True)),
    (CALICO, THROUGH % "vxlan.calico", [device("vxlan.calico", 1450), device("cali1", 1450), device("cali2", 1480)],
     (1480, "cali2", "vxlan.calico", 1450, True)),
    (CALICO, THROUGH % "tunl0", [device("tunl0", 1480), device("cali1", 1480)], (1480, "cali1", "tunl0", 1480, False)),
    # The module ipip makes tunl0, whether it is used or not.
    (CALICO, "", [device("tunl0", 1480, up=False), device("cali1", 1500)], (1500, "cali1", None, 1500, False)),
    (CALICO, "", [device("wireguard.cali", 1440), {"var/lib/calico/mtu": "1440\n"}],
     (1440, "/var/lib/calico/mtu", "wireguard.cali", 1440, False)),
    (PTP, "", [device("veth1", 1500), device("veth2", 9000, brport=node_tree.DIRECTORY)],
     (1500, "veth1", None, 1500, False)),
    (PTP, "", [device("veth1", 9000)], (9000, "veth1", None, 1500, True)),
    ([{"type": "ptp", "mtu": 1600}], "", [device("veth1", 1500)], (1600, "the CNI configuration", None, 1500, True)),
    # What Antrea and OVN-Kubernetes set up themselves, and pods without room for Geneve.
    (ANTREA, "", [device("antrea-gw0", 1450), device("genev_sys_6081", 65000)],
     (1450, "antrea-gw0", "genev_sys_6081", 1450, False)),
    (ANTREA, "", [device("antrea-gw0", 1500), device("vxlan_sys_4789", 65000)],
     (1500, "antrea-gw0", "vxlan_sys_4789", 1450, True)),
    # noEncap mode has no tunnel.
    (ANTREA, "", [device("antrea-gw0", 1500)], (1500, "antrea-gw0", None, 1500, False)),
    (OVN, "", [device("ovn-k8s-mp0", 1400), device("genev_sys_6081", 65000)],
     (1400, "ovn-k8s-mp0", "genev_sys_6081", 1442, False)),
    (OVN, "", [device("ovn-k8s-mp0", 1450), device("genev_sys_6081", 65000)],
     (1450, "ovn-k8s-mp0", "genev_sys_6081", 1442, True)),
    # The default of Weave's fast datapath, a pod of an earlier WEAVE_MTU, and one that leaves no room for VXLAN.
    (WEAVE, "", [device("weave", 1376), device("vethwepl1", 1376), device("vxlan-6784", 65535)],
     (1376, "weave", "vxlan-6784", 1450, False)),
    (WEAVE, "", [device("weave", 1376), device("vethwepl1", 8916), device("vxlan-6784", 65535)],
     (8916, "vethwepl1", "vxlan-6784", 1450, True)),
    (WEAVE, "", [device("weave", 1500), device("vxlan-6784", 65535)], (1500, "weave", "vxlan-6784", 1450, True)),
    # Whether Weave encrypts is not known, so 37 bytes of ESP are no finding.
    (WEAVE, "", [device("weave", 1440), device("vxlan-6784", 65535)], (1440, "weave", "vxlan-6784", 1450, False)),
    # The port to the datapath belongs to no pod. Without fast datapath the router fragments packets itself.
    (WEAVE, "", [device("weave", 1376), device("vethwe-bridge", 9000), device("vxlan-6784", 65535)],
     (1376, "weave", "vxlan-6784", 1450, False)),
    (WEAVE, "", [device("weave", 65535), device("vethwepl1", 65535)], None),
    (WEAVE, "", [device("weave", 65535), device("vxlan-6784", 65535, up=False)], None),
    (WEAVE, "", [device("vxlan-6784", 65535)], None),
    (BRIDGE, "", [ports("br1", veth1=1500), device("vxlan-6784", 65535)], (1500, "veth1", None, 1500, False)),
    # The device belongs to another network on this node.
    (BRIDGE, "", [ports("br1", veth1=1500), device("genev_sys_6081", 65000)], (1500, "veth1", None, 1500, False)),
    (BRIDGE, "", [ports("br1", veth1=9000)], (9000, "veth1", None, 1500, True)),
    (BRIDGE, "", [ports("br1", veth1=9000, eth1=1500), device("eth1", 9000, device=node_tree.DIRECTORY)],
     (9000, "veth1", None, None, None)),
    # An unused device has a smaller MTU.
    (BRIDGE, "", [ports("br1", veth1=1500), device("eth1", 1400, device=node_tree.DIRECTORY)],
     (1500, "veth1", None, 1500, False)),
    # flannel runs on the other device.
    (FLANNEL, THROUGH % "flannel.1", [device("flannel.1", 8950, lower_eth1=node_tree.link("../eth1")), ports(
        "cni0", veth1=8950), device("eth1", 9000, device=node_tree.DIRECTORY)],
     (8950, "veth1", "flannel.1", 8950, False)),
    (BRIDGE + [{"type": "tuning", "mtu": 1400}], "", [ports("br1", veth1=9000)],
     (1400, "the plugin tuning", None, 1500, False)),
    ([{"type": "bridge", "mtu": 1600}], "", [], (1600, "the CNI configuration", None, 1500, True)),
    ([{"type": "bridge", "mtu": True, "bridge": "../x"}], "", [], None),
    (FLANNEL, "", [{"run/flannel/subnet.env": "FLANNEL_MTU=x\n"}], None),
    # Its device has the MTU of the uplink, and routes in pods have less.
    ([{"type": "cilium-cni"}], "", [device("cilium_vxlan", 1500), device("lxc1", 1500)], None),
])
def test_mtu(plugins, routes, more, found, tmp_path):
    assert look(tmp_path, plugins, routes, ETH0, *more) == found


def test_an_uplink_that_is_not_known(tmp_path):
    assert look(tmp_path, FLANNEL, "", ports("cni0", veth1=1500)) == (1500, "veth1", None, None, None)
