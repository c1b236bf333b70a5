# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about the node besides its rules. PRIVATE to the collection."""

import collections

# family: ipv4 | ipv6 | None. backend: nft | legacy | None. mode of kube-proxy: iptables | ipvs | nftables | None
# (unknown, or it does not run). kubernetes: (1, 30) or None. kubelet: whether it runs here and has had
# the time to create its chains, False where it creates none, None if that is unknown.
# ports: {("tcp", 10250): "kubelet"}, the program that listens on every address of the node, whose port must not be
# captured. oldest: where kubernetes is kubelet's version, the oldest version that kube-proxy may have beside it; None
# where kubernetes is kube-proxy's own version. kubelet_version: (1, 30), where kubelet reports a version of its own.
# ipv6: whether the kernel has IPv6. liberal: whether nf_conntrack_tcp_be_liberal is set. Both are None where they are
# not known. addresses(): the addresses of the node, empty where they are not known.
# pod_networks(): (interface, network) of the bridges that the pods of the node are behind, as far as they are known.
# tunnel_marks(): (name, mark that it puts on its encrypted packets) of tunnels, as far as they are known.
# api_endpoints(): {(namespace or None, name of a Service): {(address, port)}} of the API server, whole lists alone.
# members(name): the addresses and networks in an ipset, None where they are not known.
# lacks(address): whether no interface of the node has an address of the DNS cache, False where that is not known.
# single_routes(): names of interfaces that a dump shows routes to single addresses over, as those of pods are.
# tunnel(): (interface, kind, UDP port) of the network plugin's tunnel between nodes, None where it is not known.
Setting = collections.namedtuple("Setting", (
    "family", "backend", "mode", "kubernetes", "kubelet", "ports", "oldest", "kubelet_version", "ipv6", "liberal",
    "addresses", "members", "tunnel", "lacks", "pod_networks", "tunnel_marks", "api_endpoints", "single_routes"))
Setting.__new__.__defaults__ = (None, None, None, None, frozenset, lambda name: None, lambda: None,
                                lambda address: False, tuple, tuple, dict, tuple)


def proxy_since(setting, version):
    """As since(), for kube-proxy: True only if it is certain, None where an older kube-proxy may run beside a newer
    kubelet."""
    if setting.oldest is None or tuple(setting.kubernetes) < version:
        return since(setting, version)
    return True if tuple(setting.oldest) >= version else None


def kubelet_since(setting, version):
    """As since(), for kubelet, which may have another version than kube-proxy."""
    return since(setting, version) if setting.kubelet_version is None else tuple(setting.kubelet_version) >= version


def since(setting, version):
    """True if Kubernetes here is `version`, a tuple, or newer; None if that is unknown."""
    return None if setting.kubernetes is None else tuple(setting.kubernetes) >= version
