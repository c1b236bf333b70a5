# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs in the cluster: kube-proxy as kubeadm deploys it, pods that answer and pods that ask, and Services."""

import json

import network
import node_files

PAUSE, PODS, PROXY = "localhost/pause:1", "localhost/pods:1", "localhost/kube-proxy:1"
# Images of kube-proxy that lack something, as slim images do.
WITHOUT_LIBM, WITHOUT_PROTOCOLS = "localhost/kube-proxy:without-libm", "localhost/kube-proxy:without-protocols"
PROXY_PATH = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
PROXY_CONFIG_PATH = "/api/v1/namespaces/kube-system/configmaps/kube-proxy"
WEB_PATH = "/apis/apps/v1/namespaces/default/deployments/web"
ANSWER = """
import http.server, socket, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(socket.gethostname().encode())
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    request_queue_size = 128
Server(("::", %d), Answer).serve_forever()
"""
NEW = {"app": "real-node"}


def proxy_config(mode, token):
    config = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": mode,
              "clusterCIDR": network.CLUSTER_PODS, "conntrack": {"maxPerCore": 0, "min": 0},
              "clientConnection": {"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"},
              "hostnameOverride": network.HOSTNAME, "healthzBindAddress": "0.0.0.0:10256",
              "metricsBindAddress": "127.0.0.1:10249"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-proxy", "namespace": "kube-system"},
            "data": {"config.conf": json.dumps(config, indent=1),
                     "kubeconfig.conf": node_files.kubeconfig("kube-proxy", token)}}


def proxy(image=PROXY):
    labels = {"k8s-app": "kube-proxy"}
    files = {"kube-proxy": "/var/lib/kube-proxy", "xtables-lock": "/run/xtables.lock", "lib-modules": "/lib/modules"}
    return {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kube-proxy", "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "nodeName": network.HOSTNAME, "hostNetwork": True, "automountServiceAccountToken": False,
            "priorityClassName": "system-node-critical", "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "kube-proxy", "image": image, "imagePullPolicy": "Never",
                "securityContext": {"privileged": True},
                "command": ["/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf", "--v=2"],
                "volumeMounts": [{"name": name, "mountPath": path, "readOnly": name == "lib-modules"}
                                 for name, path in files.items()]}],
            "volumes": [
                {"name": "kube-proxy", "configMap": {"name": "kube-proxy"}},
                {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
                {"name": "lib-modules", "hostPath": {"path": "/lib/modules", "type": "DirectoryOrCreate"}}]}}}}


def deployment(name, replicas, command, ports=(), **more):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {
                "nodeName": network.HOSTNAME, "automountServiceAccountToken": False, "enableServiceLinks": False,
                "terminationGracePeriodSeconds": 1,
                "containers": [dict(more, name=name, image=PODS, imagePullPolicy="Never", command=command,
                                    ports=list(ports))]}}}}


def web(replicas=3):
    return deployment("web", replicas, ["/usr/bin/python3", "-c", ANSWER % network.WEB_PORT, "of-web"],
                      [{"containerPort": network.WEB_PORT}], readinessProbe={
                          "httpGet": {"path": "/", "port": network.WEB_PORT}, "periodSeconds": 2,
                          "failureThreshold": 60})


def client():
    """The pod from which requests are sent; with a host port, so that portmap writes rules for it too."""
    return deployment("client", 1, ["/usr/bin/python3", "-c", "import time\nwhile 1: time.sleep(99)", "of-client"],
                      [{"containerPort": 9999, "hostPort": 9999}])


def service(name, labels, **spec):
    ports = [{"port": 80, "targetPort": network.WEB_PORT, "protocol": "TCP"}]
    if "nodePort" in spec:
        ports[0]["nodePort"] = spec.pop("nodePort")
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
            "spec": dict({"selector": labels, "ports": ports}, **spec)}


def services():
    """One of each sort; requests are sent to the first."""
    both = {"ipFamilyPolicy": "PreferDualStack"}
    labels = {"app": "web"}
    return [
        service("web", labels, type="NodePort", clusterIP=network.WEB_SERVICE, nodePort=network.WEB_NODE_PORT, **both),
        service("sticky", labels, sessionAffinity="ClientIP", **both),
        service("local", labels, type="NodePort", externalTrafficPolicy="Local", internalTrafficPolicy="Local", **both),
        service("balanced", labels, type="LoadBalancer", loadBalancerSourceRanges=["203.0.113.0/24"]),
        service("without-endpoints", {"app": "absent"}),
        service("headless", labels, clusterIP="None"),
        service("external", labels, externalIPs=["192.0.2.44"]),
    ]
