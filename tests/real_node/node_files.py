# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the node as kubeadm and a network plugin write them: kubelet's unit and configuration, the CNI."""

import json

import network

KUBELET_UNIT = """[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10
"""
KUBELET_DROP_IN = """[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet-config/config.yaml"
Environment="KUBELET_EXTRA_ARGS=--hostname-override=%s --node-ip=%s,%s --v=2"
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS
""" % (network.HOSTNAME, network.NODE, network.NODE6)
KUBELET_CONFIG = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "cgroupDriver": "cgroupfs", "failCgroupV1": False, "failSwapOn": False,
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "clusterDomain": "cluster.local", "clusterDNS": ["10.96.0.10"],
    "staticPodPath": "/etc/kubernetes/manifests", "enforceNodeAllocatable": [], "localStorageCapacityIsolation": False,
    "evictionHard": {"memory.available": "50Mi"}, "syncFrequency": "10s", "nodeStatusUpdateFrequency": "5s",
}
CONTAINERD = """version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
"""
CNI = {"cniVersion": "1.0.0", "name": "pods", "plugins": [
    {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": network.PODS}], [{"subnet": network.PODS6}]],
              "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
    {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}]}
SYSCTLS = """net.ipv4.ip_forward = 1
net.ipv6.conf.all.forwarding = 1
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
"""
CNI_FILE = "/etc/cni/net.d/10-bridge.conflist"
# Units that would run in the middle of a state, and mounts of the whole machine.
MASKED = ("etcd.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer "
          "e2scrub_reap.service systemd-udevd.service systemd-timesyncd.service systemd-logind.service "
          "console-getty.service getty.target systemd-modules-load.service sys-kernel-debug.mount "
          "sys-kernel-tracing.mount sys-fs-fuse-connections.mount dev-hugepages.mount").split()


def kubeconfig(user, token):
    """A kubeconfig of that user. The certificate of the API server is made for this run and not checked."""
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": user,
        "clusters": [{"name": "run", "cluster": {"server": "https://%s:%d" % (network.OUTSIDE, network.API_PORT),
                                                 "insecure-skip-tls-verify": True}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": user, "context": {"cluster": "run", "user": user}}]}, indent=1)


def all_files(token):
    """{path: text} of the node."""
    return {
        "etc/hostname": network.HOSTNAME + "\n",
        "etc/hosts": "127.0.0.1 localhost\n%s %s\n" % (network.NODE, network.HOSTNAME),
        "etc/resolv.conf": "nameserver %s\n" % network.OUTSIDE,
        "etc/machine-id": "5f0c2b8e6c0d4a54a5d1f3b2c7e9a801\n",
        "etc/sysctl.d/99-kubernetes.conf": SYSCTLS,
        "etc/kubernetes/kubelet.conf": kubeconfig("system:node:" + network.HOSTNAME, token),
        "etc/kubernetes/manifests/.keep": "",
        "var/lib/kubelet-config/config.yaml": json.dumps(KUBELET_CONFIG, indent=1),
        "etc/systemd/system/kubelet.service": KUBELET_UNIT,
        "etc/systemd/system/kubelet.service.d/10-kubeadm.conf": KUBELET_DROP_IN,
        "etc/containerd/config.toml": CONTAINERD,
        CNI_FILE.lstrip("/"): json.dumps(CNI, indent=1) + "\n",
    }
