# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose traffic passes an interface, by its name: the one table of it. PRIVATE to the collection.

LXC, LXD, Incus, libvirt, Docker, Podman, nerdctl, VirtualBox, VMware, Waydroid and Multipass name their bridges by
patterns of their own; network plugins do so with the interfaces of pods. A tunnel (wg0, tailscale0) may carry the
traffic of pods and nodes as any network card may: the routes show whether it does.
"""

import re

# Before the pods: lxc12ab is Cilium's and lxcbr0 is LXC's, cni0 is a bridge of pods and cni-podman0 is Podman's.
_OTHERS = ("docker", "virbr", "lxcbr", "lxdbr", "incusbr", "podman", "cni-podman", "nerdctl", "vboxnet", "vmnet",
           "waydroid", "mpqemubr", "siderolink")
# `br-` and the start of the identifier of a Docker network, or a pattern for all of these.
_DOCKER_NETWORK = re.compile(r"br-(?:[0-9a-f]{12}\Z|[0-9a-f]{0,12}[+*]\Z)")
_PODS = ("cni", "cbr", "cali", "lxc", "cilium", "flannel", "veth", "eni", "weave", "kube-bridge", "azv", "vxlan",
         "tunl", "geneve", "ovn", "antrea", "nodelocaldns")
_TUNNELS = ("wg", "tun", "tap", "tailscale", "zt")


def is_foreign(name):
    """True if no traffic of pods passes the interfaces with a name or a pattern such as `docker0`, `docker+`.

    No address of a Service or of another node is behind `lo`, and in OUTPUT the first routing counts (Linux
    nf_hook_slow()).
    """
    return name == "lo" or name.startswith(_OTHERS) or bool(_DOCKER_NETWORK.match(name))


def is_tunnel(name):
    """True for the interfaces of WireGuard, OpenVPN, Tailscale and ZeroTier."""
    return name.startswith(_TUNNELS)


def carries_pods(name, routed=tuple):
    """Whether traffic of pods passes an interface: True, False, or None where its name does not show it.

    `routed()`: the tunnels that routes to pods or nodes lead over.
    """
    if is_foreign(name):
        return False
    if name.startswith(_PODS):
        return True
    if not is_tunnel(name):
        return None
    pattern = name[-1:] in ("*", "+")
    return True if any(each.startswith(name[:-1]) if pattern else each == name for each in routed()) else None
