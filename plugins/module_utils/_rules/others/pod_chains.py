# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that the plugins of a CNI configuration write for single pods. PRIVATE to the collection.

No program writes them a second time: a plugin writes them when the pod is created. Sources: containernetworking/plugins
pkg/utils (FormatChainName), pkg/ip (SetupIPMasqForNetworks, both backends), plugins/main/bridge, plugins/main/ptp,
plugins/meta/portmap (both backends).

The rules that a running agent has written.

Only rules are listed without which pods lose traffic or their policies. Chains changed their names between versions, so
any chain of the agent counts, where it has several. Sources:
flannel       flannel-io/flannel pkg/trafficmngr (written again every 5 s; in nftables mode only at the start)
aws-node      aws/amazon-vpc-cni-k8s pkg/networkutils UpdateHostSNATRules (at the start of ipamd; not for IPv6)
ip-masq-agent kubernetes-sigs/ip-masq-agent (every minute)
calico-node   projectcalico/calico felix/rules, felix/dataplane/linux (every 90 s; in BPF mode only a few chains)
kube-router   cloudnativelabs/kube-router pkg/controllers/netpol (every 5 minutes)
cilium-agent  cilium/cilium pkg/datapath/iptables (at the start, and when devices or addresses of the node change)
dockerd       moby daemon/libnetwork/drivers/bridge (at the start, or when firewalld reloads)

Interfaces of pods that Calico's dispatch chains do not know.

Felix leads the packets of each interface to the chain of its pod, and drops those of all others that begin like one
(projectcalico/calico felix/rules/dispatch.go).
"""

import collections
import hashlib

from ..observation import observe
from ..rules import REFUSALS, plain_value
from ..tables import rules_of, table_of

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


# `owner`; `names` of its processes; `argument`: one that the process of the first name must have, or None; `tables`:
# where one of them has a chain that `chains` (a pattern) matches, the rules are there; `shown`: the chain for readers;
# `filled`: whether a chain without rules counts as missing, because no other check reports it.
Agent = collections.namedtuple("Agent", "owner names argument tables chains shown filled")

AGENTS = (
    Agent("aws-node", ("aws-k8s-agent",), None, ("nat",), r"AWS-SNAT-CHAIN-0\Z", "AWS-SNAT-CHAIN-0", True),
    Agent("calico-node", ("calico-node", "calico-felix"), "-felix", ("filter", "nat", "mangle", "raw"), r"cali-",
          "cali-*", True),
    Agent("cilium-agent", ("cilium-agent",), None, ("nat",), r"(OLD_)?CILIUM_POST", "CILIUM_POST_nat", True),
    Agent("dockerd", ("dockerd",), None, ("nat",), r"DOCKER\Z", "DOCKER", False),
    Agent("flannel", ("flanneld", "k3s-server", "k3s-agent"), None, ("nat",), r"FLANNEL-POSTRTG\Z", "FLANNEL-POSTRTG",
          False),
    Agent("ip-masq-agent", ("ip-masq-agent",), None, ("nat",), r"IP-MASQ-AGENT\Z", "IP-MASQ-AGENT", False),
    Agent("kube-router", ("kube-router",), None, ("filter",), r"KUBE-(ROUTER|POD-FW|NWPLCY)-", "KUBE-ROUTER-FORWARD",
          True))


_CHAINS = (("cali-to-wl-dispatch", "-o"), ("cali-from-wl-dispatch", "-i"))
_PREFIX = 3


def ask_dispatch(rule_set, setting):
    """unexpected_drop of the last rule of a dispatch chain, where a route to a pod leads over an interface that no rule
    of the chain names. With one rule alone other rules may not have been shown."""
    table = table_of(rule_set, "filter")
    for name, option in _CHAINS:
        rules = rules_of(table, name)
        known = [plain_value(rule, option) for rule in rules[:-1]]
        if len(known) < 2 or None in known or rules[-1].target not in REFUSALS or rules[-1].options:
            continue
        routed = setting.single_routes()
        # Both are of one time only where the other interfaces have routes.
        if any(not each.endswith("+") and each not in routed for each in known):
            continue
        prefixes = {each[:_PREFIX] for each in known}
        lost = [each for each in routed if each[:_PREFIX] in prefixes and not any(
            each.startswith(own[:-1]) if own.endswith("+") else each == own for own in known)]
        if lost:
            yield observe("unexpected_drop", rule_set, "filter", name, rules[-1].text, 1,
                          "Calico dispatches no packets to the pod behind %s, which has a route: calico-node (Felix) "
                          "has not updated its rules since that pod was made" % lost[0])
            return
