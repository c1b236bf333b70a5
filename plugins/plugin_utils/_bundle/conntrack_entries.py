# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""UDP connections that conntrack lists without a translation and without an answer. PRIVATE to the collection.

Sample:
    udp      17 29 src=10.36.0.14 dst=10.107.61.10 sport=43871 dport=53 [UNREPLIED] src=10.107.61.10 dst=10.36.0.14 ...

The second pair is what an answer must look like. kube-proxy's rules translate only the first packet of a connection, so
an entry that was made while a Service had no endpoint stays as it is while its client sends.
"""

import dataclasses
import ipaddress
import re

_ENTRY = re.compile(r"^(?:ipv[46] +\d+ +)?udp +17 +\d+ +src=(?P<client>\S+) +dst=(?P<service>\S+) +sport=\d+ +"
                    r"dport=(?P<port>\d+) (?:packets=\d+ bytes=\d+ +)?\[UNREPLIED\] +src=(?P=service) +"
                    r"dst=(?P<back>\S+) +sport=(?P=port) +dport=\d+\b", re.MULTILINE)
_ANY = re.compile(r"^(?:ipv[46] +\d+ +)?(?:udp +17|tcp +6) +\d+ .{0,30}src=\S+ dst=\S+ sport=", re.MULTILINE)
# Tunnels, DHCP and names of the local network, whose packets have no answer: VXLAN, Geneve, WireGuard, mDNS, LLMNR.
_NO_ANSWER = frozenset((67, 68, 137, 138, 4789, 5353, 5355, 6081, 8472, 51820, 51821))
# A connection whose source alone is translated leaves the cluster, unless it goes to a NodePort
# (--service-node-port-range).
_NODE_PORTS = range(30000, 32768)
# In a longer list most such entries are of no Service.
_MOST = 20


def untranslated(item):
    """[(item with a line `client service port` for each such connection, its kind, None)] of a text that lists
    connections, otherwise an empty list."""
    if item.data is None or b" sport=" not in item.data:
        return []
    text = item.data.decode("utf-8", "replace")
    found = [(row["client"], row["service"], row["port"]) for row in _ENTRY.finditer(text)
             if int(row["port"]) not in _NO_ANSWER and _is_private(row["service"])
             and (row["back"] == row["client"] or int(row["port"]) in _NODE_PORTS)]
    if not _ANY.search(text) or len(found) > _MOST:
        return []
    return [(dataclasses.replace(item, data="".join("%s %s %s\n" % row for row in sorted(set(found))).encode()),
             "conntrack_entries", None)]


def _is_private(address):
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return found.is_private and not found.is_multicast and not found.is_loopback and not address.endswith(".255")
