# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses of the node, of its pods and Services, and of the outside, where clients and the API server are."""

OUTSIDE, NODE = "10.77.0.1", "10.77.0.10"
OUTSIDE6, NODE6 = "fd77::1", "fd77::10"
PODS, PODS6 = "10.244.0.0/24", "fd00:244::/64"
CLUSTER_PODS = "10.244.0.0/16,fd00:244::/56"
SERVICES = "10.96.0.0/16,fd00:96::/112"
API_SERVICE = "10.96.0.1"
WEB_SERVICE, WEB_NODE_PORT = "10.96.0.50", 30080
API_PORT, OUTSIDE_PORT, WEB_PORT = 6443, 8888, 8080
HOSTNAME = "worker-a"


def outside():
    """The commands that make the network outside: a bridge, to which the node is connected."""
    return ("ip link set lo up", "ip link add outside0 type bridge", "ip address add %s/24 dev outside0" % OUTSIDE,
            "ip address add %s/64 dev outside0 nodad" % OUTSIDE6, "ip link set outside0 up")


def connect(node_pid):
    """The shell commands, run outside, that connect the network namespace of the node."""
    inside = "nsenter --target %d --net " % node_pid
    return "; ".join((
        "ip link delete node0 2>/dev/null || true", "ip link add node0 type veth peer name eth0 netns %d" % node_pid,
        "ip link set node0 master outside0 up", inside + "ip link set lo up",
        inside + "ip address add %s/24 dev eth0" % NODE, inside + "ip address add %s/64 dev eth0 nodad" % NODE6,
        inside + "ip link set eth0 up", inside + "ip route add default via %s" % OUTSIDE,
        inside + "ip -6 route add default via %s" % OUTSIDE6))
