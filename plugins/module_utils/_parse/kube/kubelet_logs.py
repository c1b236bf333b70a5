# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the logs of pods and containers, and messages of kubelet in its own log. PRIVATE to the collection."""

import re

# Names of pods and containers, as kubelet writes them into names of log files.
# No name of a pod, a namespace or a container contains an underscore, so underscores separate the names (kubernetes
# pkg/kubelet/kuberuntime/legacy.go and helpers.go, and of containers of Docker pkg/kubelet/dockershim/naming.go).
_POD_FOLDER = re.compile(r"([a-z0-9.-]+)_([a-z0-9.-]+)_([0-9a-f-]{32,36})\Z")
_CONTAINER_LINK = re.compile(r"([a-z0-9.-]+)_([a-z0-9.-]+)_([a-z0-9.-]+)-([0-9a-f]{64})\.log\Z")
# A container of Docker: container, pod, namespace, UID, attempt, and a random part after a conflict of names.
_DOCKER_NAME = re.compile(r"k8s_([a-z0-9.-]+)_([a-z0-9.-]+)_([a-z0-9.-]+)_[0-9a-f-]{32,36}_\d{1,10}(?:_[0-9a-f]{8})?\Z")
# Containers of agents that change rules or network of a node; the text of other pods is not read.
AGENTS = ("kube-proxy", "kube-flannel", "calico-node", "cilium-agent", "kube-router", "aws-node", "aws-eks-nodeagent",
          "weave", "weave-npc", "kube-ovn-cni", "antrea-agent", "kindnet-cni", "install-cni", "install-cni-plugin",
          "aws-vpc-cni-init", "azure-npm", "ip-masq-agent", "kube-multus", "node-cache", "ovn-controller",
          "ovnkube-controller", "ovnkube-node")
# Beginnings of entries of /var/log/pods in whose namespaces only administrators create pods: a finding can stop a
# rollout, and any user who may create a pod may give its container the name of an agent.
SYSTEM_NAMESPACES = ("kube-", "openshift-", "calico-system_", "cilium_", "istio-system_", "ovn-kubernetes_",
                     "tigera-operator_")


def parse_pod_folder(name):
    """(uid, namespace, pod) of an entry of /var/log/pods, `namespace_pod_uid`, or None."""
    match = _POD_FOLDER.match(name)
    return (match.group(3), match.group(1), match.group(2)) if match else None


def parse_container_link(name):
    """(id, namespace, pod, container) of an entry of /var/log/containers, `pod_namespace_container-id.log`, or None."""
    match = _CONTAINER_LINK.match(name)
    return (match.group(4), match.group(2), match.group(1), match.group(3)) if match else None


def parse_docker_name(name):
    """(container, pod, namespace) of a container that dockershim or cri-dockerd started, or None."""
    match = _DOCKER_NAME.match(name)
    return match.groups() if match else None


# The messages that kubelet logs when it creates its chains, which it does once.
# Samples, from kubernetes pkg/kubelet/kubelet_network_linux.go; 1.20, the releases before 1.24, and 1.24 on:
#     W1121 10:00:00.000000     812 kubelet_network_linux.go:75] Failed to initialize IPv4 iptables rules; some
#         functionality may be missing.
#     I1121 ... kubelet_network_linux.go:80] "Failed to initialize protocol iptables rules; some functionality may be
#         missing." protocol=IPv4
#     I1121 ... kubelet_network_linux.go:58] "Failed to initialize iptables rules; some functionality may be missing."
#         protocol="IPv4"
# and `Initialized ... iptables rules.` in the same three forms. k0s wraps the line and escapes its quotes.

# Pattern for the journal, all in lower case: journalctl then ignores case.
PATTERN = "(failed to initialize|initialized) .*iptables rules"

_LINE = re.compile(
    r"(Failed to initialize|Initialized) (?:(IPv[46]) |protocol )?iptables rules(?:; some functionality may be "
    r"missing)?\.(?:[^\n]{0,40}?protocol\\*\"?[=:]\s?\\*\"?(IPv[46]))?")
_FAMILIES = {"IPv4": "ipv4", "IPv6": "ipv6"}


def parse_kubelet_log(text):
    """`{family: (failed, line)}`: the last logged result of each family, and the matching part of its line."""
    found = {}
    for match in _LINE.finditer(text):
        family = _FAMILIES.get(match.group(2) or match.group(3))
        if family:
            found[family] = match.group(1) != "Initialized", re.sub(r"[\\\"]", "", match.group(0))
    return found
