# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose traffic passes an interface, by its name: the one table of it. PRIVATE to the collection.

Names: LXC, LXD and Incus, libvirt, Docker, Podman, nerdctl, VirtualBox, VMware, Waydroid and Multipass give their bridges
names of their own; network plugins do so with the interfaces of pods. A tunnel (wg0, tun0, tailscale0, zt...) may carry
the traffic of pods and nodes as any network card may, so that it is known only where the routes are.
"""

import re

# Before the pods: lxc12ab is Cilium's and lxcbr0 is LXC's, cni0 is a bridge of pods and cni-podman0 is Podman's.
_OTHERS = ("docker", "virbr", "lxcbr", "lxdbr", "incusbr", "podman", "cni-podman", "nerdctl", "vboxnet", "vmnet",
           "waydroid", "mpqemubr")
# `br-` and the start of the identifier of a Docker network, or a pattern for all of these.
_DOCKER_NETWORK = re.compile(r"br-(?:[0-9a-f]{12}\Z|[0-9a-f]{0,12}[+*]\Z)")
_PODS = ("cni", "cbr", "cali", "lxc", "cilium", "flannel", "veth", "eni", "weave", "kube-bridge", "azv", "vxlan",
         "tunl", "geneve", "ovn", "antrea", "nodelocaldns")


def is_foreign(name):
    """True if no traffic of pods passes the interfaces with a name or a pattern such as `docker0`, `docker+`. No address
    of a Service or of another node is behind `lo`, and in OUTPUT the first routing counts (Linux nf_hook_slow())."""
    return name == "lo" or name.startswith(_OTHERS) or bool(_DOCKER_NETWORK.match(name))


def carries_pods(name, routed=()):
    """Whether traffic of pods passes an interface: True, False, or None where its name does not tell it. `routed`: the
    interfaces that routes to pods lead over."""
    if is_foreign(name):
        return False
    if name.startswith(_PODS) or name in routed:
        return True
    return True if name[-1:] in "+*" and any(each.startswith(name[:-1]) for each in routed) else None
