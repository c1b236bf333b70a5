# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How full the address ranges of host-local are, and which of its leases belong to no pod.

host-local keeps a file for each lease, named by the address: line 1 is the ID of the sandbox, line 2 the interface
(containernetworking/plugins plugins/ipam/host-local/backend/disk/backend.go). It frees a lease only when the runtime
removes the network of that sandbox."""

import collections
import ipaddress
import posixpath
import re

from ..._host.host import ABSENT, OK
from ..._parse.assignments import parse_assignments
from ..._parse.kube.cni_config import POD_NETWORKS, addresses_of, is_in, parse_range_sets
from .files import in_use
from .sandboxes import sandbox_ids

DATA_DIRECTORY, _SUBNET_FILE = "/var/lib/cni/networks", "/run/flannel/subnet.env"
_SUBNETS = ("FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET")
ROWS_LIMIT, EXAMPLES_LIMIT = 8, 5
# Number of files of one directory, and of files whose content is read: about ten times the pods that a node can have.
NAMES_LIMIT, READ_LIMIT = 70000, 4096
# The plugin reserves an address before its sandbox has a directory; kubelet waits at most four minutes for a sandbox.
YOUNG_SECONDS = 600
# Numbers in the evidence have at most 64 bits; a larger IPv6 range, such as a /56, is just as far from being full.
MOST_ADDRESSES = 2 ** 64 - 1
_SANDBOX_ID = re.compile(r"[0-9a-f]{64}\Z")

# A network: `sets` is the result of parse_range_sets().
_Network = collections.namedtuple("_Network", "name path used folder sets")


def host_local_of(host, files, used, runtime, now):
    """(status of the sandboxes, [row of each range set])."""
    networks = _networks(host, files, used)
    if not networks:
        return ABSENT, []
    # Sandboxes are read before leases: a sandbox that ends in between has freed its lease by then.
    status, sandboxes = sandbox_ids(host, runtime)
    rows = []
    for network in networks:
        leases = _Leases(host, network.folder)
        rows += [_row(network, leases, ranges, problem, sandboxes, now) for ranges, problem in network.sets]
    return status, rows[:ROWS_LIMIT]


def _networks(host, files, used):
    """The networks whose addresses host-local assigns, each once."""
    found = collections.OrderedDict()
    for row in sorted(files, key=lambda each: each not in used):
        for entry in row.config.entries if row.config and row.config.name and not row.problem else []:
            ipam = ipam_of(entry)
            if ipam is not None:
                folder = _path(ipam.get("dataDir"), DATA_DIRECTORY)
                sets = parse_range_sets(ipam, _pod_networks(host))
                if entry["type"] == "flannel":
                    sets += _flannel_sets(host, _path(entry.get("subnetFile"), _SUBNET_FILE))
                network = _Network(row.config.name, row.path, in_use(row, used), folder + "/" + row.config.name, sets)
                found.setdefault(network.folder, network)
    return list(found.values())


def ipam_of(entry):
    """The settings of host-local in a plugin, or None. flannel-io/cni-plugin uses it unless another one is named."""
    ipam = entry.get("ipam")
    ipam = ipam if isinstance(ipam, dict) else {}
    default = "host-local" if entry["type"] == "flannel" else None
    return ipam if (ipam.get("type") or default) == "host-local" else None


def _flannel_sets(host, path):
    """flannel-io/cni-plugin getDelegateIPAM(): a range set for each family of the file."""
    subnets = [subnet for subnet in _flannel_subnets(host, path) if subnet]
    sets = [parse_range_sets({"subnet": subnet}, {})[0] for subnet in subnets]
    return sets or [(None, "%s names no subnet of this node" % path)]


def _pod_networks(host):
    """The podCIDR of this node for each word of `POD_NETWORKS`, as flannel has it from the API server (Canal)."""
    return dict(zip(POD_NETWORKS, _flannel_subnets(host, _SUBNET_FILE)))


def _flannel_subnets(host, path):
    """The subnets of this node, IPv4 and IPv6, or None; the file has the address of the bridge, not the network's."""
    values = parse_assignments(host.read_text(path, 65536).text)
    found = []
    for name in _SUBNETS:
        try:
            found.append(str(ipaddress.ip_network(values.get(name, ""), strict=False)))
        except ValueError:
            found.append(None)
    return found


class _Leases:
    """The leases of a directory: `status`, and `addresses` of them, in order."""

    def __init__(self, host, folder):
        self._host, self._folder = host, folder
        with host.noting():
            self.status, names = host.list_dir(folder)
        self.too_many = len(names) > NAMES_LIMIT
        self.addresses = sorted(filter(None, map(_address, names[:NAMES_LIMIT])), key=int)

    def gone(self, addresses, sandboxes, now):
        """(the addresses whose sandbox no longer exists, how many addresses were not compared)."""
        found, unread = [], len(addresses[READ_LIMIT:])
        for address in addresses[:READ_LIMIT]:
            path = "%s/%s" % (self._folder, address)
            text, seen = self._host.read_text(path, 4096), self._host.stat(path)
            unread += text.status not in (OK, ABSENT)
            if text.ok and seen is not None and now - seen.st_mtime >= YOUNG_SECONDS and _is_gone(text.text, sandboxes):
                found.append(address)
        return found, unread


def _is_gone(text, sandboxes):
    sandbox = text.split("\n")[0].strip()
    # A file that a power failure left empty names no sandbox, so its address is never freed.
    return not text.strip("\0\r\n ") or bool(_SANDBOX_ID.match(sandbox) and sandbox not in sandboxes)


def _row(network, leases, ranges, problem, sandboxes, now):
    row = {"network": network.name[:64], "file": network.path, "used": network.used, "directory": network.folder,
           "status": leases.status, "family": None, "ranges": [], "addresses": None, "leased": None, "free": None,
           "leased_percent": None, "leaked": None, "leaked_percent": None, "leaked_examples": [], "unchecked": 0,
           "reason": problem}
    if ranges is None:
        return row
    total = min(addresses_of(ranges), MOST_ADDRESSES)
    row.update(family="ipv%d" % ranges[0].family, ranges=[_shown(each) for each in ranges[:4]], addresses=total)
    if leases.status not in (OK, ABSENT) or leases.too_many:
        return dict(row, reason="%s has more than %d files" % (network.folder, NAMES_LIMIT) if leases.too_many
                    else "%s is %s" % (network.folder, leases.status))
    leased = [address for address in leases.addresses if is_in(ranges, address)]
    row.update(leased=len(leased), free=max(0, total - len(leased)), leased_percent=_percent(len(leased), total))
    if sandboxes is None:
        return dict(row, reason="the sandboxes of the container runtime could not be read" if leased else None,
                    leaked=None if leased else 0, leaked_percent=None if leased else 0.0)
    gone, unread = leases.gone(leased, sandboxes, now)
    return dict(row, leaked=len(gone), leaked_percent=_percent(len(gone), total), unchecked=unread,
                leaked_examples=[str(address) for address in gone[:EXAMPLES_LIMIT]])


def _percent(part, whole):
    return round(100.0 * part / whole, 1) if whole else 100.0


def _shown(each):
    kind = ipaddress.IPv4Address if each.family == 4 else ipaddress.IPv6Address
    return "%s-%s" % (kind(each.first), kind(each.last))


def _address(name):
    """The address that a file is named by, or None: the plugin keeps a lock and its last address there too."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _path(value, default):
    """A path of the configuration; the working directory of a runtime is /."""
    return posixpath.join("/", value) if isinstance(value, str) and value else default
