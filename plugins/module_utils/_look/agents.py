# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a node that write rules: kube-proxy, kubelet, network plugins and firewalls. PRIVATE to the
collection."""

import re

AGENTS = (
    "antrea-agent", "aws-k8s-agent", "aws-vpc-cni", "azure-npm", "calico-felix", "calico-node", "cilium-agent",
    "dockerd", "firewalld", "flanneld", "ip-masq-agent", "k0s", "k3s-agent", "k3s-server", "kindnetd",
    "kube-ovn-daemon", "kube-proxy", "kube-router", "kubelet", "kubelite", "node-cache", "ovnkube", "weave-npc",
    "weaver",
)
VARIABLE = "XTABLES_LOCKFILE="
# comm is the name of the link the program was started by, cut to 15 characters, or that of the multi-call binary
# (xtables-nft-multi).
_COMM = re.compile(r"(ip6?tables|xtables-)")


def is_iptables(comm):
    """Whether a process of that name may be one of the iptables programs; its arguments tell."""
    return bool(_COMM.match(comm))


def in_namespace_of_the_node(host, process):
    """Whether the process has the network of the node, which is that of this look, whose rules are read; None where it
    cannot be told."""
    ours = host.read_link("/proc/self/ns/net") or host.read_link("/proc/1/ns/net")
    theirs = host.read_link("/proc/%d/ns/net" % process.pid)
    return None if ours is None or theirs is None else ours == theirs


def of_this_network(host, processes):
    """The processes that belong to this node: kind, k3d and docker in docker run whole nodes in networks of their own.
    If none certainly belongs to it, those that may."""
    known = [(process, in_namespace_of_the_node(host, process)) for process in processes]
    return [process for process, here in known if here] or [process for process, here in known if here is None]


def own_path(host, process):
    """The path in the environment of the process; nothing else of it is kept. None where it names none."""
    variables = host.read_text("/proc/%d/environ" % process.pid).text.split("\0")
    named = [variable[len(VARIABLE):] for variable in variables if variable.startswith(VARIABLE)]
    return named[-1] if named else None
