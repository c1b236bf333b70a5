# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of pods and containers, as kubelet writes them into names of log files. PRIVATE to the collection.

No name of a pod, a namespace or a container contains an underscore, so underscores separate the names (kubernetes
pkg/kubelet/kuberuntime/legacy.go and helpers.go, and of containers of Docker pkg/kubelet/dockershim/naming.go).
"""

import re

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
