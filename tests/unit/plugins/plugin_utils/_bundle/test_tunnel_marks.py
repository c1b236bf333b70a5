# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The marks of tunnels in the texts that people paste."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.source import Item
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.tunnel_marks import marked_tunnels

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
