# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address ranges of the IPAM plugin host-local. PRIVATE to the collection.

Sample: `{"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24", "rangeStart": "10.244.1.16"}]]}`. Rules:
containernetworking/plugins plugins/ipam/host-local/backend/allocator, config.go and range.go.
"""

import collections
import ipaddress

# Words that Calico's plugin replaces with the podCIDR of the node (projectcalico/calico cni-plugin utils.go).
POD_NETWORKS = ("usePodCidr", "usePodCidrIPv6")
SETS_LIMIT, RANGES_LIMIT = 8, 64

# Addresses from `first` to `last` of one family (4 or 6); pods do not get the `gateway`.
Range = collections.namedtuple("Range", "family first last gateway")


def parse_range_sets(ipam, pod_networks):
    """[(ranges, problem)], one for each range set; a pod gets an address from each set. Unknown `ranges` are None.
    `pod_networks` is `{word: network or None}` for the words of `POD_NETWORKS`."""
    sets = ipam.get("ranges") or []
    if not isinstance(sets, list):
        return [(None, "ranges is not a list")]
    single = [[ipam]] if ipam.get("subnet") else []
    return [_range_set(ranges, pod_networks) for ranges in (single + sets)[:SETS_LIMIT]]


def addresses_of(ranges):
    """How many addresses pods can get from a range set."""
    return sum(each.last - each.first + 1 - (each.first <= each.gateway <= each.last) for each in ranges)


def is_in(ranges, address):
    """Whether a pod can have got this address (an object of `ipaddress`) from a range set."""
    return any(each.family == address.version and each.first <= int(address) <= each.last for each in ranges)


def _range_set(rows, pod_networks):
    if not isinstance(rows, list) or not rows or len(rows) > RANGES_LIMIT:
        return None, "a range set is not a list of ranges"
    ranges = []
    for row in rows:
        subnet = row.get("subnet") if isinstance(row, dict) else None
        if subnet in POD_NETWORKS and not pod_networks.get(subnet):
            return None, "%s is the podCIDR of the node, which the API server knows" % subnet
        try:
            ranges.append(_range(row, pod_networks.get(subnet, subnet)))
        except (AttributeError, TypeError, ValueError):
            return None, "host-local refuses the range of %s" % str(subnet)[:64]
    return (ranges, None) if len({each.family for each in ranges}) == 1 else (None, "a range set has both families")


def _range(row, subnet):
    """Raises ValueError for a range that host-local rejects."""
    network = ipaddress.ip_network(_text(subnet))
    if "/" not in subnet or network.prefixlen > network.max_prefixlen - 2:
        raise ValueError(subnet)
    first, last = int(network.network_address) + 1, int(network.broadcast_address) - (network.version == 4)
    begin, end = _address(row.get("rangeStart"), first), _address(row.get("rangeEnd"), last)
    if not int(network.network_address) <= begin <= end <= int(network.broadcast_address):
        raise ValueError(subnet)
    # Older versions accept a gateway of any network.
    return Range(network.version, begin, end, _address(row.get("gateway"), first))


def _address(text, default):
    return int(ipaddress.ip_address(_text(text))) if text else default


def _text(value):
    """Raises ValueError for anything but text: ipaddress accepts numbers as well."""
    if not isinstance(value, str):
        raise ValueError(value)
    return value
