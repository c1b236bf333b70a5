# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What libcni keeps of a network that it has set up for a pod. PRIVATE to the collection.

Sample: `{"kind": "cniCacheV1", "containerId": "5eed...", "config": "<base64>", "ifName": "eth0", "networkName": "pods",
"cniArgs": [["K8S_POD_NAME", "web-1"]], "capabilityArgs": {"portMappings": [{"hostPort": 80}]}, "result": {"ips":
[{"address": "10.244.1.5/24"}]}}`. Format: containernetworking/cni libcni/api.go (cachedInfo), pkg/types (results of
versions 0.2 to 1.1). libcni writes it after the last plugin of the chain succeeded.
"""

import base64
import binascii
import collections
import ipaddress
import json
import re

from .cni_config import parse_cni_config

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
