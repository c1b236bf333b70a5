# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Input chains of native nft tables and the tunnels of network plugins."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.listing import ListingReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.nft.native import judge_tunnel

IPIP, FLANNEL, CALICO = ("tunl0", "IPIP", None), ("flannel.1", "VXLAN", 8472), ("vxlan.calico", "VXLAN", 4789)
WINDOWS = "flannel.4096", "VXLAN", 8472
POLICY = "type filter hook input priority filter; policy drop;"
OPEN = "type filter hook input priority mangle + 10; policy accept;"
TALOS = 'ip saddr != { 10.244.0.0/16 } udp dport { 0-65535 } counter packets 1 bytes 60 drop'


def refused(tunnel, rules, own=()):
    reader = ListingReader(texts=(500, 2000))
    reader.feed(("table inet guard {\nchain input {\n%s\n}\n}\n" % "\n".join(rules)).encode())
    return [row[2] for row in judge_tunnel(reader.close()["inet", "guard"], tunnel, ["10.244.1.0/24"], own)]


@pytest.mark.parametrize("tunnel, rules, text", [
    (IPIP, [POLICY, "ct state established,related accept", 'iif "lo" accept', 'iifname "cali*" accept',
            "tcp dport { 22, 179 } accept", 'counter packets 6 bytes 500 log prefix "in-drop: "'], "policy drop"),
    (IPIP, [POLICY, "udp dport 4789 accept"], "policy drop"),
    (CALICO, [POLICY, "udp dport 8472 accept"], "policy drop"),
    (FLANNEL, [OPEN, 'iifname { "lo", "siderolink" } accept', TALOS], TALOS),
    (FLANNEL, [POLICY, "ip saddr 10.244.0.0/16 accept"], "policy drop")])
def test_what_refuses_the_packets_of_a_tunnel(tunnel, rules, text):
    assert refused(tunnel, rules) == [text]


@pytest.mark.parametrize("tunnel, rules", [
    (IPIP, [POLICY, "ip protocol ipencap accept"]), (IPIP, [POLICY, "meta l4proto 4 accept"]),
    (IPIP, [POLICY, "ip protocol { icmp, ipv4 } accept"]), (IPIP, [POLICY, "ip saddr 172.20.3.0/24 accept"]),
    (IPIP, [POLICY, "ip saddr @nodes accept"]), (IPIP, [POLICY, 'iifname "ens18" accept']), (IPIP, [OPEN]),
    (IPIP, [OPEN, "tcp dport 22 drop"]), (IPIP, [OPEN, 'iifname "ens19" drop']), (IPIP, [OPEN, TALOS]),
    (CALICO, [POLICY, "udp dport { 53, 4789 } accept"]), (CALICO, [POLICY, "meta l4proto udp accept"]),
    (FLANNEL, [POLICY, "udp dport 4789 accept"]), (WINDOWS, [POLICY, "udp dport 4789 accept"]),
    (FLANNEL, [POLICY, "ip saddr 10.0.0.0/8 accept"]),
    (FLANNEL, ["type filter hook forward priority filter; policy drop;"]),
    (FLANNEL, [OPEN, "ip saddr != { 10.0.0.0/8 } udp dport { 0-65535 } drop"])])
def test_what_lets_them_pass(tunnel, rules):
    assert refused(tunnel, rules) == []


def test_nodes_in_the_network_of_the_pods():
    assert refused(FLANNEL, [OPEN, TALOS], {"10.244.200.4"}) == []
