# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CNI network configurations. PRIVATE to the collection.

Sample: `{"name": "cbr0", "plugins": [{"type": "flannel"}, {"type": "portmap"}]}`. Format: CNI specification, section 1.

What libcni keeps of a network that it has set up for a pod.

Sample: `{"kind": "cniCacheV1", "containerId": "5eed...", "config": "<base64>", "ifName": "eth0", "networkName": "pods",
"cniArgs": [["K8S_POD_NAME", "web-1"]], "capabilityArgs": {"portMappings": [{"hostPort": 80}]}, "result": {"ips":
[{"address": "10.244.1.5/24"}]}}`. Format: containernetworking/cni libcni/api.go (cachedInfo), pkg/types (results of
versions 0.2 to 1.1). libcni writes it after the last plugin of the chain succeeded.

The address ranges of the IPAM plugin host-local.

Sample: `{"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24", "rangeStart": "10.244.1.16"}]]}`. Rules:
containernetworking/plugins plugins/ipam/host-local/backend/allocator, config.go and range.go.
"""

import base64
import binascii
import collections
import ipaddress
import json
import re

# flannel writes the configuration of these two plugins itself and runs them (flannel-io/cni-plugin, flannel_linux.go).
_FLANNEL_RUNS = ("bridge", "host-local")

# `name` of the network or None; `plugins`: their types in order; `programs`: all programs that run for them; `problem`:
# why a runtime rejects the file, or None; `entries`: the settings of each plugin.
CniConfig = collections.namedtuple("CniConfig", "name plugins programs problem entries")


def parse_cni_config(text, is_list):
    """The `CniConfig` of a file; `is_list` is true for a .conflist, which libcni reads differently."""
    fields, problem = _parsed(text)
    if problem:
        return CniConfig(None, [], [], problem, [])
    inner = fields.get("plugins")
    # A file for one plugin has a type; libcni ignores a list of plugins beside it.
    listed = isinstance(inner, list) and (is_list or not _text(fields.get("type")))
    entries = [entry for entry in (inner if listed else [fields]) if isinstance(entry, dict)]
    entries = [entry for entry in entries if _text(entry.get("type"))]
    return CniConfig(_text(fields.get("name")), [entry["type"] for entry in entries], _programs(entries),
                     _problem_of_list(fields) if is_list else _problem_of_one(fields), entries)


def _parsed(text):
    """(dict, None), or (None, why the text is not JSON). encoding/json of Go accepts neither NaN nor Infinity."""
    if not text.strip():
        return None, "is empty"
    try:
        fields = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return None, "is nested too deeply"
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        return None, "ends too early (truncated)" if cut else "is not valid JSON at line %d" % error.lineno
    except ValueError:
        return None, "is not valid JSON"
    return (fields, None) if isinstance(fields, dict) else (None, "is not a JSON object")


def _refuse(word):
    raise ValueError(word)


def _problem_of_list(fields):
    """libcni ConfListFromBytes()."""
    plugins = fields.get("plugins")
    if not _text(fields.get("name")):
        return "has no name"
    if not isinstance(plugins, list) or not plugins:
        return "has no plugins"
    if not all(isinstance(plugin, dict) and _text(plugin.get("type")) for plugin in plugins):
        return "has a plugin without type"
    return None


def _problem_of_one(fields):
    """libcni ConfFromBytes(): a list of plugins is read in files named .conflist only."""
    if _text(fields.get("type")):
        return None
    return "has a list of plugins, which is read from files named .conflist only" if "plugins" in fields \
        else "has no type"


def _programs(entries):
    """Names of the programs that a runtime runs for the plugins, each once."""
    names = []
    for entry in entries:
        names.append(entry["type"])
        if entry["type"] == "flannel":
            delegate = entry.get("delegate")
            own = _text(delegate.get("type")) if isinstance(delegate, dict) else None
            names += [own] if own else _FLANNEL_RUNS
        ipam = entry.get("ipam")
        names += [ipam["type"]] if isinstance(ipam, dict) and _text(ipam.get("type")) else []
    return sorted(set(names), key=names.index)


def _text(value):
    return value if isinstance(value, str) and value else None


KIND = "cniCacheV1"
# DNS labels and subdomains, as the API server demands them.
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")

# `sandbox`: its ID; `entries`: the settings of each plugin at that time; `addresses`: those of the pod, without their
# networks; `ports`: {family: number of its host ports}; `pod`: "namespace/name".
CniResult = collections.namedtuple("CniResult", "sandbox network interface entries addresses ports pod")


def parse_cni_result(text):
    """The `CniResult` of a file, or None where it is of another kind, of no pod, or not readable."""
    try:
        fields = json.loads(text)
        config = base64.b64decode(fields["config"], validate=True).decode("utf-8")
        names = {pair[0]: pair[1] for pair in fields.get("cniArgs") or []}
        pod = (names.get("K8S_POD_NAMESPACE"), names.get("K8S_POD_NAME"))
        found = CniResult(fields["containerId"], fields["networkName"], fields["ifName"], None, None, None, None)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, binascii.Error):
        return None
    texts = found[:3] + pod
    if fields.get("kind") != KIND or not all(isinstance(each, str) and each for each in texts) or not all(
            map(_NAME.match, pod)):
        return None
    return found._replace(entries=parse_cni_config(config, True).entries, addresses=_addresses(fields.get("result")),
                          ports=_ports(fields.get("capabilityArgs")), pod="/".join(pod))


def _addresses(result):
    """The addresses that belong to an interface of the pod, or to no interface."""
    result = result if isinstance(result, dict) else {}
    interfaces = _list(result.get("interfaces"))
    rows = [row for row in _list(result.get("ips")) if not _is_of_the_node(row.get("interface"), interfaces)]
    texts = [row.get("address") for row in rows]
    # Results of version 0.2 have one address of each family.
    texts += [row.get("ip") for row in (result.get("ip4"), result.get("ip6")) if isinstance(row, dict)]
    found = [_address(text) for text in texts if isinstance(text, str)]
    return [address for address in found if address is not None]


def _is_of_the_node(index, interfaces):
    number = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(interfaces)
    return number and not interfaces[index].get("sandbox")


def _ports(arguments):
    """{family: how many host ports}; a port without an address of the node belongs to both families."""
    mappings = _list(arguments.get("portMappings")) if isinstance(arguments, dict) else []
    found = collections.Counter()
    for row in mappings:
        host = _address(row.get("hostIP") or "")
        if row.get("hostPort"):
            found.update(["ipv%d" % host.version] if host else ["ipv4", "ipv6"])
    return dict(found)


def _address(text):
    try:
        return ipaddress.ip_interface(text).ip
    except ValueError:
        return None


def _list(value):
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


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
    network = ipaddress.ip_network(_range_text(subnet))
    if "/" not in subnet or network.prefixlen > network.max_prefixlen - 2:
        raise ValueError(subnet)
    first, last = int(network.network_address) + 1, int(network.broadcast_address) - (network.version == 4)
    begin, end = _range_address(row.get("rangeStart"), first), _range_address(row.get("rangeEnd"), last)
    if not int(network.network_address) <= begin <= end <= int(network.broadcast_address):
        raise ValueError(subnet)
    # Older versions accept a gateway of any network.
    return Range(network.version, begin, end, _range_address(row.get("gateway"), first))


def _range_address(text, default):
    return int(ipaddress.ip_address(_range_text(text))) if text else default


def _range_text(value):
    """Raises ValueError for anything but text: ipaddress accepts numbers as well."""
    if not isinstance(value, str):
        raise ValueError(value)
    return value
