# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of a pasted session that ran in another network namespace than that of the node. PRIVATE to the collection.

Sysctls of networks, addresses and rules belong to a network namespace. A pod has one of its own, unless it uses the
network of its node, as agents of networks do. Containers that are nodes themselves (kind, k3d, minikube) are nodes.

Samples:
    kubectl -n vpn exec -it wg-0 -- sysctl net.ipv4.ip_forward
    ip netns exec cni-0f5c1b iptables-save
    nsenter -t 4711 -n sysctl -a             with -t 1 or `pidof kube-proxy` it is that of the node
"""

import re

# What belongs to a network namespace, by the kinds of file_kinds.
OF_NETWORK = ("sysctl", "values", "rules", "addresses", "some_addresses", "routes", "some_routes", "conntrack",
              "conntrack_count", "ipvs", "ipset", "applied", "ufw_status", "system")
_EXEC = re.compile(r"\b(?:kubectl|oc|kubecolor|k|crictl|ctr|(docker|podman|nerdctl))\b[^|;&]{0,200}?"
                   r"[ \t](?:exec|rsh)[ \t]+(.*)")
_NAMESPACE = re.compile(r"(?:^|[ \t])(?:-n[ \t=]?|--namespace[ \t=])\S+")
_INNER = re.compile(r"[ \t]--(?:[ \t]|\Z)|[|;]")
# Pods and containers with the network of their node.
_OF_NODE = re.compile(
    r"kube-(?:proxy|flannel|router|apiserver|controller|scheduler|vip|multus|ovn|egress)|calico-node|canal|cilium|"
    r"flannel|aws-node|weave|antrea|ovn|openvswitch|\bovs|\bsdn|local-?dns|kindnet|multus|azure-(?:cns|npm|cni)|"
    r"speaker|node-?exporter|\betcd|node-(?:debugger|shell)|nsenter|host-?net|privileged")
# Containers that are nodes.
_NODES = re.compile(r"\bkind\b|kind-|k3[sd]|k0s|rke2|minikube|microk8s|kubelet|control-?plane|"
                    r"(?:^|[-_ \t])(?:worker|server|agent|master|node)-?\d*(?=[ \t]|\Z)")
_ENTERS = re.compile(r"\bnsenter\b([^|;&]*)")
_TAKES_NETWORK = re.compile(r"(?:^|[ \t])(?:-[A-Zamuipr]*n\w*|--net\b|-a|--all)")
_FIRST = re.compile(r"(?:-t[ \t=]?|--target[ \t=])[\"']?1(?!\d)|/proc/1/ns|kube-?proxy|kubelet|calico|cilium|systemd")
_NETNS = re.compile(r"\bip[ \t]+(?:netns[ \t]+exec|(?:-\w{1,20}[ \t]{1,9}){0,8}(?:-n|-netns)[ \t])")
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|da|a|k|z)?sh(?:[ \t]+-[il]+)?[ \t]*\Z")
# Rules that only the network of a node has.
_RULES_OF_NODE = re.compile(rb"\b(?:KUBE-(?:SERVICES|POSTROUTING|FORWARD|FIREWALL)|cali-(?:FORWARD|PREROUTING)|"
                            rb"FLANNEL-|CILIUM_|CNI-HOSTPORT)")


def is_elsewhere(command):
    """Whether a command runs in the network namespace of a pod or in another one that is not the node's."""
    entered = _ENTERS.search(command)
    if entered:
        return bool(_TAKES_NETWORK.search(entered.group(1))) and not _FIRST.search(entered.group(1))
    if _NETNS.search(command):
        return True
    found = _EXEC.search(command)
    if not found:
        return False
    name = _INNER.split(_NAMESPACE.sub(" ", found.group(2)), maxsplit=1)[0]
    return not _OF_NODE.search(name) and not (found.group(1) and _NODES.search(name))


def opens_shell(command):
    """Whether the prompts that follow are those of a shell in such a namespace."""
    return is_elsewhere(command) and _SHELL.search(command) is not None


def is_of_pod(command, kind, data):
    """Whether what a command prints, of this kind, is no evidence on the network of the node."""
    return kind in OF_NETWORK and is_elsewhere(command) and not (kind == "rules" and _RULES_OF_NODE.search(data))
