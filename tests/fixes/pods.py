# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods whose network the real plugins bridge, host-local and portmap set up, called as libcni calls them.

No container runs: a pod is its network namespace, the files that libcni keeps of it, and the directory of a task of
containerd.
"""

import json
import os
import shutil
import subprocess

import node_tree
import pod_networks
from live_node import NotDone, shell

PROGRAMS, NETWORK = "/usr/lib/cni", "pods"
BRIDGE = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True,
          "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/24"}]]}}
PORTMAP = {"type": "portmap", "capabilities": {"portMappings": True}}
PLUGINS = [BRIDGE, PORTMAP]
CONFLIST = "/etc/cni/net.d/10-bridge.conflist"


def configure(_node, _value):
    """The configuration of the network, in the directories of Kubernetes, and a process named containerd."""
    config = {"cniVersion": "1.0.0", "name": NETWORK, "plugins": PLUGINS}
    node_tree.unpack({CONFLIST: json.dumps(config, indent=1)}, "/")
    shutil.copytree(PROGRAMS, "/opt/cni/bin", dirs_exist_ok=True)
    shutil.copy("/bin/sleep", "/usr/bin/containerd")


def add_pods(_node, numbers):
    for number in numbers:
        shell("ip netns add pod-%d" % number)
        found = None
        for plugin in PLUGINS:
            found = _call("ADD", number, plugin, found)
        addresses = [row["address"] for row in found["ips"]]
        node_tree.unpack(pod_networks.pod(number, PLUGINS, addresses, [_port(number)], leased=False), "/")


def delete_pods(_node, numbers):
    """Delete pods as kubelet does. The plugin bridge of Debian 12 fails where its chain is missing; a controller
    creates the new pod all the same."""
    for number in numbers:
        for plugin in reversed(PLUGINS):
            _call("DEL", number, plugin, None)
        shell("ip netns del pod-%d; rm -r /%s%s /var/lib/cni/results/pods-%s-eth0" % (
            number, pod_networks.TASKS, pod_networks.sandbox(number), pod_networks.sandbox(number)))


def _port(number):
    return 8000 + number, ""


def _call(command, number, plugin, previous):
    """The result of a plugin for a pod."""
    port, address = _port(number)
    config = dict({"cniVersion": "1.0.0", "name": NETWORK, "runtimeConfig": {"portMappings": [
        {"hostPort": port, "containerPort": 80, "protocol": "tcp", "hostIP": address}]}}, **plugin)
    if previous:
        config["prevResult"] = previous
    done = subprocess.run(
        ["/opt/cni/bin/" + plugin["type"]], input=json.dumps(config), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True, timeout=60, check=False, env=dict(
            os.environ, CNI_COMMAND=command, CNI_CONTAINERID=pod_networks.sandbox(number), CNI_PATH="/opt/cni/bin",
            CNI_NETNS="/run/netns/pod-%d" % number, CNI_IFNAME="eth0"))
    if done.returncode and command == "ADD":
        raise NotDone("%s %s: %s" % (plugin["type"], command, done.stdout or done.stderr))
    return json.loads(done.stdout or "null") if command == "ADD" else None


STEPS = {step.__name__: step for step in (configure, add_pods, delete_pods)}
