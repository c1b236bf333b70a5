# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of one node, and the requests of its users."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import urllib.error

import cgroups
import inside_namespaces
import layers
import network
import node_files
import workloads
from control import MERGE, Control
from node import Node, NotDone

HERE = pathlib.Path(__file__).resolve().parent
REQUESTS = 20
# Three behind the Services, the client, and that of kube-proxy.
PODS = 5
READY_SECONDS, SERVED_SECONDS = 240, 90
# {letter of the tables: (where the client is, address)}
USERS = {
    "P": ("pod", "%s:80" % network.WEB_SERVICE),
    "N": ("node", "%s:80" % network.WEB_SERVICE),
    "X": ("outside", "%s:%d" % (network.NODE, network.WEB_NODE_PORT)),
    "O": ("pod", "%s:%d" % (network.OUTSIDE, network.OUTSIDE_PORT)),
    "A": ("pod", "%s:443" % network.API_SERVICE),
}
LIBM = ["usr/lib/x86_64-linux-gnu/libm.so.6"]
PROTOCOLS = ["etc/protocols"]
# A line each.
VERSIONS = ("systemctl --version | head -n 1; iptables --version; nft --version; containerd --version; "
            "runc --version | head -n 1; etcd --version | head -n 1; kubelet --version")


class Cluster:
    """`run` is a folder on a memory file system, `trees` that of trees.folder(), `parent` the name of the cgroups of
    the run."""

    def __init__(self, run, trees, binaries, parent):
        self.run, self.trees, self.binaries = pathlib.Path(run), pathlib.Path(trees), pathlib.Path(binaries)
        self.parent, self.node, self.number = parent, None, 0
        self.control = Control(self.run / "control", self.trees / "node", binaries)
        self.archive = self.run / "images.tar"
        self.outside = None

    def start(self):
        """Everything outside of the node."""
        binary = {"usr/local/bin/kube-proxy": self.binaries / "kube-proxy"}
        layers.write(self.archive, self.trees / "image.tar", {
            workloads.PAUSE: ({}, []), workloads.PODS: ({}, []), workloads.PROXY: (binary, []),
            workloads.WITHOUT_LIBM: (binary, LIBM), workloads.WITHOUT_PROTOCOLS: (binary, PROTOCOLS)})
        self.outside = subprocess.Popen([sys.executable, "-c", workloads.ANSWER % network.OUTSIDE_PORT],
                                        stdin=subprocess.DEVNULL)
        for command in network.outside():
            subprocess.run(command.split(), check=True)
        self.control.start()

    def start_node(self, mode="iptables"):
        """A new node with all pods ready, in place of an older one."""
        self.stop_node()
        self.number += 1
        self.node = Node(self.run / ("node%d" % self.number), self.trees / "node", self.binaries,
                         cgroups.make(self.parent, "node%d" % self.number))
        self.node.start(node_files.all_files(self.control.token))
        self.node.wait_until(lambda: "Server:" in self.node.sh("ctr version"), "containerd", 60)
        with open(str(self.archive), "rb") as archive:
            done = subprocess.run(
                inside_namespaces.command(self.node.pid, "ctr", "--namespace", "k8s.io", "images", "import", "-"),
                stdin=archive, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        if done.returncode:
            raise NotDone("the images were not imported: " + done.stdout.decode(errors="replace")[-300:])
        self.node.must("systemctl start kubelet")
        self.control.wait_for("/api/v1/nodes/" + network.HOSTNAME, _is_ready, "the node is Ready", READY_SECONDS)
        self.deploy(mode)

    def deploy(self, mode):
        self.control.apply(workloads.PROXY_CONFIG_PATH, workloads.proxy_config(mode, self.control.token))
        self.control.apply(workloads.PROXY_PATH, workloads.proxy())
        for thing in (workloads.web(), workloads.client()):
            self.control.apply("/apis/apps/v1/namespaces/default/deployments/" + thing["metadata"]["name"], thing)
        for thing in workloads.services():
            self.control.apply("/api/v1/namespaces/default/services/" + thing["metadata"]["name"], thing)
        self.wait_for_pods()
        self.node.wait_until(lambda: not any(count != 0 for count in self.lost_requests().values()),
                             "all requests are answered", SERVED_SECONDS)

    def wait_for_pods(self, count=PODS):
        """Wait until there are that many pods, all Ready and none about to end."""
        self.control.wait_for("/api/v1/pods", lambda pods: _are_ready(pods["items"], count),
                              "%d pods are Ready" % count, READY_SECONDS)

    def delete_pods(self, namespace, labels):
        self.control.call("DELETE", "/api/v1/namespaces/%s/pods?labelSelector=%s&gracePeriodSeconds=1" % (
            namespace, labels.replace("=", "%3D")))

    def versions(self):
        return self.node.sh(VERSIONS).splitlines()

    def lost_requests(self):
        """{letter: lost requests of REQUESTS} of all users, at the same time."""
        pods = self.node.processes("of-client")
        enter = {"pod": ["nsenter", "--target", str(pods[-1]), "--net"] if pods else None,
                 "node": ["nsenter", "--target", str(self.node.pid), "--net"], "outside": []}
        running = []
        for place, command in enter.items():
            targets = ["%s=%s" % (name, address) for name, (where, address) in USERS.items() if where == place]
            if command is not None:
                running.append(subprocess.Popen(
                    [*command, sys.executable, "-S", str(HERE / "traffic.py"), str(REQUESTS), *targets],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE))
        found = {}
        for process in running:
            found.update(json.loads(process.communicate(timeout=120)[0] or b"{}"))
        return {name: found.get(name) for name in USERS}

    def stop_node(self):
        """End the node and its pods; the controllers make new pods for the next node."""
        if not self.node:
            return
        self._end_node()
        paths = ["/api/v1/nodes/" + network.HOSTNAME]
        for pod in self.control.call("GET", "/api/v1/pods")["items"]:
            paths.append("/api/v1/namespaces/%(namespace)s/pods/%(name)s?gracePeriodSeconds=0" % pod["metadata"])
        for path in paths:
            with contextlib.suppress(urllib.error.HTTPError):  # A controller deletes them, too.
                self.control.call("DELETE", path)

    def _end_node(self):
        self.node.stop()
        cgroups.remove(self.node.cgroups)
        shutil.rmtree(str(self.node.run), ignore_errors=True)
        self.node = None

    def stop(self):
        if self.node:
            self._end_node()
        self.control.stop()
        if self.outside:
            self.outside.kill()
            self.outside.wait()

    def change(self, path, thing):
        """Merge `thing` into an object of the API."""
        self.control.call("PATCH", path, thing, MERGE)


def _are_ready(pods, count):
    # kubelet rejects a pod whose host port is still that of the one before. It stays, and the controller makes another.
    pods = [pod for pod in pods if pod["status"].get("phase") != "Failed"]
    return len(pods) >= count and all("deletionTimestamp" not in pod["metadata"] and _is_ready(pod) for pod in pods)


def _is_ready(thing):
    return any(condition["type"] == "Ready" and condition["status"] == "True"
               for condition in thing.get("status", {}).get("conditions", ()))
