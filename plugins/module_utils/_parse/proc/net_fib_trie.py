# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/net/fib_trie: the local IPv4 addresses of a machine. PRIVATE to the collection.

Sample: `|-- 10.96.0.1` and below it `/32 host LOCAL`. It also lists addresses of interfaces that are down, as
kube-proxy's kube-ipvs0 always is. Format: net/ipv4/fib_trie.c fib_trie_seq_show().
"""

import ipaddress
import re

_LINE = re.compile(r"^ *(?:\|-- (\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})|/(\d{1,2}) host LOCAL)$", re.MULTILINE)


def parse_proc_net_fib_trie(text):
    """(set of addresses, [IPv4Network] that are local as a whole, such as 127.0.0.0/8)."""
    addresses, networks, leaf = set(), set(), None
    for line in _LINE.finditer(text):
        address, length = line.groups()
        if address:
            leaf = address
        elif leaf and length == "32":
            addresses.add(leaf)
        elif leaf:
            try:
                networks.add(ipaddress.IPv4Network("%s/%s" % (leaf, length), strict=False))
            except ValueError:
                continue  # No address or no length: the kernel never prints one.
    return addresses, sorted(networks)
