# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules as the kernel has them, put into the words nft prints; against the real kernel in test_iptables_chains.py."""

import struct

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.netlink import attributes_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.expressions import rule_text


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def verdict(code, chain=b""):
    inner = attribute(1, struct.pack("!i", code)) + (attribute(2, chain + b"\0") if chain else b"")
    return "immediate", {1: struct.pack("!I", 0), 2: attribute(2, inner)}


@pytest.mark.parametrize(
    "rule, text", [
        ([verdict(0)], "drop"), ([verdict(1)], "accept"), ([verdict(-5)], "return"),
        ([verdict(-3, b"services")], "jump services"), ([verdict(-4, b"reject-chain")], "goto reject-chain"),
        ([verdict(77)], "verdict"), ([("counter", {1: struct.pack("!Q", 60), 2: struct.pack("!Q", 1)}), verdict(0)],
                                     "counter packets 1 bytes 60 drop"),
        ([("payload", {}), ("lookup", {1: b"service-ips\0", 3: struct.pack("!I", 0)})], "payload vmap @service-ips"),
        ([("lookup", {1: b"cluster-ips\0"}), ("reject", {})], "@cluster-ips reject"), ([("masq", {})], "masquerade"),
        ([("immediate", {1: struct.pack("!I", 1)}), ("nat", {1: struct.pack("!I", 1)})], "dnat"),
        ([("nat", {})], "snat"), ([("immediate", {})], ""), ([("immediate", {1: struct.pack("!I", 0), 2: b"\1"})],
                                                             "verdict"), ([("unheard-of", {})], "unheard-of"), ([], ""),
    ])
def test_words_of_a_rule(rule, text):
    assert rule_text(rule, attributes_of) == text
