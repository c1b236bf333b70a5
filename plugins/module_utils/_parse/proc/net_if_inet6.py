# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/net/if_inet6: the IPv6 addresses of all interfaces. PRIVATE to the collection.

Sample: `fd000000000000000000000000000009 03 80 00 c0 kube-ipvs0`. Format: net/ipv6/addrconf.c if6_seq_show().
"""

import ipaddress
import re

_LINE = re.compile(r"^([0-9a-f]{32})(?: [0-9a-f]{2,8}){4} +(\S+)$", re.MULTILINE)


def parse_proc_net_if_inet6(text):
    """{address: name of its interface}; several interfaces may have the same link-local address, which then keeps one
    of them."""
    return {str(ipaddress.IPv6Address(int(found.group(1), 16))): found.group(2) for found in _LINE.finditer(text)}
