# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of a session that ran in the network namespace of a pod, and others in that of the node."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import file_kinds, plain
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.source import Item

OF_PODS = (
    "kubectl -n vpn exec -it wg-0 -- sysctl net.ipv4.ip_forward",
    "kubectl exec -n kube-flannel web-0 -- sysctl -a",
    "k exec web -- ip a",
    "docker exec -it 3f1 sysctl net.ipv4.ip_forward",
    "crictl exec -it 5d23a iptables-save",
    "ip netns exec cni-123 iptables-save",
    "sudo ip netns exec qrouter-1 sysctl net.ipv4.ip_forward",
    "nsenter -t 4711 -n sysctl net.ipv4.ip_forward",
    "nsenter --target 4711 --net iptables -S",
    "nsenter --net=/var/run/netns/cni-1 ip a",
    "nsenter -n -t $PID ip a",
    "ip -n blue addr",
    "for p in a b; do kubectl exec $p -- sysctl net.ipv4.ip_forward; done",
    "podman exec vpn iptables -S",
    "kubectl exec coredns-1 -- cat /etc/resolv.conf",
    "kubectl exec web-0 -- sysctl -a | grep calico-node",
    "kubectl exec worker-0 -- sysctl -a",
)
OF_NODES = (
    "kubectl -n kube-system exec kube-proxy-abc -- iptables-save",
    "kubectl exec -n kube-system calico-node-1 -c calico-node -- sysctl net.ipv4.ip_forward",
    "kubectl debug node/n1 -it --image=busybox -- chroot /host sysctl net.ipv4.ip_forward",
    "nsenter -t 1 -n iptables-save",
    "nsenter -t 1 -m -u -n -i sysctl -a",
    "nsenter -t $(pidof kube-proxy) -m iptables-save -t filter | grep Generated",
    "docker exec kind-control-plane iptables-save",
    "docker exec k3d-x-server-0 sysctl net.ipv4.ip_forward",
    "docker exec demo-worker2 iptables-save",
    "kubectl exec node-debugger-n1-x -- sysctl -a",
    "minikube ssh sysctl net.ipv4.ip_forward",
    "sysctl net.ipv4.ip_forward",
    "docker exec $(docker ps -qf name=kube-proxy) iptables-save",
    "ip -n4 addr",
    "ip addr",
    "ip -br a",
    "kubectl exec priv -- nsenter -t 1 -a sysctl -a",
    "cat /etc/kubernetes/exec",
)
OFF, ON = "net.ipv4.ip_forward = 0", "net.ipv4.ip_forward = 1"
EXEC = "kubectl exec -it web-0 -- "


@pytest.mark.parametrize("command", OF_PODS)
def test_a_pod_has_a_network_of_its_own(command):
    assert plain.is_elsewhere(command)


@pytest.mark.parametrize("command", OF_NODES)
def test_a_node_and_its_agents_share_one_network(command):
    assert not plain.is_elsewhere(command)


def kinds(*lines):
    return [(kind, part.data.decode().strip()) for part, kind, _path in
            file_kinds.taken(Item("session.txt", "\n".join(lines + ("",)).encode()))[0]]


@pytest.mark.parametrize("lines, found", (
    (("$ %ssysctl net.ipv4.ip_forward" % EXEC, OFF), []),
    (("$ kubectl exec kube-proxy-x -- sysctl net.ipv4.ip_forward", OFF), [("sysctl", OFF)]),
    (("root@n1:~# %ssh" % EXEC, "/ # sysctl net.ipv4.ip_forward", OFF, "/ # exit", "root@n1:~# sysctl "
      "net.ipv4.ip_forward", ON), [("sysctl", ON)]),
    (("root@n1:~# %sbash" % EXEC, "bash-5.1# sysctl net.ipv4.ip_forward", OFF, "root@n1:~# sysctl "
      "net.ipv4.ip_forward", ON), [("sysctl", ON)]),
    (("$ %siptables -S" % EXEC, "-P FORWARD DROP", "-A FORWARD -i eth0 -j DROP"), []),
    (("$ docker exec 4c1d iptables-save", "*nat", ":KUBE-SERVICES - [0:0]", "-A PREROUTING -j KUBE-SERVICES", "COMMIT"),
     [("rules", None)]),
))
def test_only_what_belongs_to_the_node_is_taken(lines, found):
    assert [(kind, None if kind == "rules" else text) for kind, text in kinds(*lines)] == found


def first(*lines):
    return kinds(*lines)[0][1]


@pytest.mark.parametrize("lines, current", (
    # The last of several values is the current one.
    (("[root@n1 ~]# sysctl net.ipv4.ip_forward", ON, "[root@n1 etc]# sysctl net.ipv4.ip_forward", OFF), OFF),
    (("$ sysctl net.ipv4.ip_forward", OFF, "$ sysctl net.ipv4.ip_forward", ON), ON),
    # What a command printed that set it, and values of other nodes, leave the first one in its place.
    (("$ sysctl net.ipv4.ip_forward", OFF, "$ sudo sysctl -w net.ipv4.ip_forward=1", ON), OFF),
    (("$ sysctl net.ipv4.ip_forward", OFF, "$ ssh n2 sysctl net.ipv4.ip_forward", ON), OFF),
    (("root@n1:~# sysctl net.ipv4.ip_forward", OFF, "root@n2:~# sysctl net.ipv4.ip_forward", ON), OFF),
))
def test_the_last_value_of_a_session_is_the_current_one(lines, current):
    assert first(*lines) == current
