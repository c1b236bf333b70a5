# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that the plugins of a CNI configuration write for single pods. PRIVATE to the collection.

No program writes them a second time: a plugin writes them when the pod is created. Sources: containernetworking/plugins
pkg/utils (FormatChainName), pkg/ip (SetupIPMasqForNetworks, both backends), plugins/main/bridge, plugins/main/ptp,
plugins/meta/portmap (both backends).
"""

import collections
import hashlib

MASQUERADE, HOST_PORTS = "pod_masquerade", "pod_host_ports"
_CHAIN_LENGTH = 28
_MASQUERADING = ("bridge", "ptp")
_ALL_PORTS = "CNI-HOSTPORT-DNAT"
_NFT_FAMILIES = {"ipv4": "ip", "ipv6": "ip6"}

# What one plugin wrote for one pod in one family: `chain` of table nat of iptables; `nft`: (family, table, chains, text
# in the comment of its rules); `backend`: iptables, nftables, or None where the plugin chose.
PodRules = collections.namedtuple("PodRules", "kind owner network family chain nft backend")


def rules_of_pod(result, entries):
    """[PodRules] of a pod; `result` is a CniResult, `entries` are the settings of the plugins that ran for it."""
    families = sorted({"ipv%d" % address.version for address in result.addresses})
    found = []
    for entry in entries:
        if entry["type"] in _MASQUERADING and entry.get("ipMasq") is True and _has_addresses(entry):
            found += [_masquerade(result, entry, family) for family in families]
        if entry["type"] == "portmap" and _takes_ports(entry):
            found += [_host_ports(result, entry, family) for family in families if result.ports.get(family)]
    return found


def _has_addresses(entry):
    """bridge without IPAM connects pods on layer 2 only, and masquerades nothing."""
    return isinstance(entry.get("ipam"), dict) and bool(entry["ipam"].get("type"))


def _takes_ports(entry):
    """libcni passes port mappings to plugins that have this capability."""
    return isinstance(entry.get("capabilities"), dict) and entry["capabilities"].get("portMappings") is True


def _masquerade(result, entry, family):
    sign = "%s-%s" % (_digits(result.network)[:16], _digits(result.interface + ":" + result.sandbox)[:16])
    return PodRules(MASQUERADE, entry["type"], result.network, family, chain_name("CNI-", result),
                    ("inet", "cni_plugins_masquerade", ("masq_checks",), sign), _backend(entry, "ipMasqBackend"))


def _host_ports(result, entry, family):
    return PodRules(HOST_PORTS, "portmap", result.network, family, chain_name("CNI-DN-", result),
                    (_NFT_FAMILIES[family], "cni_hostport", ("hostports", "hostip_hostports"), result.sandbox),
                    _backend(entry, "backend"))


def chain_name(prefix, result):
    """The chain of a pod: its network and its sandbox, as a hash."""
    return (prefix + _digits(result.network + result.sandbox))[:_CHAIN_LENGTH]


def _digits(text):
    return hashlib.sha512(text.encode("utf-8", "surrogatepass")).hexdigest()


def _forwards(chains, name):
    """Whether packets to the node reach the rules of the chain."""
    return bool(chains[name].rules) and _jumps(chains, _ALL_PORTS, name) and _jumps(chains, "PREROUTING", _ALL_PORTS)


def _jumps(chains, name, target):
    return name in chains and any(rule.target == target for rule in chains[name].rules)


# Whether a chain that is there does its work, by the kind of its rules; foreign.py reports empty ones.
WORKS = {MASQUERADE: lambda _chains, _name: True, HOST_PORTS: _forwards}


def _backend(entry, option):
    return entry[option] if entry.get(option) in ("iptables", "nftables") else None
