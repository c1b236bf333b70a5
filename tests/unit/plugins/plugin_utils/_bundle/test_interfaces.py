# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interfaces, MTUs and marks of tunnels in pasted sessions: what may be concluded of the node, and what not."""

import bundles
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._names import BUNDLE_SOME_ADDRESSES
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import interfaces
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.beside import marked_tunnels
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.source import Item

LO = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\n"
CARD = "%d: %s: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu %d qdisc fq_codel state UP mode DEFAULT group default qlen 1000\n"
TUNNEL = CARD % (5, "flannel.1", 1450)
DETAILS = "    vxlan id 1 local 192.168.12.22 dev %s srcport 0 0 dstport 8472 nolearning ttl auto ageing 300\n"
VETH = "9: veth3e2d1c0b@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu %d qdisc noqueue master cni0 state UP group 0\n"
OLD = ("ens3      Link encap:Ethernet  HWaddr fa:16:3e:41:c2:07\n"
       "          inet addr:192.168.12.22  Bcast:192.168.12.255  Mask:255.255.255.0\n"
       "          UP BROADCAST RUNNING MULTICAST  MTU:1450  Metric:1\n\n"
       "flannel.1 Link encap:Ethernet  HWaddr 5e:c0:44:1b:90:2d\n"
       "          inet addr:10.244.2.0  Bcast:0.0.0.0  Mask:255.255.255.255\n"
       "          UP BROADCAST RUNNING MULTICAST  MTU:1450  Metric:1\n\n"
       "lo        Link encap:Local Loopback\n"
       "          inet addr:127.0.0.1  Mask:255.0.0.0\n"
       "          UP LOOPBACK RUNNING  MTU:65536  Metric:1\n")
NEW = ("ens3: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu %d\n"
       "        inet 192.168.12.22  netmask 255.255.255.0  broadcast 192.168.12.255\n\n"
       "flannel.1: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1450\n"
       "        inet 10.244.2.0  netmask 255.255.255.255  broadcast 0.0.0.0\n\n"
       "lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536\n        inet 127.0.0.1  netmask 255.0.0.0\n")
PROMPT = "root@w2:~# %s\n%s"
ENV = PROMPT % ("cat /run/flannel/subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_MTU=%d\n")
DEFAULT = PROMPT % ("ip route | grep default", "default via 192.168.12.1 dev %s proto dhcp metric 100\n")


@pytest.mark.parametrize("text, mtu", [
    (PROMPT % ("ip -d link", LO + CARD % (2, "ens3", 1450) + TUNNEL + DETAILS % "ens3"), (1450, 1400, "ens3")),
    (PROMPT % ("ip link", LO + CARD % (2, "ens3", 1450) + TUNNEL), (1450, 1400, "ens3")),
    # The device of the tunnel and its carrier, each by its own command.
    (PROMPT % ("ip -d link show flannel.1", TUNNEL + DETAILS % "ens3")
     + PROMPT % ("ip link show ens3", CARD % (2, "ens3", 1450)), (1450, 1400, "ens3")),
    (PROMPT % ("ip a", LO + CARD % (2, "ens3", 1500) + TUNNEL + VETH % 1500) + ENV % 1450, None),
    (PROMPT % ("ip a", LO + CARD % (2, "ens3", 1500) + TUNNEL + VETH % 1450) + ENV % 1450, "passes"),
    (PROMPT % ("ifconfig", NEW % 1450), None),
    (PROMPT % ("ifconfig -a", NEW % 1450) + ENV % 1450, None),
    (PROMPT % ("ifconfig", OLD) + PROMPT % ("ip -d link show flannel.1", TUNNEL + DETAILS % "ens3"),
     (1450, 1400, "ens3")),
    # vxlan.calico has the MTU that Felix gives to pods.
    (PROMPT % ("ip link", LO + CARD % (2, "eth0", 1450) + CARD % (7, "vxlan.calico", 1450)), (1450, 1400, "eth0")),
    (PROMPT % ("ip link", LO + CARD % (2, "eth0", 1500) + CARD % (7, "vxlan.calico", 1450)), "passes"),
    # Pods of Cilium get their MTU by routes.
    (PROMPT % ("ip link", LO + CARD % (2, "eth0", 1500) + CARD % (7, "cilium_vxlan", 1500)), None),
    # The tunnel is left from an earlier backend: the pods have another MTU.
    (PROMPT % ("ip link", LO + CARD % (2, "ens3", 1450) + CARD % (5, "flannel.1", 1400)) + ENV % 1450, None),
    # A second card may carry the tunnel, and which one does is not shown.
    (PROMPT % ("ip link", LO + CARD % (2, "ens3", 1450) + CARD % (3, "ens4", 1500) + TUNNEL), None),
    (PROMPT % ("ip link", LO + CARD % (2, "ens3", 1450) + CARD % (3, "ens4", 1500) + TUNNEL) + DEFAULT % "ens3", None),
    (PROMPT % ("ip -d link", LO + CARD % (2, "ens3", 1450) + CARD % (3, "ens4", 1500) + TUNNEL + DETAILS % "ens4")
     + DEFAULT % "ens3", "passes"),
    # Lines that a filter chose, among which a card may be missing.
    (PROMPT % ("ip link | grep -v ens4", LO + CARD % (2, "ens3", 1450) + TUNNEL), None),
    (PROMPT % ("ip link show flannel.1", TUNNEL) + PROMPT % ("ip link show ens3", CARD % (2, "ens3", 1450)), None),
    # A pod has other interfaces, and a laptop.
    (PROMPT % ("kubectl exec web-0 -- ip link", LO + CARD % (2, "ens3", 1450) + TUNNEL), None),
    (PROMPT % ("kubectl exec -it web-0 -- sh", "") + "/ # ip link\n" + LO + CARD % (2, "ens3", 1450) + TUNNEL, None),
    (PROMPT % ("ip link", LO + "3: eth0@if12: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP\n"
               + TUNNEL), None)])
