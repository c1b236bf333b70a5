# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a node that write rules: kube-proxy, kubelet, network plugins and firewalls."""

import re

AGENTS = ("antrea-agent", "aws-k8s-agent", "aws-vpc-cni", "azure-npm", "calico-felix", "calico-node", "cilium-agent",
          "dockerd", "firewalld", "flanneld", "ip-masq-agent", "k0s", "k3s-agent", "k3s-server", "kindnetd",
          "kube-ovn-daemon", "kube-proxy", "kube-router", "kubelet", "kubelite", "node-cache", "ovnkube", "weave-npc",
          "weaver")
VARIABLE = "XTABLES_LOCKFILE="
# comm is the name of the link by which the program was started, cut to 15 characters, or the name of the multi-call
# binary (xtables-nft-multi).
_COMM = re.compile(r"(ip6?tables|xtables-)")


def is_iptables(comm):
    """Whether a process of that name may be an iptables program; its arguments decide that."""
    return bool(_COMM.match(comm))


def in_namespace_of_the_node(host, process):
    """Whether the process is in the network namespace of the node, which is the namespace of this process and of the
    rules that it reads; None where that is not known."""
    ours = host.read_link("/proc/self/ns/net") or host.read_link("/proc/1/ns/net")
    theirs = host.read_link("/proc/%d/ns/net" % process.pid)
    return None if ours is None or theirs is None else ours == theirs


def of_this_network(host, processes):
    """The processes that belong to this node: kind, k3d and Docker in Docker run whole nodes in network namespaces of
    their own. If no process certainly belongs to it, the processes that may belong to it."""
    known = [(process, in_namespace_of_the_node(host, process)) for process in processes]
    return [process for process, here in known if here] or [process for process, here in known if here is None]


def own_path(host, process):
    """The path that XTABLES_LOCKFILE has in the environment of the process, or None; no other variable is kept."""
    variables = host.read_text("/proc/%d/environ" % process.pid).text.split("\0")
    named = [variable[len(VARIABLE):] for variable in variables if variable.startswith(VARIABLE)]
    return named[-1] if named else None
