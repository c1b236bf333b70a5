# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts listings of IPv4 routes to the file of the kernel. PRIVATE to the collection.

Samples (iproute2 ip/iproute.c print_route(), net-tools lib/inet_gr.c):
    192.168.70.192/26 via 192.168.33.10 dev tunl0 proto bird onlink
    192.168.33.0    0.0.0.0         255.255.255.0   U     0      0        0 enp0s8
"""

import ipaddress
import re

_ADDRESS = r"\d{1,3}(?:\.\d{1,3}){3}"
_IP_ROUTE = re.compile(r"^(default|%s(?:/\d{1,2})?)((?: via \S+)?) dev ([\w.@-]{1,15})(?= |$)" % _ADDRESS, re.MULTILINE)
_ROUTE = re.compile(r"^(%s) +(%s) +(%s) +U([A-Z]{0,5}) +\d+ +\d+ +\d+ +([\w.@-]{1,15})$" % ((_ADDRESS,) * 3),
                    re.MULTILINE)
# Interfaces that only nodes have whose pods have a range of their own: a pod has a default route, too.
_OF_NODES = re.compile(r"(?:cni0|cbr0|kube-bridge|weave|tunl0|cali[0-9a-f]{4,11}|flannel[.-][\w-]+|(?:vxlan|wireguard)\."
                       r"(?:cali|calico))\Z")
_UP, _GATEWAY = 0x1, 0x2


def routes(text):
    """{"/proc/net/route": content} of a listing with the default route of a node, {} of any other."""
    found = [(target, bool(via), device) for target, via, device in _IP_ROUTE.findall(text)]
    found += [("%s/%s" % (target, mask), "G" in flags, device)
              for target, _via, mask, flags, device in _ROUTE.findall(text)]
    rows, default = ["Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"], False
    for target, through, device in found:
        try:
            network = ipaddress.IPv4Network("0.0.0.0/0" if target == "default" else target)
        except ValueError:
            continue
        default = default or not network.prefixlen
        rows.append("%s\t%s\t00000000\t%04X\t0\t0\t0\t%s\t0\t0\t0" % (
            device, _number(network.network_address), _UP | through * _GATEWAY, _number(network.netmask)))
    if not default or not any(_OF_NODES.match(device) for _target, _through, device in found):
        return {}
    return {"/proc/net/route": "\n".join(rows + [""])}


def _number(address):
    """As the kernel of a little-endian machine prints it."""
    return "%08X" % int.from_bytes(address.packed, "little")
