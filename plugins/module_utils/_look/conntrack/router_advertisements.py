# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Default routes that the kernel has from router advertisements. PRIVATE to the collection.

A node that forwards IPv6 takes no advertisements unless accept_ra is 2 (Linux Documentation/networking/ip-sysctl.rst),
so such a route is gone when its lifetime ends. Flags: include/uapi/linux/ipv6_route.h.
"""

from .now import read_key

ROUTES = "/proc/net/ipv6_route"
_RTF_DEFAULT, _RTF_ADDRCONF = 0x00010000, 0x00040000
# Fields of a line: net/ipv6/route.c rt6_route_seq_show() (destination, its length, source, its length, gateway, metric,
# two counters, flags, device).
_FLAGS, _DEVICE = 8, 9


def lost_by_forwarding(host):
    """Interfaces, sorted, whose default route would be lost once the node forwards IPv6."""
    found = set()
    for line in host.read_text(ROUTES).text.split("\n"):
        words = line.split()
        if len(words) > _DEVICE and _is_advertised(words[_FLAGS]) and "/" not in words[_DEVICE]:
            found.add(words[_DEVICE])
    return sorted(name for name in found if read_key(host, "net/ipv6/conf/%s/accept_ra" % name)[1] != 2)


def _is_advertised(flags):
    try:
        return int(flags, 16) & (_RTF_DEFAULT | _RTF_ADDRCONF) == _RTF_DEFAULT | _RTF_ADDRCONF
    except ValueError:
        return False
