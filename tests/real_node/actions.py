# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of states.yml: `{name of the step: value}`."""

import time

import node_files
import workloads
from node import NotDone
from one_node import PODS

WAIT_SECONDS = 90


def run(cluster, command):
    """A command on the node."""
    cluster.node.must(command)


def write(cluster, files):
    """Files on the node, executable, {path: text}."""
    for path, text in files.items():
        file = cluster.node.inside(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)


def background(cluster, command):
    """A command on the node that goes on while the next steps run."""
    cluster.node.must("systemd-run --quiet --collect bash -c %s" % _quoted(command))


def wait(_cluster, seconds):
    time.sleep(seconds)


def replace_web(cluster, _value):
    """New pods, with new addresses, in place of those behind the Services. kube-proxy may be without a pod."""
    cluster.delete_pods("default", "app=web")
    cluster.wait_for_pods(PODS - 1)


def delete_web(cluster, _value):
    """The same, without waiting until the new pods are Ready."""
    cluster.delete_pods("default", "app=web")


def scale_web(cluster, replicas):
    cluster.change(workloads.WEB_PATH, {"spec": {"replicas": replicas}})
    time.sleep(5)


def delete_pods(cluster, which):
    """Delete pods by [namespace, label], as `kubectl delete pod` does, and wait until all are Ready again."""
    for namespace, label in which:
        cluster.delete_pods(namespace, label)
    cluster.wait_for_pods()


def restart_kube_proxy(cluster, _value):
    """kubectl -n kube-system delete pod, with kube-proxy's pod of the node."""
    cluster.delete_pods("kube-system", "k8s-app=kube-proxy")
    cluster.wait_for_pods()


def crash_kube_proxy(cluster, _value):
    """The pod is deleted, but its successor need not become Ready."""
    cluster.delete_pods("kube-system", "k8s-app=kube-proxy")


def proxy_image(cluster, image):
    cluster.control.apply(workloads.PROXY_PATH, workloads.proxy("localhost/kube-proxy:" + image))


def without_daemonset(cluster, _value):
    cluster.control.call("DELETE", workloads.PROXY_PATH)
    deadline = time.monotonic() + WAIT_SECONDS
    while cluster.node.processes("--config=/var/lib/kube-proxy/config.conf"):
        if time.monotonic() > deadline:
            raise NotDone("kube-proxy still runs")
        time.sleep(1)


def with_daemonset(cluster, _value):
    cluster.control.apply(workloads.PROXY_PATH, workloads.proxy())
    cluster.wait_for_pods()


def new_pod(cluster, name):
    """A pod that need not become Ready."""
    thing = workloads.deployment(name, 1, ["/usr/bin/sleep", "infinity"])
    cluster.control.apply("/apis/apps/v1/namespaces/default/deployments/" + name, thing)


def cni_file(cluster, _value):
    """Bring the CNI configuration back, from the configuration of the node."""
    cluster.node.inside(node_files.CNI_FILE).write_text(node_files.all_files("")[node_files.CNI_FILE.lstrip("/")])


def _quoted(command):
    return "'%s'" % command.replace("'", "'\\''")


ACTIONS = {step.__name__: step for step in (
    run, write, background, wait, replace_web, delete_web, scale_web, delete_pods, restart_kube_proxy, crash_kube_proxy,
    proxy_image, without_daemonset, with_daemonset, new_pod, cni_file)}


def take(cluster, steps):
    for step in steps:
        (name, value), = step.items()
        ACTIONS[name](cluster, value)
