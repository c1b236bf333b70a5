# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""UDP connections that conntrack lists without a translation and an answer."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.conntrack_entries import untranslated
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.source import Item

ENTRY = ("udp      17 29 src=10.36.0.14 dst={0} sport=43871 dport={1} [UNREPLIED] src={2} dst=10.36.0.14 "
         "sport={1} dport=43871 mark=0 use=1\n")


@pytest.mark.parametrize("text, wanted", [
    (ENTRY.format("10.107.61.10", 53, "10.107.61.10"), ["10.36.0.14 10.107.61.10 53\n"]),
    (ENTRY.format("10.107.61.10", 53, "10.36.0.11"), [""]),
    (ENTRY.format("10.107.61.10", 8472, "10.107.61.10"), [""]),
    (ENTRY.format("8.8.8.8", 53, "8.8.8.8"), [""]),
    (ENTRY.format("x" * 100000, 53, "x" * 100000), [""]),
    ("".join(ENTRY.format("10.107.61.%d" % number, 53, "10.107.61.%d" % number) for number in range(1, 30)), []),
    ("udp 17 29 src=10.36.0.14 dst=", [])])
def test_connections_without_a_translation(text, wanted):
    assert [item.data.decode() for item, _kind, _path in untranslated(Item("node.txt", text.encode()))] == wanted