def test_the_mtu_of_pods_in_a_session(tmp_path, text, mtu):
    found, evidence = bundles.judged(bundles.folder(tmp_path, {"node.txt": text + "root@w2:~# \n"}))
    row = evidence["node_cni"]["mtu"]
    statuses = {finding["status"] for finding in found["CNI017"]}
    assert statuses == {{None: "skip", "passes": "pass"}.get(mtu, "fail")}
    if isinstance(mtu, tuple):
        assert (row["pods_mtu"], row["carried_bytes"], row["uplink"]) == mtu


def test_ifconfig_prints_some_addresses():
    for text in (OLD, NEW % 1500):
        assert interfaces.of_text(text, True)[BUNDLE_SOME_ADDRESSES].split() == ["192.168.12.22", "10.244.2.0"]
    # In a pod it prints the same as on a machine with one card.
    assert interfaces.of_text(NEW.replace("flannel.1", "tunl0").replace("ens3", "eth0") % 1500, True) == {}


def test_short_forms_of_a_pod_are_not_of_the_node():
    assert interfaces.of_text("lo               UNKNOWN        127.0.0.1/8\neth0@if12        UP      10.244.1.5/24\n",
                              True) == {}


QUICK = "[Interface]\nAddress = 10.7.0.2/24\n%s\n[Peer]\nAllowedIPs = %s\n"


def lines(text, path="node.txt"):
    return [item.data.decode() for item, kind, _path in marked_tunnels(Item(path, text.encode()))
            if kind == "tunnel_marks"]


@pytest.mark.parametrize("text, name", [
    ("interface: wg0\n  listening port: 51820\n  fwmark: 0xca6c\n\npeer: x\n", "wg0"),
    ("wg0\t0xca6c\nwg1\toff fwmark\n", "wg0"),
    ("[#] ip link add wg0 type wireguard\n[#] wg set wg0 fwmark 51820\n", "wg0"),
    ("# wg set wg0 fwmark 0xca6c\n", "wg0"),
    ("0:\tfrom all lookup local\n32765:\tnot from all fwmark 0xca6c lookup 51820\n", "the tunnel that ip rule shows"),
    (QUICK % ("FwMark = 0xca6c", "10.7.0.0/24"), "a WireGuard tunnel"),
    (QUICK % ("DNS = 10.7.0.1", "10.7.0.0/24, 0.0.0.0/0"), "a WireGuard tunnel"),
    (QUICK % ("", "::/0"), "a WireGuard tunnel"),
    ("[NetDev]\nName=wg0\n[WireGuard]\nFirewallMark=51820\n", "a WireGuard tunnel")])
def test_a_mark(text, name):
    assert lines(text) == ["51820 %s\n" % name]


@pytest.mark.parametrize("text", [
    "interface: wg0\n  listening port: 51820\n\npeer: x\n  allowed ips: 0.0.0.0/0\nfwmark\n", "wg0\toff\n fwmark",
    "5210:\tfrom all fwmark 0x80000/0xff0000 lookup main\n", QUICK % ("Table = off", "0.0.0.0/0"),
    QUICK % ("FwMark = off", "0.0.0.0/0"), QUICK % ("", "10.0.0.0/8, fd00::/64"),
    "[Interface]\nPrivateKey = x\n[Peer]\nAllowedIPs = 0.0.0.0/0\n", "the default fwmark is 0xca6c\n"])
def test_no_mark(text):
    assert lines(text) == []


def test_a_file_names_its_tunnel():
    assert lines(QUICK % ("", "0.0.0.0/0"), "etc/wireguard/hub.conf") == ["51820 hub\n"]


@pytest.mark.parametrize("path", ["usr/share/doc/wg/readme.txt", "up.sh"])
def test_a_manual_or_a_script_sets_no_mark(path):
    assert lines("[#] wg set wg0 fwmark 51820\n", path) == []
